"""Reads the values of the `?` in a statement from the command line."""

import json
from base64 import b64decode
from typing import Any, NoReturn

from hashrange.tools.shell.faults import Failed

_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})


class _Number(str):
    """The digits of a number in JSON."""


def parameter(text: str) -> dict[str, Any]:
    """An attribute value, read from JSON, from DynamoDB's own JSON such as {"S": "42"}, or else
    taken as a string.

    Raises `Failed` if a binary value is not base64.
    """
    try:
        decoded = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {"S": text}
    if isinstance(decoded, dict) and len(decoded) == 1 and decoded.keys() <= _TYPES:
        try:
            return _typed(decoded)
        except (AttributeError, TypeError, ValueError):
            raise Failed(f"--parameter {text}: is not a value in DynamoDB JSON") from None
    return _value(decoded)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _typed(typed: dict[str, Any]) -> dict[str, Any]:
    """A value in DynamoDB's JSON, in boto3's form: binary as bytes."""
    [(kind, content)] = typed.items()
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


def _value(decoded: Any) -> dict[str, Any]:
    match decoded:
        case _Number():
            return {"N": str(decoded)}
        case str():
            return {"S": decoded}
        case bool():
            return {"BOOL": decoded}
        case None:
            return {"NULL": True}
        case list():
            return {"L": [_value(each) for each in decoded]}
        case _:
            return {"M": {name: _value(each) for name, each in decoded.items()}}
