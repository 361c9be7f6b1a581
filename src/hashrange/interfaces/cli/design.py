"""hashrange design: plan, lint, explain, prove and create a model's tables."""

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashrange.interfaces.cli.errors import fail

if TYPE_CHECKING:
    from hashrange.design import Table

app = typer.Typer(help="Single-table design: a model's access patterns.", no_args_is_help=True)

Model = Annotated[Path, typer.Argument(help="A Python file with one or more st.Table.")]


@app.command()
def plan(
    model: Model,
    format: Annotated[Literal["text", "markdown", "json"], typer.Option()] = "text",
) -> None:
    """Print the access-pattern table: how each pattern is served, or why not."""
    for number, table in enumerate(_tables(model)):
        made = table.plan()
        if number:
            typer.echo()
        if format == "text":
            typer.echo(f"{table.name}\n\n{made}")
        else:
            typer.echo(made.markdown() if format == "markdown" else made.json())


def _tables(path: Path) -> "list[Table]":
    """The tables that a Python file declares. A model that cannot work is one line of stderr."""
    from hashrange.design import DeclarationError, Table

    if not path.is_file():
        fail(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except DeclarationError as error:
        fail(str(error))
    tables = [value for value in vars(module).values() if isinstance(value, Table)]
    if not tables:
        fail(f"{path}: no st.Table in it")
    return list(dict.fromkeys(tables))
