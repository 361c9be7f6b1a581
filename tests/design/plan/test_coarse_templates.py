"""A template that shows only part of a field never serves an argument for the whole field."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from planting import bug_in

import hashrange
from hashrange import design as st
from hashrange.design.plan import routes
from hashrange.design.plan.plans import Plan, Unplanned

from ..models import item, model, patterns

INVOICE = item(
    "I",
    "'t#{t}', 'inv#{day:%Y-%m}#{n:04d}'",
    "t: st.Slug; day: date; n: int; at: datetime | None = None",
)
READING = item(
    "R", "'r#{r}#{at:%Y-%m}', '{n:04d}'", "r: st.Slug; at: datetime; n: int; x: str = ''"
)
HOURLY = item("R", "'r#{r}', '{at:%Y-%m-%dT%H}#{n:04d}'", "r: st.Slug; at: datetime; n: int")
MOMENTS = item("R", "'r#{r}#{at:%Y-%m}', '{at}'", "r: st.Slug; at: datetime")
SHARED = item("S", "'all#{s|shard:2}', '{n:04d}'", "s: st.Slug; n: int")
REFUSED = {
    "a range of dates": INVOICE
    + patterns("def i(self, t: str, day: st.Between[date]) -> st.Query[I]: ..."),
    "a date": INVOICE + patterns("def i(self, t: str, day: date) -> st.Query[I]: ..."),
    "one item by date": INVOICE
    + patterns("def i(self, t: str, day: date, n: int) -> I | None: ..."),
    "a day in a month's partition": READING
    + patterns("def r(self, r: str, at: st.Day) -> st.Query[R]: ..."),
    "a moment in an hour": HOURLY
    + patterns("def r(self, r: str, at: datetime) -> st.Query[R]: ..."),
    "moments in an hour": HOURLY
    + patterns("def r(self, r: str, at: st.AtLeast[datetime]) -> st.Query[R]: ..."),
    "a month of a year": item("Y", "'y#{y}#{d:%Y}', '{n:04d}'", "y: st.Slug; d: date; n: int")
    + patterns("def y(self, y: str, d: st.Month) -> st.Query[Y]: ..."),
    "a shard": SHARED + patterns("def s(self, s: str) -> st.Query[S]: ..."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_the_reason(case: str) -> None:
    table = model(REFUSED[case])
    [plan] = table.plans.values()
    assert isinstance(plan, Unplanned)
    assert plan.error.rule == "K20"
    assert "only part of" in str(plan.error)


@pytest.mark.parametrize("case", REFUSED)
def test_prove_would_find_it(case: str) -> None:
    """Without the rule, wrong items are returned, and `prove` asks a question that shows it."""
    unchecked = bug_in(routes, "expect_exact", lambda *arguments: None)
    with unchecked, hashrange.connect() as database:
        assert st.prove(model(REFUSED[case]), database).differences


SERVED = {
    "a month": INVOICE + patterns("def i(self, t: str, day: st.Month) -> st.Query[I]: ..."),
    "one item of a month": INVOICE
    + patterns("def i(self, t: str, day: st.Month, n: int) -> I | None: ..."),
    "an hour": HOURLY + patterns("def r(self, r: str, at: st.Hour) -> st.Query[R]: ..."),
    "a day of hours": HOURLY + patterns("def r(self, r: str, at: st.Day) -> st.Query[R]: ..."),
    "hours since a date": HOURLY
    + patterns(
        "def r(self, r: str, a: Annotated[date, st.at_least('at')], "
        "b: Annotated[date, st.before('at')]) -> st.Query[R]: ..."
    ),
    "a day narrowed by the sort key": MOMENTS
    + patterns("def r(self, r: str, at: st.Day) -> st.Query[R]: ..."),
    "a moment in two parts": MOMENTS
    + patterns("def r(self, r: str, at: datetime) -> R | None: ..."),
    "a day of a natural key": item(
        "N", "st.attr('r'), st.attr('at')", "r: st.Slug; at: datetime"
    ) + patterns("def r(self, r: str, at: st.Day) -> st.Query[N]: ..."),
    "a date and a filter": INVOICE
    + patterns("@st.where('day = :day')\ndef i(self, t: str, day: date) -> st.Query[I]: ..."),
    "one item and a filter": INVOICE
    + patterns(
        "@st.where('day = :day')\ndef i(self, t: str, day: date, n: int) -> I | None: ..."
    ),
    "a partition and a filter": item(
        "D", "'d#{d}#{at:%Y-%m}', '{n:04d}'", "d: st.Slug; at: date; n: int"
    )
    + patterns("@st.where('at = :at')\ndef d(self, d: str, at: date) -> st.Query[D]: ..."),
    "a shard and a filter": SHARED
    + patterns("@st.where('s = :s')\ndef s(self, s: str) -> st.Query[S]: ..."),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", SERVED)
def test_arguments_that_fit_the_template_are_served(case: str, seed: int) -> None:
    table = model(SERVED[case])
    assert all(isinstance(plan, Plan) for plan in table.plans.values()), table.plan()
    with hashrange.connect() as database:
        proof = st.prove(table, database, seed=seed)
    assert proof.differences == []
    assert sum(proof.asked.values()) > 5


def test_the_request_of_a_month_a_day_and_an_hour() -> None:
    at = datetime(2024, 3, 31, 23, 30, tzinfo=UTC)
    for case, argument, asked in (
        ("a month", date(2024, 3, 31), "inv#2024-03#"),
        ("an hour", at, "2024-03-31T23#"),
        ("a day of hours", date(2024, 3, 31), "2024-03-31"),
        ("a day narrowed by the sort key", date(2024, 3, 31), "2024-03-31"),
    ):
        table = model(SERVED[case])
        [protocol] = table.protocols
        [pattern] = table.patterns[protocol]
        [(_, request)] = table.request(pattern.function, "1", argument).requests
        values: dict[str, Any] = request["ExpressionAttributeValues"]
        assert values[":s0"] == {"S": asked}


def test_a_filter_of_one_item_is_applied() -> None:
    """A GetItem has no filter, so a pattern with a filter is a Query."""
    table = model(
        item("A", "'a#{id}', 'info'", "id: st.Slug; x: str")
        + patterns("@st.where('x = :x')\ndef a(self, id: str, x: str) -> A | None: ...")
    )
    [protocol] = table.protocols
    with hashrange.connect() as database:
        table.create(database)
        db: Any = table.open(protocol, database)
        entity: Any = table.model.entities[0]
        db.put(entity.model(id="1", x="a"))
        assert db.a("1", "a") == entity.model(id="1", x="a")
        assert db.a("1", "b") is None


def test_an_alternative_does_not_narrow_the_key() -> None:
    """`day = :day OR n = :n` also holds for other days, so the key must not be narrowed by it."""
    table = model(
        INVOICE
        + patterns(
            "@st.where('day = :day OR n = :n')\n"
            "def i(self, t: str, day: date, n: int) -> st.Query[I]: ..."
        )
    )
    with hashrange.connect() as database:
        assert st.prove(table, database).differences == []


def test_lint_names_the_rule() -> None:
    report = st.lint(model(REFUSED["a date"]))
    assert [f.rule for f in report.findings if f.severity == "error"] == ["K20"]


def test_a_month_is_a_date() -> None:
    with pytest.raises(st.DeclarationError, match=r"st\.Month compares a date"):
        model(HOURLY + patterns("def r(self, r: str, at: Annotated[int, st.month('at')]) "
                                "-> st.Query[R]: ..."))  # fmt: skip
