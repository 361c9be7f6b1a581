"""The command line. After a user's mistake it prints one line on stderr and exits with status 1."""

import sys

INTERRUPTED = 130
"""The exit status by which shells report that Ctrl-C ended a program."""


def main() -> None:
    try:
        from hashrange.tools.cli.app import run

        run()
    except KeyboardInterrupt:  # also while modules are imported
        sys.exit(INTERRUPTED)
