"""Ranges of whole months, days and hours."""

from datetime import UTC, date, datetime, timedelta
from typing import Protocol

import pytest

import hashrange
from hashrange import design as st


class Bill(st.Item):
    key = st.key("owner#{owner}", "{day}#{id}")
    by_time = st.index("GSI1", "sent#{owner}", "{sent}")

    owner: st.Slug
    id: st.Slug
    day: date
    sent: datetime


class Fee(st.Item):
    """Its key shows no more than the month."""

    key = st.key("fees#{owner}", "{day:%Y-%m}#{id}")

    owner: st.Slug
    id: st.Slug
    day: date


class Bills(st.Store, Protocol):
    def fees(self, owner: str, day: st.Between[st.Month]) -> st.Query[Fee]: ...
    def fees_from(self, owner: str, day: st.AtLeast[st.Month]) -> st.Query[Fee]: ...
    def fees_after(self, owner: str, day: st.After[st.Month]) -> st.Query[Fee]: ...
    def fees_until(self, owner: str, day: st.AtMost[st.Month]) -> st.Query[Fee]: ...
    def fees_before(self, owner: str, day: st.Before[st.Month]) -> st.Query[Fee]: ...
    def months(self, owner: str, day: st.Between[st.Month]) -> st.Query[Bill]: ...
    def months_from(self, owner: str, day: st.AtLeast[st.Month]) -> st.Query[Bill]: ...
    def months_after(self, owner: str, day: st.After[st.Month]) -> st.Query[Bill]: ...
    def months_until(self, owner: str, day: st.AtMost[st.Month]) -> st.Query[Bill]: ...
    def months_before(self, owner: str, day: st.Before[st.Month]) -> st.Query[Bill]: ...
    def sent_in_months(self, owner: str, sent: st.Between[st.Month]) -> st.Query[Bill]: ...
    def sent_on_days(self, owner: str, sent: st.Between[st.Day]) -> st.Query[Bill]: ...
    def sent_until(self, owner: str, sent: st.AtMost[st.Day]) -> st.Query[Bill]: ...
    def sent_after(self, owner: str, sent: st.After[st.Hour]) -> st.Query[Bill]: ...


table = st.Table("bills", Bills)
FEBRUARY, MARCH = date(2024, 2, 10), date(2024, 3, 20)
DAYS = [date(2024, 1, 31), date(2024, 2, 1), date(2024, 2, 29), date(2024, 3, 1), date(2024, 3, 31)]
DAYS += [date(2024, 4, 1)]
LAST = timedelta(hours=23, minutes=59, seconds=59, microseconds=999_999)
HOUR = datetime(2024, 3, 1, 23, 30, tzinfo=UTC)


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pattern", "given", "found"),
    [
        ("months", (FEBRUARY, MARCH), DAYS[1:5]),
        ("months", (FEBRUARY, FEBRUARY), DAYS[1:3]),
        ("months", (MARCH, FEBRUARY), []),
        ("months_from", FEBRUARY, DAYS[1:]),
        ("months_after", FEBRUARY, DAYS[3:]),
        ("months_until", FEBRUARY, DAYS[:3]),
        ("months_before", FEBRUARY, DAYS[:1]),
        ("fees", (FEBRUARY, MARCH), DAYS[1:5]),
        ("fees_from", FEBRUARY, DAYS[1:]),
        ("fees_after", FEBRUARY, DAYS[3:]),
        ("fees_until", FEBRUARY, DAYS[:3]),
        ("fees_before", FEBRUARY, DAYS[:1]),
        ("sent_in_months", (FEBRUARY, MARCH), DAYS[1:5]),
        ("sent_on_days", (DAYS[2], DAYS[3]), DAYS[2:4]),
        ("sent_until", DAYS[3], DAYS[:4]),
        ("sent_after", HOUR, DAYS[4:]),
    ],
)
def test_no_unit_is_divided(
    pattern: str, given: object, found: list[date], database: hashrange.Database
) -> None:
    table.create(database)
    db = table.open(Bills, database)
    for n, day in enumerate(DAYS):
        db.put(Bill(owner="o", id=str(n), day=day, sent=midnight(day) + LAST))
        db.put(Fee(owner="o", id=str(n), day=day))
    assert [bill.day for bill in getattr(db, pattern)("o", given)] == found


def test_prove_covers_them() -> None:
    with hashrange.connect() as database:
        proof = st.prove(table, database)
    assert proof.differences == []


def test_two_operators_do_not_go_together() -> None:
    class Twice(st.Store, Protocol):
        def bills(self, owner: str, day: st.AtLeast[st.Before[date]]) -> st.Query[Bill]: ...

    with pytest.raises(st.DeclarationError, match="cannot be combined"):
        st.Table("twice", Twice)
