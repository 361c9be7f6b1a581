"""Stored values as short text."""

from typing import Any

from hashrange.model.values import AttributeValue


def value_text(value: AttributeValue) -> str:
    """The value as DynamoDB's console shows it, without types."""
    [(tag, content)] = value.items()
    return str(_WRITERS.get(tag, str)(content))


def _nested(value: AttributeValue) -> str:
    return repr(value["S"]) if "S" in value else value_text(value)


def _binary(content: Any) -> str:
    return f"binary {content}" if isinstance(content, str) else f"{len(content)} bytes"


_WRITERS: dict[str, Any] = {
    "BOOL": lambda content: "true" if content else "false",
    "NULL": lambda content: "null",
    "B": _binary,
    "SS": lambda content: "{" + ", ".join(map(repr, content)) + "}",
    "NS": lambda content: "{" + ", ".join(content) + "}",
    "BS": lambda content: "{" + ", ".join(map(_binary, content)) + "}",
    "L": lambda content: "[" + ", ".join(map(_nested, content)) + "]",
    "M": lambda content: "{" + ", ".join(f"{k}: {_nested(v)}" for k, v in content.items()) + "}",
}
