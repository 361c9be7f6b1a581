"""hashrange design: plan, lint, explain, prove and create a model's tables."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from hashrange.interfaces.cli.commands import command, existing, fail

if TYPE_CHECKING:
    from hashrange.design import Table
    from hashrange.interfaces.cli.commands import Commands


def add(commands: "Commands") -> None:
    about = "Single-table design: plan, check, prove and create the tables of a model."
    design = commands.add_parser("design", help=about, description=about, allow_abbrev=False)
    design.set_defaults(run=design.print_help, parser=design)
    tools = design.add_subparsers(title="commands", metavar="COMMAND")
    parsers = {function: command(tools, function) for function in (plan, lint, prove, create)}
    for parser in parsers.values():
        parser.add_argument(
            "model",
            metavar="MODEL",
            type=Path,
            help="a Python file that declares one or more st.Table",
        )
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
    parsers[create].add_argument(
        "--endpoint", metavar="URL", help="e.g. http://127.0.0.1:8000; default: AWS itself"
    )
    parsers[create].add_argument("--region", help="default: as boto3 is configured")
    command(tools, explain).add_argument("rule", metavar="RULE", help="a rule's id, e.g. K05")


def plan(model: Path, format: Literal["text", "markdown", "json"]) -> None:
    """Print the access-pattern table. Exit status 1 if nothing serves a pattern."""
    tables = _tables(model)
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


def _tables(path: Path) -> "list[Table]":
    """The tables that a Python file declares. Exits with one line on stderr if it cannot run."""
    from hashrange.design import Table

    module = _run(existing(path))
    tables = [value for value in vars(module).values() if isinstance(value, Table)]
    if not tables:
        fail(f"{path}: it declares no st.Table")
    return list(dict.fromkeys(tables))


def _run(path: Path) -> ModuleType:
    """Run the file as a module, even if its name does not end in `.py`."""
    from hashrange.design import DeclarationError

    loader = SourceFileLoader(path.stem, str(path.resolve()))
    spec = spec_from_loader(path.stem, loader)
    assert spec is not None
    module = sys.modules[path.stem] = module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        loader.exec_module(module)
    except DeclarationError as error:
        fail(error)
    except Exception as error:  # the user's program can raise any error
        said = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
        fail(f"{path}{_line(error, loader.path)}: {said}")
    return module


def _line(error: Exception, file: str) -> str:
    """The line of the model's file that raised the error; a SyntaxError names it itself."""
    lines = [
        line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return f", line {lines[-1]}" if lines else ""


def lint(model: Path) -> None:
    """Check the model against DynamoDB's rules. Exit status 1 if there is an error."""
    from hashrange.design import DeclarationError
    from hashrange.design import lint as check

    try:
        reports = [check(table) for table in _tables(model)]
    except DeclarationError as error:
        fail(error)
    for report in reports:
        print(report)
    if any(report.failed for report in reports):
        sys.exit(1)


def explain(rule: str) -> None:
    """Explain a lint rule."""
    from hashrange.design import explain as explanation

    try:
        print(explanation(rule))
    except KeyError as error:
        fail(error.args[0])


def prove(model: Path, seed: int) -> None:
    """Compare every pattern's results on generated data. Exit status 1 if one differs."""
    import hashrange
    from hashrange.design.tools.prove import prove as try_all

    wrong = False
    for table in _tables(model):
        with hashrange.connect() as database:
            proof = try_all(table, database, seed=seed)
        print(proof)
        wrong = wrong or proof.failed
    if wrong:
        sys.exit(1)


def create(model: Path, endpoint: str | None, region: str | None) -> None:
    """Create the model's tables. Exit status 1 if an existing table differs."""
    try:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError, NoRegionError
    except ImportError:
        fail("create needs boto3: pip install 'hashrange[boto3]'")

    from hashrange.design import DesignError

    tables = _tables(model)
    try:
        client = boto3.client("dynamodb", endpoint_url=endpoint, region_name=region)
    except NoRegionError:
        fail("no region: give one with --region or AWS_DEFAULT_REGION")
    except (BotoCoreError, ValueError) as error:  # for a wrong profile, endpoint or region
        fail(error)
    try:
        for table in tables:
            made = table.create(client)
            print(f"{table.name}: {'created' if made else 'exists and fits the model'}")
    except (DesignError, BotoCoreError, ClientError) as error:
        fail(error)
