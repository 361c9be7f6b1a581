"""Patterns that read several partitions: units of time, known values, one shard of several."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, Protocol

import pytest
from pydantic import Field

import hashrange
from hashrange import design as st
from hashrange.design.errors import (
    BadValue,
    DeclarationError,
    EmptyBuckets,
    InvalidCursor,
    Unserved,
)


class State(StrEnum):
    OPEN = "open"
    LATE = "late"
    DONE = "done"


class Reading(st.Item):
    key = st.key("sensor#{sensor}#{at:%Y-%m}", "{at}")
    by_day = st.index("GSI1", "day#{at:%d.%m.%Y}#{sensor|shard:3}", "{at}#{sensor}")

    sensor: st.Slug
    at: datetime


class Total(st.Item):
    key = st.key("total#{sensor}#{day}", "{kind}")

    sensor: st.Slug
    day: date
    kind: st.Slug


class Job(st.Item):
    key = st.key("job#{job_id}", "job")
    by_state = st.index("GSI2", "jobs#{state}", "{due}#{job_id}")
    by_shard = st.index("GSI3", "due#{job_id|shard:8}", "{due}#{job_id}")
    by_lane = st.index("GSI4", "lane#{lane}", "{due}#{job_id}")
    by_owner = st.index("GSI5", "owner#{owner}", "{state}#{due}")

    job_id: st.Slug
    owner: st.Slug = "ann"
    state: State = State.OPEN
    due: date
    lane: Annotated[int, Field(ge=0, lt=4)] = 0


class Store(st.Store, Protocol):
    @st.buckets(at_most=4)
    def readings(self, sensor: str, at: st.Between[datetime]) -> st.Query[Reading]: ...

    @st.buckets(at_most=4)
    def since(
        self, sensor: str, start: Annotated[datetime, st.at_least("at")]
    ) -> st.Query[Reading]: ...

    @st.buckets(at_most=4)
    @st.latest
    def last(self, sensor: str) -> Reading | None: ...

    @st.buckets(at_most=4)
    @st.latest
    def last_before(self, sensor: str, at: st.Before[datetime]) -> Reading | None: ...

    @st.buckets(at_most=4)
    @st.latest
    def last_between(self, sensor: str, at: st.Between[datetime]) -> Reading | None: ...

    @st.buckets(at_most=4)
    @st.counts(Reading)
    def count(self, sensor: str, at: st.Between[datetime]) -> int: ...

    @st.buckets(at_most=40)
    @st.latest
    def daily(self, at: st.Between[datetime]) -> st.Query[Reading]: ...

    @st.buckets(at_most=10)
    def totals(self, sensor: str, day: st.Between[date]) -> st.Query[Total]: ...

    @st.buckets(at_most=10)
    def totals_after(
        self, sensor: str, after: Annotated[date, st.after("day")],
        until: Annotated[date, st.at_most("day")],
    ) -> st.Query[Total]: ...  # fmt: skip

    def in_states(self, state: st.AnyOf[State], due: st.AtMost[date]) -> st.Query[Job]: ...

    @st.scatter("state")
    def all_jobs(self, due: st.AtMost[date]) -> st.Query[Job]: ...

    @st.scatter("state")
    @st.latest
    def newest(self) -> Job | None: ...

    @st.scatter("state")
    @st.counts(Job)
    def number(self) -> int: ...

    @st.scatter("lane")
    def lanes(self) -> st.Query[Job]: ...

    def owned(self, owner: str, state: st.AnyOf[State]) -> st.Query[Job]: ...
    def jobs(self, job_id: st.AnyOf[str]) -> st.Query[Job]: ...
    def mine(self, shard: st.Shard, due: st.AtMost[date]) -> st.Query[Job]: ...


table = st.Table("spread", Store)
START = datetime(2024, 1, 15, 12, tzinfo=UTC)
TIMES = [START + timedelta(days=11 * n) for n in range(12)]
DAY = START.date()


@pytest.fixture(scope="module")
def db() -> Store:
    database = hashrange.connect()
    table.create(database)
    store = table.open(Store, database)
    for number, at in enumerate(TIMES):
        store.put(Reading(sensor="s", at=at))
        store.put(Total(sensor="s", day=at.date(), kind="a"))
        store.put(Job(job_id=f"j{number}", due=DAY + timedelta(days=number % 5),
                      lane=number % 4, state=list(State)[number % 3]))  # fmt: skip
    return store


def pages(query: Any, size: int) -> list[Any]:
    found, cursor = [], None
    while True:
        page = query.page(size, cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


def all_jobs(db: Store) -> Sequence[Job]:
    return [job for n in range(12) for job in db.jobs([f"j{n}"])]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_range_over_months(db: Store, size: int) -> None:
    low, high = TIMES[1], TIMES[8]
    wanted = TIMES[1:9]
    query = db.readings("s", (low, high))
    assert [one.at for one in query] == wanted
    assert [one.at for one in query.reverse()] == wanted[::-1]
    assert [one.at for one in pages(query, size)] == wanted
    assert [one.at for one in pages(query.reverse(), size)] == wanted[::-1]
    assert [one.at for one in query.limit(3)] == wanted[:3]
    assert db.count("s", (low, high)) == len(wanted)
    assert [one.at for one in pages(db.daily((low, low + timedelta(30))), size)] == wanted[2::-1]


def test_a_longer_range_is_refused(db: Store) -> None:
    high = datetime(2024, 5, 1, tzinfo=UTC)
    assert [one.at for one in db.readings("s", (START, high - timedelta(microseconds=1)))]
    with pytest.raises(BadValue, match="5 months"):
        db.readings("s", (START, high)).first()
    assert list(db.readings("s", (high, START))) == []
    with pytest.raises(BadValue, match="up to the present has"):
        db.since("s", START).first()


def test_excluded_ends_leave_out_their_bucket(db: Store) -> None:
    days = [at.date() for at in TIMES]
    found = db.totals_after("s", days[0], days[1] - timedelta(1))
    assert not list(found)
    assert len(found.explain().requests) == 10
    assert [one.day for one in db.totals("s", (days[0], days[0] + timedelta(9)))] == days[:1]
    with pytest.raises(BadValue, match="11 days"):
        db.totals("s", (days[0], days[0] + timedelta(10))).first()


def test_the_latest_steps_back(db: Store) -> None:
    after_gap = datetime(2024, 8, 20, tzinfo=UTC)
    last = db.last_before("s", after_gap)
    assert last is not None
    assert last.at == TIMES[-1]
    last = db.last_before("s", datetime(2024, 3, 1, tzinfo=UTC))
    assert last is not None
    assert last.at == max(at for at in TIMES if at.month < 3)
    with pytest.raises(EmptyBuckets, match="no item in the last 4 months"):
        db.last_before("s", datetime(2025, 8, 20, tzinfo=UTC))
    with pytest.raises(EmptyBuckets):
        db.last("s")
    assert db.last_between("s", (after_gap, after_gap)) is None


def test_the_present_is_the_end(db: Store) -> None:
    now = datetime.now(UTC)
    times = [now - timedelta(minutes=2 * n) for n in range(3)]
    for at in times:
        db.put(Reading(sensor="now", at=at))
    assert [one.at for one in db.since("now", now - timedelta(1))] == times[::-1]
    last = db.last("now")
    assert last is not None
    assert last.at == now


def test_a_cursor_keeps_both_ends(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    query: Any = db.since("s", START)
    builder = query._bound.builder
    builder.clock = lambda: TIMES[8]
    try:
        first = query.page(2)
        builder.clock = lambda: datetime(2024, 5, 2, tzinfo=UTC)
        assert [one.at for one in query.page(100, first.cursor)] == [
            at for at in TIMES[2:] if at.month <= TIMES[8].month
        ]
        with pytest.raises(BadValue, match="5 months"):
            query.page(2)
        builder.clock = lambda: TIMES[3]
        with pytest.raises(InvalidCursor):
            query.page(2, first.cursor)  # it comes from the future
    finally:
        del builder.clock
    with pytest.raises(InvalidCursor, match="with these arguments"):
        db.readings("s", (TIMES[0], TIMES[1])).page(2, first.cursor)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_several_known_values_are_merged_in_order(db: Store, size: int) -> None:
    end = DAY + timedelta(3)
    fitting = sorted((j for j in all_jobs(db) if j.due <= end), key=lambda j: (j.due, j.job_id))
    query = db.in_states({State.LATE, State.OPEN}, end)
    assert list(query) == [job for job in fitting if job.state != State.DONE]
    assert pages(query, size) == list(query)
    assert pages(db.all_jobs(end), size) == fitting
    assert list(db.all_jobs(end).reverse()) == fitting[::-1]
    assert db.newest() == max(all_jobs(db), key=lambda j: (j.due, j.job_id))
    assert db.number() == 12
    assert len(list(db.lanes())) == 12
    assert len(list(db.owned("ann", [State.LATE, State.DONE]))) == 8


def test_given_values(db: Store) -> None:
    assert list(db.in_states([], DAY)) == []
    assert len(list(db.jobs(["j1", "j2", "j1", "none"]))) == 2
    one, other = (db.in_states(states, DAY + timedelta(9)) for states in
                  ([State.OPEN, State.LATE], [State.LATE, State.OPEN]))  # fmt: skip
    cursor = one.page(2).cursor
    assert other.page(2, cursor).items == list(one)[2:4]
    for wrong in ("open", ["broken"], [None]):
        with pytest.raises(BadValue):
            db.in_states(wrong, DAY)  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="at most 100"):
        db.jobs([f"j{n}" for n in range(101)]).first()


def test_workers_read_one_shard_each(db: Store) -> None:
    end = DAY + timedelta(9)
    found = [[job.job_id for job in db.mine(number, end)] for number in range(8)]
    assert sorted(job for jobs in found for job in jobs) == sorted(j.job_id for j in all_jobs(db))
    assert len(db.mine(3, end).explain().requests) == 1
    for number in (-1, 8):
        with pytest.raises(BadValue, match="0 to 7"):
            db.mine(number, end).first()


def test_prove_covers_them() -> None:
    proof = st.prove(table, hashrange.connect())
    assert not proof.differences, str(proof)


def refused(text: str, **methods: Any) -> None:
    store = type("S", (st.Store, Protocol), methods)
    with pytest.raises((Unserved, DeclarationError), match=text):
        st.Table("refused", store, Job, Reading).open(store, hashrange.connect())


def test_what_they_cannot_do_is_refused() -> None:
    @st.buckets(at_most=4)
    def endless(self: Any, at: st.AtMost[datetime]) -> st.Query[Reading]:
        raise NotImplementedError

    @st.buckets(at_most=4)
    def none(self: Any, job_id: str) -> Job | None: ...

    @st.scatter("owner")
    def free(self: Any) -> st.Query[Job]: ...  # type: ignore[empty-body]

    @st.scatter("sate")
    def unknown(self: Any) -> st.Query[Job]: ...  # type: ignore[empty-body]

    def several(self: Any, job_id: st.AnyOf[str]) -> Job | None: ...

    refused("needs a start", endless=endless)
    refused("put a unit of time, such as", none=none)
    refused("the values of owner are not known", free=free)
    refused("sate is not a field", unknown=unknown)


class Kind(st.Item):
    key = st.key("kind#{kind}", "{name}")
    kind: Literal["a", "b"]
    name: st.Slug


class Other(st.Item):
    key = st.key("kind#{kind}", "other#{name}")
    kind: Literal["b", "c"]
    name: st.Slug


class Kinds(st.Store, Protocol):
    @st.scatter("kind")
    def of_all(self) -> st.Query[Kind | Other]: ...


def test_all_values_of_several_entities() -> None:
    database, kinds = hashrange.connect(), st.Table("kinds", Kinds)
    kinds.create(database)
    db = kinds.open(Kinds, database)
    for item in (Kind(kind="a", name="1"), Other(kind="c", name="2"), Kind(kind="b", name="3")):
        db.put(item)
    assert {type(one).__name__ + one.name for one in db.of_all()} == {"Kind1", "Other2", "Kind3"}
