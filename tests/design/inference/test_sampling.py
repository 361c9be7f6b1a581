"""Samples are read from all parts of a table, at a limited rate."""

from typing import Any

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.inference.sampling import sample

from .tables import declared, orders

Item = dict[str, Any]


def test_a_sample_reads_all_parts_and_no_more_than_it_has_to(
    database: hashrange.Database,
) -> None:
    orders(database, 2000)
    reads: list[int] = []
    seen: list[int] = []

    class Counting:
        def execute(self, operation: str, payload: Item) -> Item:
            response: Item = database.execute(operation, payload)
            reads.append(len(response.get("Items", ())))
            return response

    found = st.infer(Counting(), "app", sample=500, rate=10_000, progress=seen.append)
    assert found.sampled == 500
    assert 500 <= sum(reads) < 800
    assert seen[-1] == 500
    assert seen == sorted(seen)
    assert {str(e) for e in declared(found.text).model.entities} == {"Cust", "Inv"}


def test_the_rate_is_kept(database: hashrange.Database) -> None:
    """The pauses, on a clock that stands still, are as long as the units that were read allow."""
    orders(database, 500)
    pauses: list[float] = []
    sample(database, "app", 500, 10, timer=lambda: 0.0, sleep=pauses.append)
    assert pauses
    units = max(pauses) * 10
    assert 8 <= units <= 60  # half a unit for each segment and page


def test_the_same_table_gives_the_same_model(database: hashrange.Database) -> None:
    orders(database, 500)
    assert st.infer(database, "app").text == st.infer(database, "app").text


def test_a_missing_table_is_reported(database: hashrange.Database) -> None:
    with pytest.raises(st.DesignError, match="no table 'absent'"):
        st.infer(database, "absent")
