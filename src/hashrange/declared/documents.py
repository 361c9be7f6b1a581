"""Documents in JSON or YAML.

CloudFormation's YAML tags are replaced by their long forms: `!Ref a` by `{"Ref": "a"}`, and
`!GetAtt a.b` by `{"Fn::GetAtt": ["a", "b"]}`.
"""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hashrange.formats import yaml_
from hashrange.formats.items import DataError, one_line

FILE_BYTES_MAX = 64 * 1024 * 1024
Json = dict[str, Any]

_WHOLE = ("Ref", "Condition")
"""The CloudFormation functions whose long names do not begin with `Fn::`."""


class Unresolved(NamedTuple):
    """A part of a document whose value cannot be determined from the file alone.

    `text` is the part as it is written in the file, for messages.
    """

    text: str


def unresolved(value: Any) -> Unresolved | None:
    """The first unresolved part of a value."""
    if isinstance(value, Unresolved):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((inner for part in parts if (inner := unresolved(part))), None)


def read(path: Path) -> Json:
    """The document in a file. Raises DataError."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise DataError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    if len(content) > FILE_BYTES_MAX:
        raise DataError(f"{path}: over {FILE_BYTES_MAX:,} bytes")
    try:
        document = _parsed(path, content)
    except RecursionError:
        raise DataError(f"{path}: it is nested too deeply") from None
    if not isinstance(document, dict):
        raise DataError(f"{path}: not a description of a table")
    return document


def _parsed(path: Path, content: bytes) -> Any:
    json = content.lstrip().startswith(b"{")
    try:
        if json:
            return msgspec.json.decode(content)
        return _yaml(path, content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a description of a table: {one_line(error)}") from None


def _yaml(path: Path, content: bytes) -> Any:
    yaml = yaml_.library()
    loader_type = yaml_.loader_class(yaml)
    loader_type.add_multi_constructor("!", _function)
    try:
        return loader_type(content).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or error
        raise DataError(f"{where}: not YAML: {one_line(problem)}") from None
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise DataError(f"{path}: not YAML: {one_line(error)}") from None


def _function(loader: Any, name: str, node: Any) -> Json:
    kind = type(node).__name__
    argument: Any
    if kind == "ScalarNode":
        argument = loader.construct_scalar(node)
    elif kind == "SequenceNode":
        argument = loader.construct_sequence(node, deep=True)
    else:
        argument = loader.construct_mapping(node, deep=True)
    if name == "GetAtt" and isinstance(argument, str):
        argument = argument.split(".", 1)
    return {name if name in _WHOLE else f"Fn::{name}": argument}
