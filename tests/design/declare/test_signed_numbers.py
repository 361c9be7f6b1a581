"""Negative and decimal numbers in templates: their texts sort as the numbers do."""

from decimal import Decimal
from typing import Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as some

import hashrange
from hashrange import design as st


class Reading(st.Item):
    key = st.key("sensor#{sensor_id}", "{level:+04d}#{value:+08.2f}")
    by_value = st.index("GSI1", "all", "{value:+08.2f}")

    sensor_id: st.Slug
    level: int
    value: Decimal


class Readings(st.Store, Protocol):
    def above(self, sensor_id: str, level: st.After[int]) -> st.Query[Reading]: ...
    def between(self, value: st.Between[Decimal]) -> st.Query[Reading]: ...
    def below(self, value: st.Before[Decimal]) -> st.Query[Reading]: ...


table = st.Table("readings", Readings)
LEVELS = some.integers(-(10**4), 10**4 - 1)
VALUES = some.decimals(-(10**5), 10**5 - 1, places=2)


def texts(level: int, value: Decimal) -> tuple[str, str]:
    image = table.dump(Reading(sensor_id="s", level=level, value=value))
    return image["sk"]["S"], image["GSI1-sk"]["S"]


@given(LEVELS, VALUES, LEVELS, VALUES)
def test_texts_sort_as_numbers(a: int, x: Decimal, b: int, y: Decimal) -> None:
    first, second = texts(a, x), texts(b, y)
    assert (first[0] < second[0]) == ((a, x) < (b, y))
    assert (first[1] < second[1]) == (x < y)
    assert len(first[0]) == len(second[0])


def test_the_texts() -> None:
    assert texts(-5, Decimal("-0.01")) == ("09995#099999.99", "099999.99")
    assert texts(0, Decimal(0)) == ("10000#100000.00", "100000.00")
    assert texts(5, Decimal("1.5")) == ("10005#100001.50", "100001.50")


@pytest.mark.parametrize(
    ("level", "value"),
    [(10**4, 0), (-(10**4) - 1, 0), (0, 10**5), (0, Decimal("0.001")), (0, -(10**5) - 1)],
)
def test_a_number_that_does_not_fit_is_refused(level: int, value: Any) -> None:
    with pytest.raises(st.BadValue, match="in this key it must be"):
        texts(level, Decimal(value))


def test_ranges_over_zero(database: hashrange.Database) -> None:
    table.create(database)
    db = table.open(Readings, database)
    for number in range(-3, 4):
        db.put(Reading(sensor_id="s", level=number, value=Decimal(number) / 2))
    assert [r.level for r in db.above("s", -2)] == [-1, 0, 1, 2, 3]
    assert [r.level for r in db.between((Decimal("-0.5"), Decimal("0.5")))] == [-1, 0, 1]
    assert [r.level for r in db.below(Decimal("-0.5"))] == [-3, -2]
    assert not [f for f in st.lint(table).findings if f.rule == "K08"]
    with hashrange.connect() as empty:
        assert st.prove(table, empty).differences == []
