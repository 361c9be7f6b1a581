"""hashrange mcp"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.failing import fail
from hashrange.tools.cli.commands import DB_HELP, command, existing
from hashrange.tools.cli.targets import opened_target

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, mcp)
    parser.add_argument("db", metavar="DB", nargs="?", help=DB_HELP)
    parser.add_argument(
        "--model",
        metavar="MODEL",
        type=Path,
        help="a Python file that declares an st.Table; adds tools that plan, check, price and "
        "prove it, each of which runs the file",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="let an agent write items; never to AWS",
    )
    parser.add_argument(
        "--skill",
        action="store_true",
        help="print instructions for an agent that designs with the toolkit, and exit",
    )


def mcp(db: str | None, model: Path | None, write: bool, skill: bool) -> None:
    """Give an AI agent tools for a database and a model, over the Model Context Protocol.

    The agent starts this command and talks with it over stdin and stdout. No tool accepts the name
    of a file or a database.
    """
    if skill:
        from hashrange.tools.agents.skill import skill as text

        print(text(), end="")
        return
    if db is None:
        fail("name the database: hashrange mcp DB")
    if model is not None:
        existing(model)
    try:
        from hashrange.tools.agents.server import server_of
    except ModuleNotFoundError as missing:
        fail(f"the tools are not installed (no {missing.name}): pip install 'hashrange[mcp]'")
    with opened_target(db) as target:
        if write and target.is_aws:
            print("hashrange: AWS is read-only: --write is ignored", file=sys.stderr)
        server_of(target, model, write).run()
