"""Values of the `?` in a statement, as the command line takes them."""

import json
from base64 import b64decode
from typing import Any, NoReturn

from hashrange.tools.shell.faults import Failed

_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})


class _Number(str):
    """The digits of a number in JSON."""


def parameter(text: str) -> dict[str, Any]:
    """An attribute value: JSON, DynamoDB's own JSON such as {"S": "42"}, or else a string.

    Raises `Failed` if binary is not base64.
    """
    try:
        given = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {"S": text}
    if isinstance(given, dict) and len(given) == 1 and given.keys() <= _TYPES:
        try:
            return _typed(given)
        except (AttributeError, TypeError, ValueError):
            raise Failed(f"--parameter {text}: is not a value in DynamoDB JSON") from None
    return _value(given)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _typed(given: dict[str, Any]) -> dict[str, Any]:
    """A value in DynamoDB's JSON, as boto3 takes it: binary as bytes."""
    [(kind, content)] = given.items()
    match kind:
        case "B":
            return {"B": b64decode(content, validate=True)}
        case "BS":
            return {"BS": [b64decode(each, validate=True) for each in content]}
        case "L":
            return {"L": [_typed(each) for each in content]}
        case "M":
            return {"M": {name: _typed(each) for name, each in content.items()}}
    return {kind: content}


def _value(given: Any) -> dict[str, Any]:
    match given:
        case _Number():
            return {"N": str(given)}
        case str():
            return {"S": given}
        case bool():
            return {"BOOL": given}
        case None:
            return {"NULL": True}
        case list():
            return {"L": [_value(each) for each in given]}
        case _:
            return {"M": {name: _value(each) for name, each in given.items()}}
