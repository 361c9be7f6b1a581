"""The commands. Each is a module, and imports what it needs when it runs: starting is quick."""

from typing import Annotated

import typer

from hashrange.interfaces.cli.backup import backup
from hashrange.interfaces.cli.check import check
from hashrange.interfaces.cli.design import app as design
from hashrange.interfaces.cli.serve import serve

app = typer.Typer(
    help="A DynamoDB-compatible database.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(serve)
app.command()(backup)
app.command()(check)
app.add_typer(design, name="design")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"hashrange {version('hashrange')}")
        raise typer.Exit


@app.callback()
def hashrange(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    pass
