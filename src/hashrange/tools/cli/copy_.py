"""hashrange copy"""

import sys
from typing import TYPE_CHECKING

from hashrange.amounts import counted
from hashrange.tools.cli.commands import DB_HELP, command
from hashrange.tools.cli.transfers import (
    add_speed,
    add_yes,
    ask_before_writing,
    between,
    threads,
    told,
)

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands
    from hashrange.tools.moving.copying import Copy

NEAR_SECONDS = 1.0


def add(commands: "Commands") -> None:
    parser = command(commands, copy_)
    parser.add_argument("source", metavar="SOURCE", help=DB_HELP)
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="the database to copy to; a file is created if it does not exist",
    )
    parser.add_argument("tables", metavar="TABLE", nargs="*", help="default: all tables")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="after the copy, apply the changes of the source, from its stream, until Ctrl-C",
    )
    add_speed(parser)
    add_yes(parser)


def copy_(
    source: str,
    target: str,
    tables: list[str],
    follow: bool,
    parallel: int | None,
    rate: float,
    yes: bool,
) -> None:
    """Copy tables with their items to another database; tables that are missing there are created.

    Tables are created with their indexes, billing, stream, time to live and tags. If other programs
    write to the source meanwhile, each item is copied as it was at some moment during the copy; two
    items may be of different moments. With --follow, later changes of the source are then applied
    to the copy. When the copy is reported to be 0 s behind, it has all changes so far. To continue
    an interrupted copy, run it again.
    """
    from hashrange.tools.moving.copying import Copy
    from hashrange.tools.moving.replicating import stream_of
    from hashrange.tools.target import open_target

    with (
        told("run the same command again to continue"),
        open_target(source) as origin,
        open_target(target, create=True) as copied,
    ):
        copy = Copy(origin, copied, tables)
        if follow:
            for table in copy.described():
                stream_of(table, origin.name)
        what = ", ".join(copy.names) or "no tables"
        ask_before_writing(copied, f"Copy {what} from {origin.name}", yes)
        segments = threads(origin, parallel)
        progress = copy.run(segments, threads(copied, parallel), rate)
        for name, state in copy.states.items():
            print(f"{name}: {counted(state.items)}, {between(state.began, state.ended)}")
        print(f"{copied.name}: copied {progress.speed()}", flush=True)
        if follow:
            _follow(copy)
        else:
            copy.bookmark.remove()


def _follow(copy: "Copy") -> None:
    """Follow until Ctrl-C, and print how far the copy is behind."""
    shown = sys.stderr.isatty()
    caught_up = False
    last = (0.0, 0)

    def behind(seconds: float, applied: int) -> None:
        nonlocal caught_up, last
        last = seconds, applied
        if shown:
            sys.stderr.write(f"\r{_state(seconds, applied)} - Ctrl-C ends it\x1b[K")
            sys.stderr.flush()
        if seconds < NEAR_SECONDS and not caught_up:
            caught_up = True
            if not shown:
                print(f"caught up: {_state(seconds, applied)}", flush=True)

    try:
        copy.follow(behind)
    except KeyboardInterrupt:
        if shown:
            sys.stderr.write("\r\x1b[K")
        print(
            f"{_state(*last)}; run the same command again to continue from {copy.bookmark.path}, "
            "or remove that file"
        )


def _state(seconds: float, applied: int) -> str:
    return f"{applied:,} {'record' if applied == 1 else 'records'} applied, {seconds:,.1f} s behind"
