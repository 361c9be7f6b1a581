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


@app.command()
def lint(model: Model) -> None:
    """Check the model against DynamoDB's rules. Exit status 1 if there is an error."""
    from hashrange.design import DeclarationError
    from hashrange.design import lint as check

    try:
        reports = [check(table) for table in _tables(model)]
    except DeclarationError as error:
        fail(error)
    for report in reports:
        typer.echo(str(report))
    if any(report.failed for report in reports):
        raise typer.Exit(1)


@app.command()
def explain(rule: Annotated[str, typer.Argument(help="A rule's id, e.g. K05.")]) -> None:
    """Say what a rule of the linter means."""
    from hashrange.design import explain as explanation

    try:
        typer.echo(explanation(rule))
    except KeyError as error:
        fail(error.args[0])


@app.command()
def prove(
    model: Model,
    seed: Annotated[int, typer.Option(help="The same seed invents the same data.")] = 0,
) -> None:
    """Run every pattern on invented data and compare. Exit status 1 if an answer is wrong."""
    import hashrange
    from hashrange.design.proving import prove as try_all

    wrong = False
    for table in _tables(model):
        with hashrange.connect() as database:
            proof = try_all(table, database, seed=seed)
        typer.echo(str(proof))
        wrong = wrong or bool(proof.differences)
    if wrong:
        raise typer.Exit(1)


@app.command()
def create(
    model: Model,
    endpoint: Annotated[str | None, typer.Option(help="Default: AWS itself.")] = None,
    region: Annotated[str | None, typer.Option(help="Default: as boto3 is configured.")] = None,
) -> None:
    """Create the model's tables, or say how the ones that exist differ (exit status 1)."""
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    from hashrange.design import DesignError

    try:
        client = boto3.client("dynamodb", endpoint_url=endpoint, region_name=region)
        for table in _tables(model):
            made = table.create(client)
            typer.echo(f"{table.name}: {'created' if made else 'is there, as the model needs it'}")
    except (DesignError, BotoCoreError, ClientError) as error:
        fail(error)
