"""Entries of an index are priced at their own size, also of an index that few items are in."""

from typing import Any, Literal, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.model.values import item_size

from .metered import Metered

BYTES = 4000
JOBS = 20


class Job(st.Item):
    key = st.key("job#{job_id}", "info")
    of_owner = st.index("GSI1", "owner#{owner}", "{job_id}", project="KEYS_ONLY")
    urgent = st.index(
        "GSI2", "urgent", "{job_id}", when="state = :open AND priority >= :least AND hot = :yes",
        open="OPEN", least=700, yes=True,
    )  # fmt: skip
    held = st.index("GSI3", "held#{holder}", "{job_id}", when="attribute_exists(holder)")

    job_id: st.Slug
    owner: st.Slug
    state: Literal["NEW", "OPEN", "DONE"] = "NEW"
    priority: int = 0
    hot: bool = False
    holder: st.Slug | None = None
    text: str = ""


class JobRef(st.View[Job]):
    job_id: str


class Jobs(st.Store, Protocol):
    @st.rate(10, items=JOBS, size=BYTES)
    @st.using(Job.of_owner)
    def of_owner(self, owner: str) -> st.Query[JobRef]: ...

    @st.rate(10, items=JOBS, size=BYTES)
    @st.using(Job.urgent)
    def urgent(self) -> st.Query[Job]: ...


def job(number: int, **fields: Any) -> Job:
    return Job(job_id=f"j{number:02d}", owner="o", text="x" * 3900, **fields)


table = st.Table(
    "jobs",
    Jobs,
    volumes=st.volumes(Job=st.total(JOBS, size=item_size(st.Table("jobs", Jobs).dump(job(1))))),
    writes=[st.writes(Job, create=1)],
)


@pytest.fixture
def metered() -> Metered:
    database = hashrange.connect()
    table.create(database)
    db = table.open(Jobs, database)
    for number in range(JOBS):
        db.put(job(number, state="OPEN", priority=700, hot=True, holder="h"))
    return Metered(database)


def test_a_pattern_of_an_index_of_keys_reads_keys(metered: Metered) -> None:
    assert len(list(table.open(Jobs, metered).of_owner("o"))) == JOBS
    line = st.cost(table).line("Jobs.of_owner")
    assert line.reads == metered.reads == {"GSI1": 0.5}


def test_a_write_is_priced_in_every_index_that_only_some_items_are_in(metered: Metered) -> None:
    one = job(99, state="OPEN", priority=701, hot=True, holder="h")
    table.open(Jobs, metered).create(one)
    cost = st.cost(table)
    line = cost.line("create Job")
    assert line.writes == metered.writes
    assert {*line.writes} == {"table", "GSI1", "GSI2", "GSI3"}
    stored = {line.source: line.size for line in cost.storage}
    assert stored["GSI2"] == stored["GSI3"] == stored["table"] > JOBS * BYTES
    assert stored["GSI1"] < JOBS * 300


def test_a_given_example_that_an_index_leaves_out_is_told(metered: Metered) -> None:
    table.open(Jobs, metered).create(job(99))
    line = st.cost(table, examples=[job(1)]).line("create Job")
    assert line.writes == metered.writes
    assert [note for note in line.notes if "GSI" in note] == [
        "no example of Job has an entry in GSI2, so writes to GSI2 are not counted",
        "no example of Job has an entry in GSI3, so writes to GSI3 are not counted",
    ]
