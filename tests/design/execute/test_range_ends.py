"""Ranges whose ends no key can hold return what a comparison of the values returns."""

import operator
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

import hashrange
from hashrange import design as st

from ..models import model

TEXT = """
class A(st.Item):
    key = st.key("all", "a#{id:02d}")
    by_padded = st.index("GSI1", "padded", "{padded:03d}")
    by_rest = st.index("GSI2", "rest", "{padded:03d}#{id:02d}")
    by_signed = st.index("GSI3", "signed", "n#{signed:+02d}")
    by_price = st.index("GSI4", "price", "{price:07.2f}")
    by_whole = st.index("GSI5", "whole", st.attr("whole"))
    by_exact = st.index("GSI6", "exact", st.attr("exact"))
    by_day = st.index("GSI7", "day", "{day}")
    by_at = st.index("GSI8", "at", "{at}#{id:02d}")
    by_name = st.index("GSI9", "name", "{text}")
    by_bare = st.index("GSI10", "bare", st.attr("bare"))
    by_balance = st.index("GSI11", "balance", "{balance:+06.1f}#{id:02d}")

    id: int
    padded: int
    signed: int
    price: Decimal
    whole: int
    exact: Decimal
    day: date
    at: datetime
    text: str
    bare: str
    balance: Decimal

class P(st.Store, Protocol):
"""
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "AtLeast": operator.ge, "After": operator.gt, "AtMost": operator.le, "Before": operator.lt,
}  # fmt: skip
UTC_MINUS_5 = timezone(timedelta(hours=-5))
HUGE = 10**40
FIELDS: dict[str, tuple[str, list[Any], list[Any]]] = {
    "padded": ("int", [0, 1, 999], [-1, -HUGE, 0, 1, 2, 999, 1000, 10**11, HUGE]),
    "rest": ("int", [], [-1, -HUGE, 0, 1, 2, 999, 1000, 10**11, HUGE]),
    "signed": ("int", [-100, 0, 99], [-HUGE, -101, -100, -99, 0, 99, 100, HUGE]),
    "price": ("Decimal", [Decimal(0), Decimal("1.23"), Decimal("9999.99")],
              [Decimal(x) for x in ("-1", "-0.001", "0", "0.001", "1.225", "1.23", "1.231",
                                    "9999.99", "9999.991", "1E+40", "1.2300000000000000000000"
                                    "000000000000000000000001", "Infinity", "-Infinity")]),
    "balance": ("Decimal", [Decimal("-1000.0"), Decimal("-0.1"), Decimal("999.9")],
                [Decimal(x) for x in ("-1E+40", "-1000", "-1000.01", "-999.99", "-0.15", "-0.1",
                                      "-0.05", "999.9", "999.95", "1000", "1E+40")]),
    "whole": ("int", [-5, 0, 10**38 - 1], [-HUGE, -5, 0, 1, 10**38 - 1, 10**38, HUGE]),
    "exact": ("Decimal", [Decimal("-0.1"), Decimal(0), Decimal("0.1")],
              [Decimal(x) for x in ("-1E+130", "-0.1", "0." + "1" * 50, "0.1", "0.0" + "9" * 50,
                                    "0", "1E-140", "-1E-140", "1E+130", "Infinity")]),
    "day": ("date", [date.min, date(2024, 1, 1), date.max],
            [date.min, date(2024, 1, 1), date(2024, 1, 2), date.max]),
    "at": ("datetime",
           [datetime(1, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)],
           [datetime(1, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC),
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
            datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC_MINUS_5)]),
    "text": ("str", ["a", "b", "\U0010fffe"], ["", "a", "aa", "b", "z", "\U0010ffff"]),
    "bare": ("str", ["a", "b", "y"], ["", "a", "aa", "b", "z"]),
}  # fmt: skip


def patterns() -> Iterator[str]:
    for name, (python, _, ends) in FIELDS.items():
        field, entry = name.replace("rest", "padded"), name.replace("text", "name")
        for marker in ("AtLeast", "After", "AtMost", "Before", "Between"):
            if ends and (name, marker) != ("text", "Before"):
                yield (
                    f"    @st.using(A.by_{entry})\n    def {name}_{marker}"
                    f"(self, {field}: st.{marker}[{python}]) -> st.Query[A]: ..."
                )


@pytest.fixture(scope="module")
def store() -> Any:
    table = model(TEXT + "\n".join(patterns()) + "\ntable = st.Table('ranges', P)")
    database = hashrange.connect()
    table.create(database)
    db: Any = table.open(table.protocols[0], database)
    [entity] = table.model.entities
    for number in range(3):
        values = {name: stored[number] for name, (_, stored, _) in FIELDS.items() if stored}
        db.put(entity.model.model_validate({"id": number, **values}))
    return db


@pytest.mark.parametrize("name", FIELDS)
def test_a_range_returns_what_a_comparison_of_the_values_returns(name: str, store: Any) -> None:
    _, stored, ends = FIELDS[name]
    stored = stored or FIELDS["padded"][1]
    for marker, compare in COMPARE.items():
        for end in ends if hasattr(store, f"{name}_{marker}") else ():
            found = [one.id for one in getattr(store, f"{name}_{marker}")(end)]
            expected = [n for n, value in enumerate(stored) if compare(value, end)]
            assert found == expected, (marker, end)
    for low, high in product(ends, ends):
        found = [one.id for one in getattr(store, f"{name}_Between")((low, high))]
        assert found == [n for n, value in enumerate(stored) if low <= value <= high], (low, high)


def test_what_is_no_number_is_refused(store: Any) -> None:
    for query in (store.price_AtLeast, store.balance_Before, store.exact_After):
        with pytest.raises(st.BadValue, match="NaN"):
            list(query(Decimal("NaN")))
