"""Transactions take every kind of write, of any item, over several tables."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st

from .users import Post, User

pytestmark = pytest.mark.slow


class Account(st.Item):
    key = st.key("account#{number}", "info")

    number: st.Slug
    balance: int = 0
    note: str | None = None
    version: st.Version = 0


class Entry(st.Item):
    key = st.key(st.attr("day"), st.attr("number"))

    day: str
    number: int
    amount: int = 0


class App(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    def post(self, post_id: str) -> Post | None: ...
    def posts(self, user_id: str) -> st.Query[Post]: ...
    def account(self, number: str) -> Account | None: ...


class Journal(st.Store, Protocol):
    def entry(self, day: str, number: int) -> Entry | None: ...


table = st.Table("app", App)
journal_table = st.Table("journal", Journal)
Stored = Callable[[st.Table], list[dict[str, Any]]]


@pytest.fixture(params=["in process", "boto3"])
def stores(request: pytest.FixtureRequest, database: hashrange.Database) -> tuple[App, Journal]:
    table.create(database)
    journal_table.create(database)
    client = database.boto3_session().client("dynamodb")
    connection = database if request.param == "in process" else client
    return table.open(App, connection), journal_table.open(Journal, connection)


@pytest.fixture
def db(stores: tuple[App, Journal]) -> App:
    return stores[0]


def test_every_kind_of_write(stores: tuple[App, Journal]) -> None:
    db, journal = stores
    for number in "abcdef":
        db.create(Account(number=number, balance=10))
    stored = db.account("a")
    assert stored
    changed = stored.replace(note="saved")
    with db.transaction(journal) as t:
        t.save(changed)
        t.add(Account(number="b"), balance=-3)
        with t.edit(db.account, "c") as account:
            account.balance += 1
        t.update(db.account, lambda account: setattr(account, "note", "updated"), "d")
        with t.patch(db.account, "e") as blank:
            blank.note = "patched"
        t.delete(db.account, "f")
        t.create(Account(number="g"))
        t.put(Entry(day="today", number=1, amount=3))
        t.check(Account(number="b"), "balance >= :least", least=10)
    assert changed.note == "saved"
    assert changed.version == 2
    balances = {n: found.balance for n in "abcdefg" if (found := db.account(n))}
    assert balances == {"a": 10, "b": 7, "c": 11, "d": 10, "e": 10, "g": 0}
    notes = [found.note for n in "ade" if (found := db.account(n))]
    assert notes == ["saved", "updated", "patched"]
    assert journal.entry("today", 1) == Entry(day="today", number=1, amount=3)


def test_all_or_nothing(stores: tuple[App, Journal], database: hashrange.Database) -> None:
    db, journal = stores
    db.create(Account(number="a", balance=1))
    transaction = db.transaction(journal)
    t = transaction.__enter__()
    t.put(Entry(day="today", number=1))
    t.add(Account(number="a"), balance=-3)
    t.check(Account(number="a"), "balance >= :least", least=3)
    with pytest.raises(st.ConditionFailed, match="balance >= :least"):
        transaction.__exit__(None, None, None)
    assert journal.entry("today", 1) is None
    account = db.account("a")
    assert account
    assert account.balance == 1
    with pytest.raises(ZeroDivisionError), db.transaction() as t, t.edit(db.account, "a") as item:
        item.balance = 1 // 0
    assert db.account("a") == account


def test_several_writes_of_one_item_become_one(db: App, database: hashrange.Database) -> None:
    account = db.create(Account(number="a", balance=10))
    changed = account.replace(note="x")
    with db.transaction() as t:
        t.check(account, "balance >= :least", least=5)
        t.save(changed)
        t.add(account, balance=-2)
        t.add(account, balance=-3)
    assert (changed.balance, changed.note) == (5, "x")
    assert changed == db.account("a")
    fresh = Account(number="b", balance=1)
    with db.transaction() as t:
        t.create(fresh)
        t.add(fresh, balance=4)
    stored = db.account("b")
    assert stored
    assert stored.balance == 5
    with db.transaction() as t:
        t.check(stored, "balance = :b", b=5)
        t.delete(stored)
    assert db.account("b") is None
    with db.transaction() as t:
        t.delete(changed)
        t.create(Account(number="a", balance=99))
    again = db.account("a")
    assert again
    assert again.balance == 99


def test_two_users_swap_their_email(db: App, stored: Stored) -> None:
    one = db.create(User(user_id="1", email="a"))
    two = db.create(User(user_id="2", email="b"))
    first, second = one.replace(email="b"), two.replace(email="a")
    with db.transaction() as t:
        t.save(first)
        t.save(second)
    owners = {
        i["pk"]["S"].rpartition("#")[2]: i["owner"]["M"]["pk"]["S"]
        for i in stored(table)
        if "owner" in i
    }
    assert owners == {"a": "user#2", "b": "user#1"}
    with db.transaction() as t:
        t.delete(first)
        t.create(User(user_id="3", email="b"))
    transaction = db.transaction()
    t = transaction.__enter__()
    t.create(User(user_id="4", email="z"))
    t.create(User(user_id="5", email="z"))
    with pytest.raises(st.NotUnique):
        transaction.__exit__(None, None, None)
    with pytest.raises(st.NotUnique), db.transaction() as t:
        t.create(User(user_id="6", email="a"))


def test_copies_come_from_owners_of_the_same_transaction(db: App) -> None:
    with db.transaction() as t:
        t.create(Post(post_id="1", user_id="1"))
        t.create(Post(post_id="2", user_id="1"))
        t.create(User(user_id="1", name="Ann"))
    assert [post.author for post in db.posts("1")] == ["Ann", "Ann"]
    user = db.user("1")
    assert user
    with db.transaction() as t:
        t.create(Post(post_id="3", user_id="1"))
        t.save(user.replace(name="Bob"))
    assert [post.author for post in db.posts("1")] == ["Bob", "Bob", "Bob"]


@pytest.mark.parametrize("token", [None, "once"])
def test_an_update_is_repeated_after_a_lost_race(db: App, token: str | None) -> None:
    db.create(Account(number="a"))
    attempts = []

    def change(account: Account) -> None:
        attempts.append(account.balance)
        if len(attempts) < 3:
            db.add(Account(number="a"), balance=10)
        account.balance += 1

    with db.transaction(token=token) as t:
        t.update(db.account, change, "a")
        t.create(Account(number="b"))
    assert attempts == [0, 10, 20]
    account = db.account("a")
    assert account
    assert account.balance == 21


def test_a_transaction_takes_a_hundred_items(db: App) -> None:
    with db.transaction() as t:
        for number in range(100):
            t.create(Account(number=f"n{number}"))
    transaction = db.transaction()
    t = transaction.__enter__()
    for number in range(101):
        t.create(Account(number=f"m{number}"))
    with pytest.raises(st.BadValue, match="at most 100"):
        transaction.__exit__(None, None, None)


def test_a_read_transaction_is_one_snapshot(stores: tuple[App, Journal]) -> None:
    db, journal = stores
    db.create(Account(number="a", balance=10))
    journal.put(Entry(day="today", number=1, amount=5))
    with db.read_transaction() as reads:
        account = reads.get(db.account, "a")
        missing = reads.get(db.account, number="x")
        entry = reads.get(journal.entry, "today", 1)
        again = reads.get(db.account, "a")
    assert account.item == again.item == db.account("a")
    assert missing.item is None
    assert entry.item
    assert entry.item.amount == 5
    with pytest.raises(st.BadValue, match="primary key"), db.read_transaction() as reads:
        reads.get(db.posts, "1")
    with db.read_transaction() as reads:
        early = reads.get(db.account, "a")
        with pytest.raises(LookupError):
            _ = early.item


def test_an_asynchronous_store_does_the_same(database: hashrange.Database) -> None:
    class AsyncApp(st.AsyncStore, Protocol):
        async def account(self, number: str) -> Account | None: ...

    async def use() -> None:
        async_table = st.Table("app", AsyncApp)
        async_table.create(database)
        db = async_table.open(AsyncApp, database)
        await db.create(Account(number="a", balance=10))
        async with db.transaction() as t:
            t.add(Account(number="a"), balance=5)
            async with t.edit(db.account, "a") as account:
                account.note = "edited"
            t.create(Account(number="b"))
            async with t.patch(db.account, "b") as blank:
                blank.note = "patched"
        async with db.read_transaction() as reads:
            one, two = reads.get(db.account, "a"), reads.get(db.account, "b")
        assert one.item
        assert two.item
        assert (one.item.balance, one.item.note, two.item.note) == (15, "edited", "patched")

    asyncio.run(use())


def test_an_item_of_another_table_needs_its_store(db: App) -> None:
    with pytest.raises(st.BadValue, match="is not an item of 'app'"), db.transaction() as t:
        t.put(Entry(day="today", number=1))
