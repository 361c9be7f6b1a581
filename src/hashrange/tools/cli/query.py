"""hashrange query"""

import sys
from typing import TYPE_CHECKING, Literal

from hashrange.failing import fail
from hashrange.tools.cli.commands import DB_HELP, command
from hashrange.tools.cli.targets import opened_target, positive, say

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, query)
    parser.add_argument("db", metavar="DB", help=DB_HELP)
    parser.add_argument("statement", metavar="STATEMENT", help="a PartiQL statement")
    modes = parser.add_mutually_exclusive_group()
    for mode, printed in (
        ("csv", "CSV with a header"),
        ("json", "one JSON object on each line, which is the default without a terminal"),
    ):
        modes.add_argument(
            f"--{mode}", dest="mode", action="store_const", const=mode, help=f"print {printed}"
        )
    parser.add_argument("--limit", metavar="N", type=positive, help="return at most N items")
    parser.add_argument(
        "--parameter",
        metavar="VALUE",
        dest="parameters",
        action="append",
        default=[],
        help="the value of the next ? in the statement: JSON such as 42, or DynamoDB JSON such "
        'as {"S": "42"}; any other text is a string',
    )
    parser.add_argument(
        "--capacity",
        action="store_true",
        help="print the capacity that the statement consumed on stderr",
    )
    parser.add_argument("--yes", action="store_true", help="write to AWS without asking")


def query(
    db: str,
    statement: str,
    mode: Literal["csv", "json"] | None,
    limit: int | None,
    parameters: list[str],
    capacity: bool,
    yes: bool,
) -> None:
    """Run one PartiQL statement and print what it returns."""
    with opened_target(db) as target:
        from hashrange.tools.shell.faults import Failed
        from hashrange.tools.shell.output import Output
        from hashrange.tools.shell.parameters import parameter
        from hashrange.tools.shell.session import Session

        ask = _confirm if sys.stdin.isatty() and sys.stderr.isatty() else None
        session = Session(target, Output(sys.stdout), say, confirm=ask, yes=yes)
        session.mode = mode or session.mode
        session.limit, session.capacity = limit, capacity
        try:
            session.run(statement, [parameter(text) for text in parameters])
        except Failed as error:
            sys.stdout.flush()
            fail(error)


def _confirm(question: str) -> bool:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
