"""The two larger examples: every pattern and function, the linter's findings, and the proof."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import hashrange
from hashrange import design as st
from hashrange.testing import TestClock

from .test_examples import connection, example

__all__ = ["connection"]
pytestmark = pytest.mark.slow
FINDINGS = {
    "repositories": {"I14 Issue.still_open", "I14 PullRequest.still_open", "K19 GSI 2"},
    "tasks": {
        "A06 Tracker.last_reading", "A07 Reading", "C07 Tracker.feed", "I07 Assignment.of_user",
        "K04 Reading", "R04 Reading", "R04 Reservation",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FINDINGS)
def test_lint(name: str) -> None:
    report = st.lint(example(name).table)
    assert {f"{f.rule} {f.where}" for f in report.findings} == FINDINGS[name]
    assert not report.failed


@pytest.mark.deep
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", FINDINGS)
def test_prove(name: str, seed: int, database: hashrange.Database) -> None:
    proof = st.prove(example(name).table, database, seed=seed)
    assert not proof.failed, proof
    assert len(proof.asked) >= 15


# ---- repositories ----


def test_repositories(connection: Any) -> None:
    m = example("repositories")
    m.table.create(connection)
    db = m.table.open(m.Hub, connection)
    for login in ("ann", "bob"):
        db.create(m.User(login=login, email=f"{login}@example.com"))
    db.create(m.Organisation(org="acme", title="Acme"))
    with pytest.raises(st.NotUnique):
        db.create(m.Organisation(org="ann", title="a user has this login"))
    db.create(m.Membership(org="acme", member="ann", role="owner"))
    db.create(m.Repository(owner="ann", name="tool"))
    db.create(m.Repository(owner="acme", name="site"))
    assert db.user("ann").email == "ann@example.com"
    assert db.organisation("acme").title == "Acme"
    assert [x.member for x in db.members("acme")] == ["ann"]
    assert [x.title for x in db.organisations_of("ann")] == ["Acme"]
    assert [type(x) for x in db.profile("ann")] == [m.User, m.Repository]

    m.give_star(db, "ann", "tool", "bob")
    with pytest.raises(st.AlreadyExists):
        m.give_star(db, "ann", "tool", "bob")
    m.give_star(db, "acme", "site", "bob")
    assert db.repository("ann", "tool").stars == 1
    assert db.star("ann", "tool", "bob")
    assert [x.login for x in db.stargazers("ann", "tool")] == ["bob"]
    assert [x.name for x in db.starred("bob")] == ["tool", "site"]
    m.take_star(db, "ann", "tool", "bob")
    with pytest.raises(st.ConditionFailed):
        m.take_star(db, "ann", "tool", "bob")
    assert db.repository("ann", "tool").stars == 0

    m.fork(db, "ann", "tool", "bob")
    with pytest.raises(st.AlreadyExists):
        m.fork(db, "ann", "tool", "bob")
    assert [x.by for x in db.forks("ann", "tool")] == ["bob"]
    assert [x.forked_from for x in db.repositories("bob")] == ["ann/tool"]
    assert db.repository("ann", "tool").forks == 1


def test_issues_and_pull_requests(connection: Any) -> None:
    m = example("repositories")
    m.table.create(connection)
    db = m.table.open(m.Hub, connection)
    db.create(m.Repository(owner="ann", name="tool"))
    first = m.open_issue(db, "ann", "tool", "bob", "it breaks")
    m.open_issue(db, "ann", "tool", "bob", "it is slow")
    pull = m.open_pull_request(db, "ann", "tool", "bob", "make it fast")
    assert (first.number, pull.number) == (1, 3)
    assert db.repository("ann", "tool").open_issues == 2
    m.close_issue(db, first)
    with pytest.raises(st.Conflict):
        m.close_issue(db, first)
    assert db.repository("ann", "tool").open_issues == 1
    assert [x.number for x in db.issues("ann", "tool")] == [1, 2]
    assert [x.number for x in db.open_issues("ann", "tool")] == [2]
    assert db.issue("ann", "tool", 1).status == "closed"
    assert [x.number for x in db.open_pull_requests("ann", "tool")] == [3]
    m.merge(db, "ann", "tool", 3)
    with pytest.raises(st.ConditionFailed):
        m.merge(db, "ann", "tool", 3)
    assert db.pull_request("ann", "tool", 3).status == "merged"
    assert list(db.open_pull_requests("ann", "tool")) == []
    assert [x.number for x in db.pull_requests("ann", "tool")] == [3]
    assert [x.text for x in db.comments("ann", "tool", 3)] == ["merged"]
    assert [x.number for x in db.work_of("bob")] == [3, 2, 1]


def test_numbers_are_given_once(database: hashrange.Database) -> None:
    m = example("repositories")
    m.table.create(database)
    db = m.table.open(m.Hub, database)
    db.create(m.Repository(owner="ann", name="tool"))
    with ThreadPoolExecutor(8) as pool:
        opened = [
            pool.submit(m.open_issue, db, "ann", "tool", "bob", f"issue {n}") for n in range(40)
        ]
    numbers = []
    for one in opened:
        try:
            numbers.append(one.result().number)
        except st.Conflict:
            continue  # two transactions at once on the repository: the caller tries again
    assert len(set(numbers)) == len(numbers) == db.repository("ann", "tool").open_issues
    assert len(list(db.issues("ann", "tool"))) == len(numbers)


# ---- tasks ----


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def tracker(clock: TestClock) -> Iterator[Any]:
    m = example("tasks")
    with hashrange.connect(clock=clock) as database:
        m.table.create(database)
        db = m.table.open(m.Tracker, database)
        for tenant in ("t1", "t2"):
            db.create(m.Tenant(tenant_id=tenant, title=tenant))
            db.create(m.Project(tenant_id=tenant, project_id="p", title="P"))
        yield m, db


def test_tenants_see_their_own(tracker: Any) -> None:
    m, db = tracker
    db.create(m.User(tenant_id="t1", user_id="u", email="Ann@Example.com", name="Ann"))
    with pytest.raises(st.NotUnique):
        db.create(m.User(tenant_id="t2", user_id="u", email="ann@example.com", name="Ann"))
    assert db.tenant("t1").title == "t1"
    assert [u.name for u in db.users("t1")] == ["Ann"]
    assert list(db.users("t2")) == []
    assert [p.title for p in db.projects("t1")] == ["P"]
    assert db.delete_tree(m.Project(tenant_id="t1", project_id="p", title="")) == {"Project": 1}


def test_tasks_are_assigned_flagged_and_due(tracker: Any) -> None:
    m, db = tracker
    for n in ("1", "2"):
        db.create(m.User(tenant_id="t1", user_id=n, email=f"{n}@example.com", name=f"User {n}"))
    soon = datetime.now(UTC) + timedelta(days=1)
    one = db.create(m.Task(tenant_id="t1", project_id="p", title="one", due=soon))
    two = db.create(m.Task(tenant_id="t1", project_id="p", title="two", flagged=True))
    for user, task in (("1", one), ("2", one), ("1", two)):
        m.assign(db, task, user)
    assert {t.title for t in db.tasks("t1", "p")} == {"one", "two"}
    assert [t.title for t in db.flagged("t1")] == ["two"]
    assert [t.title for t in db.due_before("t1", soon)] == ["one"]
    assert {a.user_name for a in db.assignees("t1", "p", one.task_id)} == {"User 1", "User 2"}
    assert {t.title for t in db.tasks_of("t1", "1")} == {"one", "two"}
    with db.edit(db.user, "t1", "1") as user:
        user.name = "Ann"
    assert {a.user_name for a in db.assignees("t1", "p", one.task_id)} == {"Ann", "User 2"}
    with db.edit(db.task, "t1", "p", one.task_id) as task:
        task.status = "done"
    assert list(db.due_before("t1", soon)) == []
    assert db.task("t1", "p", one.task_id).changed > one.changed
    found = db.delete_tree(m.Project(tenant_id="t1", project_id="p", title=""))
    assert found == {"Assignment": 3, "Task": 2, "Project": 1}


def test_sessions_expire(tracker: Any, clock: TestClock) -> None:
    m, db = tracker
    user = db.create(m.User(tenant_id="t1", user_id="u", email="a@b", name="Ann"))
    m.log_in(db, user, "long", timedelta(hours=1))
    m.log_in(db, user, "past", timedelta(hours=-1))
    assert db.session("t1", "long").user_id == "u"
    assert db.session("t1", "past") is None


def test_parts_are_reserved_while_there_are_enough(tracker: Any) -> None:
    m, db = tracker
    task = db.create(m.Task(tenant_id="t1", project_id="p", title="one"))
    db.create(m.Part(tenant_id="t1", part_id="bolt", stock=5))
    m.reserve(db, task, "bolt", 4)
    other = db.create(m.Task(tenant_id="t1", project_id="p", title="two"))
    with pytest.raises(st.ConditionFailed):
        m.reserve(db, other, "bolt", 2)
    assert db.part("t1", "bolt").stock == 1
    assert [r.count for r in db.parts_of("t1", "p", task.task_id)] == [4]
    assert list(db.parts_of("t1", "p", other.task_id)) == []


def test_the_feed_and_the_readings_are_in_order(tracker: Any) -> None:
    m, db = tracker
    start = datetime(2026, 1, 31, 23, tzinfo=UTC)
    for n in range(20):
        at = start + timedelta(minutes=n)
        db.create(m.Event(tenant_id="t1", at=at, text=str(n)))
        later = start + timedelta(minutes=10 * n)
        db.put(m.Reading(tenant_id="t1", device_id="d", at=later, value=Decimal(n)))
    assert [e.text for e in db.feed("t1").page(5)] == ["19", "18", "17", "16", "15"]
    assert [r.value for r in db.readings("t1", "d", start.date())] == list(range(6))
    february = datetime(2026, 2, 1, tzinfo=UTC).date()
    assert db.last_reading("t1", "d", february).value == 19
