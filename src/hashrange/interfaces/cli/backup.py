"""hashrange backup"""

from pathlib import Path
from typing import Annotated

import typer


def backup(
    path: Annotated[Path, typer.Argument(metavar="DB", help="The database's file.")],
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="The copy: a file that is not there yet.")
    ],
) -> None:
    """Copy a database as of one moment, also while a server uses it."""
    import hashrange
    from hashrange.interfaces.cli.errors import existing, fail, told_in_one_line

    with told_in_one_line(), hashrange.connect(existing(path)) as database:
        try:
            database.backup(target)
        except FileExistsError:
            fail(f"{target}: there is such a file already")
    typer.echo(f"{path} is copied to {target}")
