"""`python -m hashrange`: the command line where its script is not on PATH."""

from hashrange.interfaces.cli import main

main()
