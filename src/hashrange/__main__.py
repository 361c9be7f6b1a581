"""`python -m hashrange` runs the command line even if the `hashrange` script is not on PATH."""

from hashrange.tools.cli import main

main()
