"""Statements of PartiQL against a table: in them T stands for its quoted name."""

from typing import Any

from .support import Response, Table, call, refused, wire

ILL = "ValidationException: Statement wasn't well formed, can't be processed: "
LEFTOVER = f"{ILL}Unexpected token after expression"
FAILED = "ConditionalCheckFailedException: The conditional request failed"
NO_KEY = (
    "ValidationException: Where clause does not contain a mandatory equality on all key attributes"
)
KEY_TYPE = (
    "ValidationException: Key attribute's data type should match its data type in table's "
    "schema: Key {}"
)
A = {
    "pk": "a",
    "n": 1,
    "s": "str",
    "ss": {"a", "b"},
    "l": [1, 2, {"x": "y"}],
    "m": {"a": {"b": "deep"}, "x": 3},
    "z": None,
}


def run(table: Table, text: str, *values: Any, **more: Any) -> Response:
    if values:
        more["Parameters"] = [wire(value) for value in values]
    return call(table.client, "ExecuteStatement", Statement=named(text, table), **more)


def rejected(table: Table, expected: str, text: str, *values: Any, **more: Any) -> Response:
    return refused(expected, run, table, text, *values, **more)


def place(text: str, table: Table, token: str, start: str = "") -> str:
    """The place of a token in messages: the first one after `start`."""
    sent = named(text, table)
    return f"at 1:{sent.index(token, sent.index(start)) + 1}:{len(token)}"


def named(text: str, table: Table) -> str:
    words = text.split(" ")
    return " ".join(
        word.replace("T", f'"{table.name}"', 1) if word.rstrip(";,").split(".")[0] == "T" else word
        for word in words
    )
