"""A transaction with a token is executed once in ten minutes, however often it is sent."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from other_process import other_process
from running import count, create_table, increment

import hashrange
from hashrange import Database, kv
from hashrange.model.errors import (
    IdempotentParameterMismatchException,
    TransactionCanceledException,
)
from hashrange.runtime import source
from hashrange.runtime.clock import Clock
from hashrange.testing import TestClock

NOON = 1_800_000_000.25
TEN_MINUTES = 600


def transaction(token: str = "token", pk: str = "a") -> dict[str, Any]:
    update = increment(pk)
    return {"TransactItems": [{"Update": update}], "ClientRequestToken": token}


@pytest.fixture
def wall() -> TestClock:
    return TestClock(NOON)


@pytest.fixture
def database(store: kv.Store, wall: TestClock) -> Iterator[Database]:
    with Database(store, clock=Clock(wall.now)) as database:
        create_table(database.execute)
        yield database


def system_rows(store: kv.Store) -> int:
    snapshot = store.snapshot()
    rows = source.page(snapshot, kv.Range(kv.SYSTEM_SPACE, b"", None)).rows
    snapshot.close()
    return len(rows)


def forget_old(database: Database) -> None:
    while b"false" in database.runtime.call_upkeep("upkeep.ForgetTokens", b"{}"):
        pass


def test_twice_in_one_batch(database: Database) -> None:
    async def scenario() -> None:
        transactions = (
            database.execute_async("TransactWriteItems", transaction()) for _ in range(10)
        )
        await asyncio.gather(*transactions)

    asyncio.run(scenario())
    assert count(database.execute, "a") == 1


def test_another_payload(database: Database) -> None:
    database.execute("TransactWriteItems", transaction())
    with pytest.raises(IdempotentParameterMismatchException):
        database.execute("TransactWriteItems", transaction(pk="b"))

    async def scenario() -> list[Any]:
        transactions = (
            database.execute_async("TransactWriteItems", transaction("new", pk)) for pk in "bcb"
        )
        return list(await asyncio.gather(*transactions, return_exceptions=True))

    outcomes = asyncio.run(scenario())
    assert outcomes[0] == outcomes[2] == {}
    assert isinstance(outcomes[1], IdempotentParameterMismatchException)
    assert [count(database.execute, pk) for pk in "abc"] == [1, 1, 0]


def conditional(pk: str = "a") -> dict[str, Any]:
    """A transaction that is cancelled as long as there is no such item."""
    found = transaction(pk=pk)
    found["TransactItems"][0]["Update"]["ConditionExpression"] = "attribute_exists(pk)"
    return found


def cancel(database: Database, request: dict[str, Any]) -> None:
    with pytest.raises(TransactionCanceledException):
        database.execute("TransactWriteItems", request)


def mismatch(database: Database, request: dict[str, Any]) -> None:
    with pytest.raises(IdempotentParameterMismatchException):
        database.execute("TransactWriteItems", request)


def test_a_cancelled_transaction_keeps_its_token_for_ten_minutes(
    database: Database, wall: TestClock, store: kv.Store
) -> None:
    before = system_rows(store)
    cancel(database, conditional())
    wall.advance(TEN_MINUTES - 0.001)
    cancel(database, conditional())
    mismatch(database, transaction())
    wall.advance(0.001)
    database.execute("TransactWriteItems", transaction(pk="b"))
    mismatch(database, conditional())
    assert [count(database.execute, pk) for pk in "ab"] == [0, 1]
    wall.advance(TEN_MINUTES + 1)
    forget_old(database)
    assert system_rows(store) == before


def test_a_transaction_that_is_no_longer_cancelled_has_its_ten_minutes(
    database: Database, wall: TestClock, store: kv.Store
) -> None:
    cancel(database, conditional())
    rows = system_rows(store)
    wall.advance(TEN_MINUTES - 1)
    database.execute("TransactWriteItems", transaction("other"))
    database.execute("TransactWriteItems", conditional())
    wall.advance(TEN_MINUTES - 2)
    forget_old(database)
    database.execute("TransactWriteItems", conditional())
    assert count(database.execute, "a") == 2
    assert system_rows(store) == rows + 2


def test_cancelled_in_a_batch(database: Database) -> None:
    """Each request of a batch sees the tokens of those before it, cancelled or not."""

    async def scenario() -> list[Any]:
        together = [conditional(), transaction(), transaction("other"), conditional()]
        transactions = (database.execute_async("TransactWriteItems", each) for each in together)
        return list(await asyncio.gather(*transactions, return_exceptions=True))

    cancelled, other, first, repeated = asyncio.run(scenario())
    assert isinstance(cancelled, TransactionCanceledException)
    assert isinstance(other, IdempotentParameterMismatchException)
    assert first == repeated == {}
    assert count(database.execute, "a") == 2


def test_ten_minutes(database: Database, wall: TestClock) -> None:
    database.execute("TransactWriteItems", transaction())
    wall.advance(TEN_MINUTES - 0.001)
    database.execute("TransactWriteItems", transaction())
    assert count(database.execute, "a") == 1
    wall.advance(0.001)
    database.execute("TransactWriteItems", transaction())
    assert count(database.execute, "a") == 2


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_token_used_again_has_its_ten_minutes(
    database: Database, wall: TestClock, store: kv.Store, forgotten: bool
) -> None:
    """Late upkeep forgets the first use, not the second."""
    database.execute("TransactWriteItems", transaction())
    rows = system_rows(store)
    wall.advance(TEN_MINUTES + 1)
    if forgotten:
        forget_old(database)
    database.execute("TransactWriteItems", transaction(pk="b"))
    wall.advance(1)
    forget_old(database)
    database.execute("TransactWriteItems", transaction(pk="b"))
    assert count(database.execute, "b") == 1
    assert system_rows(store) == rows


def test_old_tokens_are_forgotten(database: Database, wall: TestClock, store: kv.Store) -> None:
    before = system_rows(store)
    for number in range(20):
        database.execute("TransactWriteItems", transaction(str(number)))
    wall.advance(TEN_MINUTES)
    database.execute("TransactWriteItems", transaction("young"))
    wall.advance(1)
    forget_old(database)
    assert system_rows(store) == before + 2
    database.execute("TransactWriteItems", transaction("young"))
    assert count(database.execute, "a") == 21


def test_across_a_restart(path: str, wall: TestClock) -> None:
    for _ in range(3):
        with hashrange.connect(path, clock=Clock(wall.now)) as database:
            if not database.execute("ListTables", {})["TableNames"]:
                create_table(database.execute)
            database.execute("TransactWriteItems", transaction())
            with pytest.raises(IdempotentParameterMismatchException):
                database.execute("TransactWriteItems", transaction(pk="b"))
            assert count(database.execute, "a") == 1
            cancelled = conditional("c") | {"ClientRequestToken": "cancelled"}
            cancel(database, cancelled)
            mismatch(database, transaction("cancelled"))
        wall.advance(100)


def test_across_processes(path: str, wall: TestClock) -> None:
    with hashrange.connect(path, clock=Clock(wall.now)) as one, other_process(path) as other:

        def send(pk: str = "a") -> None:
            other.ask(execute=["TransactWriteItems", transaction(pk=pk)], at=wall.now())

        create_table(one.execute)
        one.execute("TransactWriteItems", transaction())
        send()
        with pytest.raises(RuntimeError, match="IdempotentParameterMismatch"):
            send(pk="b")
        wall.advance(TEN_MINUTES)
        send(pk="b")
        with pytest.raises(IdempotentParameterMismatchException):
            one.execute("TransactWriteItems", transaction())
        assert [count(one.execute, pk) for pk in "ab"] == [1, 1]
