"""`python -m hashrange`: the command line where its script is not on PATH."""

from hashrange.tools.cli import main

main()
