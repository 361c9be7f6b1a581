"""The command line. A user's mistake gets one line on stderr and exit status 1."""


def main() -> None:
    from hashrange.interfaces.cli.app import run

    run()
