"""hashrange design: plan, lint and prove a model, describe a rule, and create tables."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hashrange.failing import fail
from hashrange.tools.cli.commands import DB_HELP, command
from hashrange.tools.cli.design import cost, diff, draw, exchange, infer, migrate
from hashrange.tools.cli.design.model_files import add_model, tables_of
from hashrange.tools.cli.targets import opened_target
from hashrange.tools.cli.transfers import add_yes, ask_before_writing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hashrange.database.database import Database
    from hashrange.design import Table
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    about = "Single-table design: plan, check, prove and create the tables of a model."
    design = commands.add_parser("design", help=about, description=about, allow_abbrev=False)
    design.set_defaults(run=design.print_help, parser=design)
    tools = design.add_subparsers(title="commands", metavar="COMMAND")
    parsers = {function: command(tools, function) for function in (plan, lint, prove, create)}
    for parser in parsers.values():
        add_model(parser)
    parsers[plan].add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="default: text"
    )
    parsers[prove].add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=0,
        help="seed of the generated data; default: 0",
    )
    parsers[prove].add_argument(
        "--access", metavar="FILE", type=Path, help="an access file, for --as"
    )
    parsers[prove].add_argument(
        "--as",
        dest="principal",
        metavar="ARN",
        help="run every pattern as this principal, and report permissions that no pattern or "
        "write of the model needs",
    )
    parsers[create].add_argument(
        "db", metavar="DB", help=f"{DB_HELP}; a file is created if it does not exist"
    )
    add_yes(parsers[create])
    cost.add_arguments(command(tools, cost.cost))
    diff.add_arguments(command(tools, diff.diff))
    command(tools, rule).add_argument("id", metavar="RULE", help="a rule's id, e.g. K05")
    draw.add_arguments(command(tools, draw.draw))
    exchange.add_export_arguments(command(tools, exchange.export))
    exchange.add_import_arguments(command(tools, exchange.import_))
    infer.add_arguments(command(tools, infer.infer))
    migrate.add(tools)


def plan(model: Path, format: Literal["text", "markdown", "json"]) -> None:
    """Print the access-pattern table. Exit status 1 if no key serves a pattern."""
    tables = tables_of(model)
    for number, table in enumerate(tables):
        made = table.plan()
        if number:
            print()
        if format == "text":
            print(f"{table.name}\n\n{made}")
        else:
            print(made.markdown() if format == "markdown" else made.json())
    if any(table.unserved for table in tables):
        sys.exit(1)


def lint(model: Path) -> None:
    """Check the model against DynamoDB's rules. Exit status 1 if there is an error."""
    from hashrange.design import DeclarationError
    from hashrange.design import lint as check

    try:
        reports = [check(table) for table in tables_of(model)]
    except DeclarationError as error:
        fail(error)
    for report in reports:
        print(report)
    if any(report.failed for report in reports):
        sys.exit(1)


def rule(id: str) -> None:
    """Explain a lint rule."""
    from hashrange.design import rule as explanation

    try:
        print(explanation(id))
    except KeyError as error:
        fail(error.args[0])


def prove(model: Path, seed: int, access: Path | None, principal: str | None) -> None:
    """Check every pattern's results on generated data. Exit status 1 if a result is wrong."""
    from hashrange.database.connecting import connect
    from hashrange.design import DesignError
    from hashrange.design.tools.proof.prove import prove as try_all
    from hashrange.failing import told_in_one_line
    from hashrange.model.settings import Settings

    if (access is None) is not (principal is None):
        fail("give --access and --as together")
    settings = Settings(access=access)
    wrong = False
    for table in tables_of(model):
        try:
            with told_in_one_line(), connect(settings=settings) as database:
                asking = None
                if principal is not None:
                    asking = database.boto3_session(principal=principal).client("dynamodb")
                proof = try_all(table, database, seed=seed, asking=asking)
                for line in _beyond(database, principal, table):
                    print(line)
        except (DesignError, ValueError) as error:
            fail(str(error))
        print(proof)
        wrong = wrong or proof.failed
    if wrong:
        sys.exit(1)


def _beyond(database: "Database", principal: str | None, table: "Table") -> "Iterator[str]":
    """A line for each table or index on which the principal may take actions that no request of the
    table's model needs."""
    if principal is None:
        return
    from hashrange.model.caller import DEFAULT_REGION
    from hashrange.tools.access_beyond import beyond

    assert database.access is not None, "a principal must be given with an access file"
    acting = database.access.principal(principal)
    yield from beyond(acting, [table], DEFAULT_REGION)


def create(model: Path, db: str, yes: bool) -> None:
    """Create the model's tables in DB. Exit status 1 if an existing table differs."""
    from hashrange.design import DesignError

    tables = tables_of(model)
    names = ", ".join(table.name for table in tables)
    with opened_target(db, create=True) as target:
        from botocore.exceptions import BotoCoreError, ClientError

        ask_before_writing(target, f"Create {names}", yes)
        try:
            for table in tables:
                made = table.create(target.client)
                print(f"{table.name}: {'created' if made else 'exists and fits the model'}")
        except (DesignError, BotoCoreError, ClientError) as error:
            fail(error)
