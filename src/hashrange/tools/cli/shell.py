"""hashrange shell"""

import sys
from typing import TYPE_CHECKING

from hashrange.failing import fail
from hashrange.tools.cli.commands import DB_HELP, command
from hashrange.tools.cli.targets import opened_target, say

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands
    from hashrange.tools.shell.session import Session


def add(commands: "Commands") -> None:
    parser = command(commands, shell)
    parser.add_argument("db", metavar="DB", help=DB_HELP)
    parser.add_argument("--yes", action="store_true", help="write to AWS without asking")


def shell(db: str, yes: bool) -> None:
    """Run PartiQL statements from a prompt or from stdin."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    with opened_target(db) as target:
        from hashrange.tools.shell import terminal
        from hashrange.tools.shell.faults import Failed
        from hashrange.tools.shell.output import Output
        from hashrange.tools.shell.session import Session

        ask = terminal.confirm if interactive else None
        session = Session(target, Output(sys.stdout), say, confirm=ask, yes=yes)
        try:
            session.check()
        except Failed as error:
            fail(error)
        if interactive:
            terminal.interact(session)
        else:
            _run_lines(session)


def _run_lines(session: "Session") -> None:
    """Run the statements on stdin, up to the first error."""
    from hashrange.tools.shell.commands import Commands, Quit
    from hashrange.tools.shell.faults import Failed
    from hashrange.tools.shell.splitting import STATEMENT_CHARACTERS_MAX, TooLong, entries

    commands = Commands(session)
    line = 0
    try:
        read = iter(lambda: sys.stdin.readline(STATEMENT_CHARACTERS_MAX + 1), "")
        for entry in entries(read):
            line = entry.line
            commands.run(entry.text)
    except Quit:
        pass
    except Failed as error:
        sys.stdout.flush()
        fail(f"line {line}: {error}")
    except TooLong as error:
        fail(error)
    except UnicodeDecodeError:
        fail("stdin is not text in UTF-8")
    finally:
        commands.close()
