"""Runs the command line as `python -m hashrange`, even if the `hashrange` script is not on PATH."""

from hashrange.tools.cli import main

main()
