"""The models that `hashrange design` runs, and its connection to the tables of an account."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hashrange.failing import fail
from hashrange.tools.cli.commands import existing

if TYPE_CHECKING:
    import argparse

    from hashrange.design import Table


def add_model(parser: "argparse.ArgumentParser") -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=Path,
        help="a Python file that declares one or more st.Table",
    )


def add_endpoint(parser: "argparse.ArgumentParser") -> None:
    parser.add_argument(
        "--endpoint", metavar="URL", help="e.g. http://127.0.0.1:8000; default: AWS"
    )
    parser.add_argument(
        "--region", help="default: as boto3 is configured, or us-east-1 with --endpoint"
    )


def tables_of(path: Path) -> "list[Table]":
    """The tables that a Python file declares. Exits with one line on stderr if it cannot run."""
    from hashrange.design import Table

    module = _run(existing(path))
    tables = [value for value in vars(module).values() if isinstance(value, Table)]
    if not tables:
        fail(f"{path} declares no st.Table")
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
        message = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
        fail(f"{path}{_line(error, loader.path)}: {message}")
    return module


def _line(error: Exception, file: str) -> str:
    """The text ", line 12", if that line of the model's file raised the error; empty for a
    SyntaxError, which names its line itself."""
    lines = [
        line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return f", line {lines[-1]}" if lines else ""


def client(endpoint: str | None, region: str | None) -> Any:
    """A boto3 client. If it cannot be made, the command exits with one line on stderr."""
    from hashrange.tools.target import server_arguments

    try:
        import boto3
        from botocore.exceptions import BotoCoreError, NoRegionError
    except ImportError:
        fail("this needs boto3: pip install 'hashrange[boto3]'")
    try:
        session = boto3.Session(region_name=region)
        arguments = server_arguments(session, endpoint) if endpoint else {}
        return session.client("dynamodb", **arguments)
    except NoRegionError:
        fail("no region: set it with --region or AWS_DEFAULT_REGION")
    except (BotoCoreError, ValueError) as error:  # for a wrong profile, endpoint or region
        fail(error)


def write_result(text: str, output: Path | None) -> None:
    """Write the text to the file `output` or, if that is None, to stdout."""
    if output is None:
        sys.stdout.write(text)
        return
    try:
        if not output.parent.is_dir():
            fail(f"{output}: there is no directory {output.parent}; create it first")
        output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        fail(f"{output}: {error.strerror}")
