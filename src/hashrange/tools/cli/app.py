"""The parser of the command line, and the start and end of each command.

So that commands start quickly, a module is imported only for its own command, and imports what it
needs when the command runs. Argparse is used for the same reason: Typer took longer to start than
the server.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "serve": "serve",
    "console": "console",
    "learn": "learn",
    "shell": "shell",
    "query": "query",
    "backup": "backup",
    "restore": "backup",
    "compact": "backup",
    "archive": "archive",
    "check": "check",
    "inspect": "inspect_",
    "explain": "explain",
    "mcp": "mcp",
    "ping": "ping",
    "predict": "predict",
    "tables": "tables",
    "export": "export_",
    "import": "import_",
    "copy": "copy_",
    "distribute": "cluster",
    "cluster": "cluster",
    "access": "access",
    "design": "design.commands",
}
"""Maps each command to its module, in the order of `hashrange --help`."""

EXAMPLES = """\
examples:
  hashrange serve app.db             at http://127.0.0.1:8000, until Ctrl-C
  hashrange serve --port 9000        a database in memory, at another port
  hashrange shell app.db             PartiQL at a prompt; also http://..., aws@eu-west-1
  hashrange backup app.db copy.db    even while app.db is served
  hashrange compact app.db           shrinks the file to the size of its content
  hashrange design plan model.py     the key or index that serves each pattern

`hashrange COMMAND --help` lists the arguments of a command.
"""


def run() -> None:
    """Run the command that the arguments name; end the process if it fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for encodings that lack characters
    arguments, unknown = _parser(sys.argv[1:]).parse_known_args()
    options = vars(arguments)
    command, parser = options.pop("run"), options.pop("parser")
    if unknown:  # show the usage of the command that was given, not of the whole program
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        command(**options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of stdout has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of all commands or, if `words` begin with a command, only of that one."""
    parser = argparse.ArgumentParser(
        "hashrange",
        description="A DynamoDB-compatible database.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        default=argparse.SUPPRESS,
        help="print the version and exit",
    )
    parser.set_defaults(run=parser.print_help, parser=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    named = COMMANDS.get(words[0]) if words else None
    for module in [named] if named else dict.fromkeys(COMMANDS.values()):
        import_module(f"hashrange.tools.cli.{module}").add(commands)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"hashrange {version('hashrange')}")
        parser.exit()
