"""A transaction that reads sees one moment: items that are always changed together are equal."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from every_store import address

import hashrange
from hashrange import Database
from hashrange.model.errors import ValidationException

__all__ = ["address"]  # a fixture
READS = 40


@pytest.fixture
def db(address: str | None) -> Iterator[Database]:
    with hashrange.connect(address, durability="relaxed") as database:
        database.execute(
            "CreateTable",
            {
                "TableName": "table",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        yield database


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Another thread works over and over."""
    ended = threading.Event()

    def work_on() -> None:
        while not ended.is_set():
            work()

    worker = threading.Thread(target=work_on)
    worker.start()
    try:
        yield
    finally:
        ended.set()
        worker.join()


def write(db: Database, keys: list[str], number: int) -> None:
    """Give all items the same number in one transaction."""
    puts = [
        {"Put": {"TableName": "table", "Item": {"pk": {"S": key}, "n": {"N": str(number)}}}}
        for key in keys
    ]
    db.execute("TransactWriteItems", {"TransactItems": puts})


def with_gets(db: Database, keys: list[str]) -> list[Any]:
    gets = [{"Get": {"TableName": "table", "Key": {"pk": {"S": key}}}} for key in keys]
    answer = db.execute("TransactGetItems", {"TransactItems": gets})
    return [each.get("Item", {}).get("n", {}).get("N") for each in answer["Responses"]]


def with_statements(db: Database, keys: list[str]) -> list[Any]:
    statements = [{"Statement": f"SELECT * FROM \"table\" WHERE pk = '{key}'"} for key in keys]
    answer = db.execute("ExecuteTransaction", {"TransactStatements": statements})
    return [each.get("Item", {}).get("n", {}).get("N") for each in answer["Responses"]]


@pytest.mark.parametrize("items", [2, 5, 25, 100])
@pytest.mark.parametrize("read", [with_gets, with_statements])
def test_a_transaction_reads_one_moment(db: Database, read: Any, items: int) -> None:
    keys = [f"p{number}" for number in range(items)]
    numbers = count()
    with beside(lambda: write(db, keys, next(numbers))):
        torn = [found for _ in range(READS) if len(set(found := read(db, keys))) > 1]
    assert not torn, f"{len(torn)} of {READS} reads are torn"


def test_absent_items_are_of_the_same_moment(db: Database) -> None:
    """A key without an item counts like one with an item."""
    keys = [f"p{number}" for number in range(10)]
    deletes = [{"Delete": {"TableName": "table", "Key": {"pk": {"S": key}}}} for key in keys]

    def put_and_delete() -> None:
        write(db, keys, 1)
        db.execute("TransactWriteItems", {"TransactItems": deletes})

    with beside(put_and_delete):
        torn = [found for _ in range(READS) if len(set(found := with_gets(db, keys))) > 1]
    assert not torn, f"{len(torn)} of {READS} reads are torn"


def test_a_transaction_that_returns_too_much_is_refused(db: Database) -> None:
    """Also beside another that shares an item with it."""
    for number in range(12):
        item = {"pk": {"S": f"p{number}"}, "text": {"S": "x" * 390_000}}
        db.execute("PutItem", {"TableName": "table", "Item": item})
    refusals: list[str] = []

    def read(first: int, last: int) -> None:
        gets = [
            {"Get": {"TableName": "table", "Key": {"pk": {"S": f"p{number}"}}}}
            for number in range(first, last)
        ]
        try:
            answer = db.execute("TransactGetItems", {"TransactItems": gets})
            assert all(len(each["Item"]["text"]["S"]) == 390_000 for each in answer["Responses"])
        except ValidationException as refusal:
            refusals.append(refusal.message)

    readers = [threading.Thread(target=read, args=span) for span in ((0, 12), (1, 11)) * 4]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert refusals == refusals[:1] * 4
    assert "4 MB" in refusals[0]
