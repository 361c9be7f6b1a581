"""PartiQL: which statements a NextToken resumes. Captured in October 2026."""

from typing import Any

import pytest

from .partiql import named
from .support import NewTable, Response, Table, call, cases, refused

MISMATCH = "ValidationException: NextToken does not match request"
TEXT = "SELECT pk FROM T WHERE x = 0"
WITH_VALUE = "SELECT pk FROM T WHERE z = ?"


@pytest.fixture(scope="module")
def four(new_shared_table: NewTable) -> Table:
    """Four items; only read."""
    table = new_shared_table("pk")
    table.put(*({"pk": pk, "x": 0, "m": {"a": 1, "b": 2}} for pk in "abcd"))
    return table


def page(table: Table, text: str, values: list[Any], limit: int = 1, **more: Any) -> Response:
    if values:
        more["Parameters"] = values
    text = named(text, table)
    return call(table.client, "ExecuteStatement", Statement=text, Limit=limit, **more)


def resume(table: Table, first: tuple[str, list[Any]], second: tuple[str, list[Any]]) -> Response:
    return page(table, *second, NextToken=page(table, *first)["NextToken"])


def not_resumed(table: Table, first: tuple[str, list[Any]], second: tuple[str, list[Any]]) -> None:
    refused(MISMATCH, resume, table, first, second)


MAP = "SELECT pk FROM T WHERE m = {'a': 1, 'b': 2}"


@cases("text", [(TEXT,), (MAP,), ("SELECT pk FROM T WHERE m = [1, 2]",)])
def test_the_same_text_resumes(four: Table, text: str) -> None:
    resume(four, (text, []), (text, []))


def test_the_limit_may_change(four: Table) -> None:
    token = page(four, TEXT, [])["NextToken"]
    assert len(page(four, TEXT, [], limit=2, NextToken=token)["Items"]) == 2


@cases(
    "first, second",
    [
        (TEXT, "SELECT pk FROM T  WHERE x = 0"),
        (TEXT, "select pk from T where x = 0"),
        (TEXT, "SELECT pk, x FROM T WHERE x = 0"),
        (TEXT, "SELECT pk FROM T WHERE x = 0;"),
        (MAP, "SELECT pk FROM T WHERE m = {'b': 2, 'a': 1}"),
        (MAP, "SELECT pk FROM T WHERE m = {'a':1,'b':2}"),
    ],
)
def test_another_text_does_not_resume(four: Table, first: str, second: str) -> None:
    not_resumed(four, (first, []), (second, []))


SAME = [
    ({"S": "abc"}, {"S": "abc"}),
    ({"B": b"abc"}, {"B": b"abc"}),
    ({"BOOL": True}, {"BOOL": True}),
    ({"NULL": True}, {"NULL": True}),
    *(
        ({"N": first}, {"N": second})
        for first, second in [
            ("0", "0"),
            ("-0", "0"),
            ("01", "1"),
            ("+1", "1"),
            ("1e2", "1E+2"),
            ("1e-2", "0.01"),
            ("10E-3", "0.010"),
            ("1.5E1", "15"),
        ]
    ),
    ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
    ({"BS": [b"a", b"b"]}, {"BS": [b"b", b"a"]}),
    ({"NS": ["1", "2"]}, {"NS": ["2", "1.0"]}),
    ({"NS": ["100", "7"]}, {"NS": ["7", "1E2"]}),
    ({"NS": ["0E2"]}, {"NS": ["0"]}),
]
OTHER = [
    ({"S": "p"}, {"S": "q"}),
    ({"S": "abc"}, {"S": "ABC"}),
    ({"B": b"abc"}, {"B": b"xyz"}),
    *(
        ({"N": first}, {"N": second})
        for first, second in [
            ("1.0", "1"),
            ("0", "0.0"),
            ("1.50", "1.5"),
            ("100", "1E2"),
            ("1E2", "1.0E2"),
            ("100", "100.0"),
            ("0E2", "0"),
            ("1E-2", "0.010"),
        ]
    ),
    ({"SS": ["a", "b"]}, {"SS": ["a", "b", "c"]}),
    ({"SS": ["a", "b"]}, {"SS": ["A", "b"]}),
    ({"NS": ["1E-2"]}, {"NS": ["0.02"]}),
]
NEVER = [
    {"L": [{"N": "1"}, {"N": "2"}]},
    {"L": []},
    {"L": [{"SS": ["p"]}]},
    {"M": {}},
    {"M": {"a": {"N": "1"}}},
]


@cases("first, second", SAME)
def test_the_same_values_resume(four: Table, first: Any, second: Any) -> None:
    resume(four, (WITH_VALUE, [first]), (WITH_VALUE, [second]))
    resume(four, (WITH_VALUE, [second]), (WITH_VALUE, [first]))


@cases("first, second", OTHER)
def test_other_values_do_not_resume(four: Table, first: Any, second: Any) -> None:
    not_resumed(four, (WITH_VALUE, [first]), (WITH_VALUE, [second]))
    not_resumed(four, (WITH_VALUE, [second]), (WITH_VALUE, [first]))


@cases("value", [(value,) for value in NEVER])
def test_lists_and_maps_never_resume(four: Table, value: Any) -> None:
    not_resumed(four, (WITH_VALUE, [value]), (WITH_VALUE, [value]))
    both = ("SELECT pk FROM T WHERE x = ? AND m = ?", [{"N": "1"}, value])
    not_resumed(four, both, both)
