"""The command line. A mistake of the user's is one line on stderr and exit status 1."""


def main() -> None:
    from hashrange.interfaces.cli.app import run

    run()
