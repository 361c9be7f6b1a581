"""hashrange check"""

from pathlib import Path
from typing import Annotated

import typer


def check(
    path: Annotated[Path, typer.Argument(metavar="DB", help="The database's file.")],
) -> None:
    """Verify every row's checksum and recompute every index and counter."""
    import hashrange
    from hashrange.interfaces.cli.errors import existing, fail, told_in_one_line

    problems = 0
    with told_in_one_line(), hashrange.connect(existing(path)) as database:
        for problem in database.check():
            problems += 1
            typer.echo(problem)
    if problems:
        fail(f"{path}: {problems} {'problem' if problems == 1 else 'problems'} found")
    typer.echo(f"{path}: no problem found")
