"""hashrange design export and import: models in other formats."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from hashrange.failing import fail
from hashrange.tools.cli.commands import existing
from hashrange.tools.cli.design.model_files import add_model, tables_of, write_result

TO = ("cloudformation", "terraform", "nosql-workbench", "iam", "json", "jsonschema", "electrodb")
FROM = ("cloudformation", "nosql-workbench")


def add_export_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--to", choices=TO, required=True, help="the format")
    parser.add_argument(
        "--deployed",
        metavar="FILE",
        type=Path,
        help="cloudformation: the deployed template; the result is the next template to "
        "deploy, which changes one index",
    )
    parser.add_argument(
        "--tenant",
        metavar="FIELD",
        help="iam: the field that holds the tenant of an item; callers can then reach only the "
        "items of their own tenant, which is the value of their tag FIELD "
        "(aws:PrincipalTag/FIELD)",
    )
    _add_output(parser)


def add_import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="a file in the format of --from")
    parser.add_argument("--from", dest="source", choices=FROM, required=True, help="the format")
    _add_output(parser)


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="default: stdout")


def export(
    model: Path, to: str, deployed: Path | None, tenant: str | None, output: Path | None
) -> None:
    """Write the model in another format, and warn of parts that the format cannot express."""
    from hashrange.design import DesignError
    from hashrange.design.exchange import cloudformation, iam
    from hashrange.design.exchange.export import export as written

    if deployed is not None and to != "cloudformation":
        fail("--deployed is for --to cloudformation")
    if tenant is not None and to != "iam":
        fail("--tenant is for --to iam")
    tables = tables_of(model)
    try:
        if deployed is not None:
            done = cloudformation.next_update(tables, _text(deployed))
        elif tenant is not None:
            done = iam.export(tables, tenant)
        else:
            done = written(tables, to)
    except DesignError as error:
        fail(f"{deployed}: {error}" if deployed is not None else error)
    write_result(done.text, output)
    _warn(done.warnings)


def import_(file: Path, source: str, output: Path | None) -> None:
    """Print the Python source of the model in a file of another format."""
    import json

    from hashrange.declared import documents
    from hashrange.design import DesignError
    from hashrange.design.exchange.read import read
    from hashrange.formats.items import DataError

    try:
        document = _text(file)
        if source == "cloudformation" and not document.lstrip().startswith("{"):
            document = json.dumps(documents.read(file))
        done = read(document, source)
    except DataError as error:
        fail(error)
    except DesignError as error:
        fail(f"{file}: {error}")
    write_result(done.text, output)
    _warn(done.warnings)


def _text(path: Path) -> str:
    try:
        return existing(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{path}: {getattr(error, 'strerror', None) or 'is not UTF-8 text'}")


def _warn(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"hashrange: {line}", file=sys.stderr)
