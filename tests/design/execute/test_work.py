"""`db.transact`: a function whose reads are checked when its writes are committed."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Protocol

import pytest
from pydantic import Field

import hashrange
from hashrange import design as st


class Account(st.Item):
    key = st.key("account#{name}", "info")
    by_group = st.index("GSI1", "group#{group}", "{name}")
    name: st.Slug
    group: st.Slug = "g"
    balance: Annotated[int, Field(ge=0)] = 0
    note: str | None = None


class Bank(st.Store, Protocol):
    def account(self, name: str) -> Account | None: ...
    def first(self, group: str) -> Account | None: ...


class AsyncBank(st.AsyncStore, Protocol):
    async def account(self, name: str) -> Account | None: ...


table = st.Table("bank", Bank, AsyncBank)


@pytest.fixture(params=["in process", "boto3"])
def db(request: pytest.FixtureRequest, database: hashrange.Database) -> Bank:
    client = database.boto3_session().client("dynamodb")
    table.create(database)
    db = table.open(Bank, database if request.param == "in process" else client)
    for name in "ab":
        db.create(Account(name=name, balance=100))
    return db


def balances(db: Bank) -> list[int | None]:
    return [one.balance if one else None for one in db.get_many(db.account, "abc")]


def pay(db: Bank, source: str, to: str, amount: int) -> Callable[[st.Work], int]:
    def work(t: st.Work) -> int:
        one, other = t.get(db.account, source), t.get(db.account, to)
        assert one is not None
        t.save(one.replace(balance=one.balance - amount))
        if other is None:
            t.create(Account(name=to, balance=amount))
        else:
            t.add(other, balance=amount)
        return one.balance - amount

    return work


def test_reads_and_writes_are_one_transaction(db: Bank) -> None:
    assert db.transact(pay(db, "a", "b", 30)) == 70
    assert db.transact(pay(db, "a", "c", 20)) == 50
    assert balances(db) == [50, 130, 20]


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (lambda db: db.add(Account(name="a"), balance=5), [95, 110, None]),
        (lambda db: db.add(Account(name="b"), balance=5), [90, 115, None]),
        (lambda db: db.delete(db.account, "b"), [90, 10, None]),
    ],
)
def test_work_is_done_again_after_a_lost_race(
    change: Callable[[Bank], object], after: list[int | None], db: Bank
) -> None:
    calls = 0

    def work(t: st.Work) -> None:
        nonlocal calls
        calls += 1
        one, other = t.get(db.account, "a"), t.get(db.account, "b")
        assert one is not None
        if calls == 1:
            change(db)
        t.save(one.replace(balance=one.balance - 10))
        if other is None:
            t.create(Account(name="b", balance=10))
        else:
            t.save(other.replace(balance=other.balance + 10))

    db.transact(work)
    assert calls == 2
    assert balances(db) == after


@pytest.mark.parametrize("there", [False, True])
def test_an_item_that_is_only_read_is_checked_even_if_absent(there: bool, db: Bank) -> None:
    if there:
        db.create(Account(name="c"))
    calls = 0

    def work(t: st.Work) -> str:
        nonlocal calls
        calls += 1
        known = t.get(db.account, "c")
        if calls == 1:
            db.put(Account(name="c", note="new"))
        t.add(Account(name="a"), balance=-1)
        return "absent" if known is None else str(known.note)

    assert db.transact(work) == "new"
    assert (calls, balances(db)[0]) == (2, 99)


def test_work_without_writes_sees_one_snapshot(db: Bank) -> None:
    calls = 0

    def total(t: st.Work) -> int:
        nonlocal calls
        calls += 1
        one = t.get(db.account, "a")
        if calls == 1:
            db.transact(pay(db, "a", "b", 10))
        other = t.get(db.account, "b")
        return sum(each.balance for each in (one, other) if each is not None)

    assert db.transact(total) == 200
    assert calls == 2


def test_errors_that_are_no_race_are_raised_at_once(db: Bank) -> None:
    calls = 0

    def work(t: st.Work, amount: int, *, create: bool = False) -> None:
        nonlocal calls
        calls += 1
        one = t.get(db.account, "a")
        assert one is not None
        if create:
            t.create(Account(name="b"))
        t.add(one, balance=-amount)

    with pytest.raises(st.ConditionFailed, match=r"balance=-1: it must be >= 0"):
        db.transact(work, 101)
    with pytest.raises(st.AlreadyExists):
        db.transact(work, 1, create=True)
    with pytest.raises(TypeError):
        db.transact(work)  # type: ignore[call-arg]
    assert (calls, balances(db)) == (2, [100, 100, None])


def test_work_reads_by_primary_key_only(db: Bank) -> None:
    def work(t: st.Work) -> None:
        t.get(db.first, "g")

    with pytest.raises(st.BadValue, match=r"Bank\.first.*primary key"):
        db.transact(work)


class Failing:
    """A database whose transactions end with an error after they were done."""

    def __init__(self, database: hashrange.Database) -> None:
        self.database, self.sent = database, 0

    def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        answer = self.database.execute(operation, payload)
        if operation == "TransactWriteItems":
            self.sent += 1
            raise TimeoutError("no answer")
        return answer


def test_work_with_an_unknown_outcome_is_not_done_again(database: hashrange.Database) -> None:
    table.create(database)
    failing = Failing(database)
    db = table.open(Bank, failing)
    db.create(Account(name="a", balance=100))
    with pytest.raises(TimeoutError):
        db.transact(pay(db, "a", "b", 10))
    assert failing.sent == 1
    assert balances(db) == [90, 10, None]


@pytest.mark.usefixtures("no_pauses")
def test_a_race_that_is_always_lost_ends(db: Bank) -> None:
    def work(t: st.Work) -> None:
        one = t.get(db.account, "a")
        db.add(Account(name="a"), balance=1)
        t.put(Account(name="b", balance=one.balance if one else 0))

    with pytest.raises(
        st.Conflict, match="in each of 10 attempts, another program wrote the same items"
    ):
        db.transact(work)
    assert balances(db) == [110, 100, None]


def test_threads_neither_lose_nor_make_money(database: hashrange.Database) -> None:
    table.create(database)
    db = table.open(Bank, database)
    for name in "abc":
        db.create(Account(name=name, balance=100))

    def move(number: int) -> None:
        for step in range(10):
            source, to = "abc"[(number + step) % 3], "abc"[(number + step + 1) % 3]
            db.transact(pay(db, source, to, 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(move, range(4)))
    assert sum(balance or 0 for balance in balances(db)) == 300


def test_asynchronous_work(database: hashrange.Database) -> None:
    table.create(database)
    table.open(Bank, database).create(Account(name="a"))
    db = table.open(AsyncBank, database)

    async def count(t: st.AsyncWork, amount: int) -> int:
        one = await t.get(db.account, "a")
        assert one is not None
        await asyncio.sleep(0)
        t.save(one.replace(balance=one.balance + amount))
        return one.balance + amount

    async def go() -> list[int]:
        return await asyncio.gather(*(db.transact(count, 1) for _ in range(5)))

    assert sorted(asyncio.run(go())) == [1, 2, 3, 4, 5]
