"""An index that a refusal proposes serves the pattern, together with the change it asks for."""

import re
from typing import Any

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.plan.plans import Plan, Unplanned

from ..models import item, model, patterns

FIELDS = (
    "id: st.Slug; x: str = ''; y: str = ''; n: int = 0; m: int = 0; d: date = date.min; "
    "at: datetime = datetime.max; price: Decimal = Decimal(0); s: set[str] = set()"
)
ENTITY = item("A", "'a#{id}', 'info'", FIELDS, "INDEX")
PATTERNS = {
    "equal": "def q(self, x: str, y: str) -> st.Query[A]: ...",
    "a number": "def q(self, n: int) -> st.Query[A]: ...",
    "a range of numbers": "def q(self, x: str, n: st.Between[int]) -> st.Query[A]: ...",
    "a range of decimals": "def q(self, x: str, price: st.AtLeast[Decimal]) -> st.Query[A]: ...",
    "a range of texts": "def q(self, x: str, y: st.AtLeast[str]) -> st.Query[A]: ...",
    "before a text": "def q(self, x: str, y: st.Before[str]) -> st.Query[A]: ...",
    "a prefix": "def q(self, x: str, y: st.Prefix[str]) -> st.Query[A]: ...",
    "only a range": "def q(self, at: st.AtLeast[datetime]) -> st.Query[A]: ...",
    "a month": "def q(self, d: st.Month, x: str) -> st.Query[A]: ...",
    "a day": "def q(self, at: st.Day) -> st.Query[A]: ...",
    "consistent": "@st.consistent\ndef q(self, x: str) -> st.Query[A]: ...",
    "two ranges": (
        "def q(self, x: str, n: st.AtLeast[int], m: st.AtLeast[int]) -> st.Query[A]: ..."
    ),
    "a range and a prefix": (
        "def q(self, x: str, n: st.AtLeast[int], y: st.Prefix[str]) -> st.Query[A]: ..."
    ),
    "two bounds": (
        "def q(self, x: str, a: Annotated[date, st.at_least('d')], "
        "b: Annotated[date, st.before('d')]) -> st.Query[A]: ..."
    ),
    "optional": "def q(self, x: str, y: str | None = None) -> st.Query[A]: ...",
    "one": "def q(self, x: str) -> A | None: ...",
    "a view": "def q(self, x: str) -> st.Query[V]: ...",
    "nothing": "def q(self) -> st.Query[A]: ...",
}
VIEW = "class V(st.View[A]):\n    id: str\n    y: str\n"


@pytest.mark.parametrize("case", PATTERNS)
def test_a_proposed_index_serves_the_pattern(case: str) -> None:
    refused = model(ENTITY.replace("INDEX", "pass") + VIEW + patterns(PATTERNS[case]))
    plan = refused.plans["P.q"]
    assert isinstance(plan, Unplanned)
    assert plan.proposal in str(plan.error)
    found = re.fullmatch(
        r"(without @st.consistent, )?A: (st\.index\(.*?\))(?:, with @st.where\((.*)\))?",
        plan.proposal,
    )
    assert found, plan.proposal
    text = PATTERNS[case]
    if found[1]:
        text = text.removeprefix("@st.consistent\n")
    if found[3]:
        text = f"@st.where({found[3]})\n{text}"
    served = model(ENTITY.replace("INDEX", f"i = {found[2]}") + VIEW + patterns(text))
    assert isinstance(served.plans["P.q"], Plan), (plan.proposal, str(served.plan()))
    errors = [f for f in st.lint(served).findings if f.severity == "error" and f.rule != "A05"]
    assert errors == []


def test_a_local_index_is_proposed_for_a_consistent_read() -> None:
    order = item("O", "'c#{c}', 'o#{o}'", "c: st.Slug; o: st.Slug; at: datetime", "INDEX")
    pattern = "@st.consistent\ndef q(self, c: str, at: st.AtLeast[datetime]) -> st.Query[O]: ..."
    plan = model(order.replace("INDEX", "pass") + patterns(pattern)).plans["P.q"]
    assert isinstance(plan, Unplanned)
    local = plan.proposal.removeprefix("O: ")
    assert local.startswith("st.local(")
    served = model(order.replace("INDEX", f"i = {local}") + patterns(pattern))
    assert isinstance(served.plans["P.q"], Plan)


def test_nothing_is_proposed_if_nothing_would_serve() -> None:
    text = ENTITY.replace("INDEX", "pass") + patterns(
        "def q(self, n: st.Between[int], m: st.Between[int]) -> st.Query[A]: ..."
    )
    plan = model(text).plans["P.q"]
    assert isinstance(plan, Unplanned)
    assert plan.proposal == ""
    assert "No single index would serve it" in str(plan.error)


def test_a_union_needs_the_index_in_each_entity() -> None:
    text = (
        item("A", "'a#{a}', 'info'", "a: st.Slug; x: str", "INDEX")
        + item("B", "'b#{b}', 'info'", "b: st.Slug; x: str", "INDEX")
        + patterns("def q(self, x: str) -> st.Query[A | B]: ...")
    )
    plan = model(text.replace("INDEX", "pass")).plans["P.q"]
    assert isinstance(plan, Unplanned)
    names, index = plan.proposal.split(": ", 1)
    assert names == "A and B"
    served = model(text.replace("INDEX", f"i = {index}"))
    assert isinstance(served.plans["P.q"], Plan)


ORDER = item(
    "O", "'c#{c}', 'o#{o}'", "c: st.Slug; o: st.Slug; x: str = ''; state: Literal['a', 'b'] = 'a'",
    "INDEX",
)  # fmt: skip
MONTHS = item("M", "'m#{id}#{at:%Y-%m}', '{at}'", "id: st.Slug; at: datetime")


@pytest.mark.parametrize(
    ("entity", "index", "pattern", "proposal"),
    [
        (MONTHS, "", "def q(self, id: str, at: st.Between[datetime]) -> st.Query[M]: ...",
         "@st.buckets(at_most=24)"),
        (ORDER, "i = st.index('idx', 'o#{state}', '{o}')", "def q(self) -> st.Query[O]: ...",
         '@st.scatter("state")'),
        (ORDER, "i = st.index('idx', 'x#{x}', '{o}', project=['c'])",
         "def q(self, x: str) -> st.Query[O]: ...", "add 'state' to project= of O.i"),
        (ORDER, "pass", "def q(self) -> st.Query[O]: ...",
         'O: st.index("GSI1", "O#{o|shard:10}", "{c}#{o}")'),
    ],
)  # fmt: skip
def test_no_index_is_proposed_where_less_will_do(
    entity: str, index: str, pattern: str, proposal: str
) -> None:
    plan = model(entity.replace("INDEX", index) + patterns(pattern)).plans["P.q"]
    assert isinstance(plan, Unplanned)
    assert plan.proposal.startswith(proposal)


def test_counts_include_no_other_entity() -> None:
    count = "@st.counts(A)\ndef q(self, x: str) -> int: ..."
    a = item("A", "'a#{id}'", "id: st.Slug; x: str", "INDEX")
    other = a.replace("class A", "class B").replace("'a#{id}'", "'b#{id}'")
    text = a.replace("INDEX", "i = st.index('idx', ('x',))") + other.replace("INDEX", "pass")
    table, database = model(text + patterns(count, table=", B")), hashrange.connect()
    table.create(database)
    store: Any = table.open(table.protocols[0], database)
    for entity in table.model.entities:
        store.put(entity.model.model_validate({"id": "1", "x": "x"}))
    assert store.q("x") == 1
    keys = (a + other).replace("INDEX", "i = st.index('idx', 'x#{x}', '{id}', project='KEYS_ONLY')")
    plan = model(keys + patterns(count, table=", B")).plans["P.q"]
    assert isinstance(plan, Unplanned)
    assert "B would be counted too" in plan.reason
