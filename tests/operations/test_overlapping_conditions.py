"""A SELECT is refused exactly if two of its parts have a key in common, whatever the parts are.

A part with two different conditions of the sort key is no query, and a scan is never refused.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hashrange
from hashrange.model.errors import ValidationException

TESTS: dict[str, Callable[[float, int, int], bool]] = {
    "sk = {}": lambda sk, a, b: sk == a,
    "sk < {}": lambda sk, a, b: sk < a,
    "sk <= {}": lambda sk, a, b: sk <= a,
    "sk > {}": lambda sk, a, b: sk > a,
    "sk >= {}": lambda sk, a, b: sk >= a,
    "sk BETWEEN {} AND {}": lambda sk, a, b: a <= sk <= b,
    "sk IN [{}, {}.5]": lambda sk, a, b: sk in (a, b + 0.5),
    "x = {}": lambda sk, a, b: True,
}
NUMBERS = st.integers(0, 4)
PARTS = st.tuples(
    st.sampled_from("pq"),
    st.lists(st.tuples(st.sampled_from(sorted(TESTS)), NUMBERS, NUMBERS), max_size=2),
)
KEYS = [(pk, step / 4) for pk in "pq" for step in range(-4, 24)]
"""Between any two that a condition tells apart there is one."""


@pytest.fixture(scope="module")
def database() -> Iterator[hashrange.Database]:
    with hashrange.connect() as database:
        names = [("pk", "HASH", "S"), ("sk", "RANGE", "N")]
        database.execute(
            "CreateTable",
            {
                "TableName": "rows",
                "KeySchema": [{"AttributeName": n, "KeyType": k} for n, k, _ in names],
                "AttributeDefinitions": [
                    {"AttributeName": n, "AttributeType": t} for n, _, t in names
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        yield database


@given(st.lists(PARTS, min_size=2, max_size=4))
def test_parts_overlap_or_not(database: hashrange.Database, parts: list[Any]) -> None:
    where = " OR ".join(
        " AND ".join([f"pk = '{pk}'", *(text.format(a, max(a, b)) for text, a, b in tests)])
        for pk, tests in parts
    )
    named = [
        {
            (pk, sk)
            for pk, sk in KEYS
            if pk == wanted and all(TESTS[text](sk, a, max(a, b)) for text, a, b in tests)
        }
        for wanted, tests in parts
    ]
    scanned = any(len(_conditions(tests)) > 1 for _, tests in parts)
    overlapping = not scanned and sum(map(len, named)) > len(set().union(*named))
    statement = {"Statement": f'SELECT * FROM "rows" WHERE {where}'}
    refused = pytest.raises(ValidationException, match=r"^Overlapping")
    with refused if overlapping else nullcontext():
        database.execute("ExecuteStatement", statement)


def _conditions(tests: list[tuple[str, int, int]]) -> set[tuple[Any, ...]]:
    """The different conditions of the sort key. A list of values differs from any other."""
    return {
        (at if "IN" in text else text, a, max(a, b) if "AND" in text else None)
        for at, (text, a, b) in enumerate(tests)
        if text != "x = {}"
    }
