"""Reads of one moment over asynchronous stores, and pages that show entries with their items."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import hashrange
from hashrange import Database

TABLE = "accounts"
READS = 12
LARGE = "x" * 20_000
"""A hundred items of this size are more than one step of a read."""


@pytest.fixture(
    params=[
        "memory",
        pytest.param("postgresql", marks=pytest.mark.slow),
        pytest.param("citus", marks=pytest.mark.slow),
    ]
)
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    fixture = "in_memory" if request.param == "memory" else "dsn"
    address = request.getfixturevalue(fixture) + "&dialect=citus" * (request.param == "citus")
    with hashrange.connect(address, durability="relaxed") as database:
        yield database


def key(number: int) -> dict[str, Any]:
    return {"pk": {"S": f"p{number}"}, "sk": {"S": "s"}}


def create(db: Database) -> None:
    local = {
        "IndexName": "by-round",
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "round", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    types = {"pk": "S", "sk": "S", "round": "N"}
    request = {
        "TableName": TABLE,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "LocalSecondaryIndexes": [local],
        "BillingMode": "PAY_PER_REQUEST",
    }
    db.execute("CreateTable", request)


def write_all(db: Database, count: int, round_: int) -> None:
    """All items get the number of the round; in each third round they are deleted."""
    actions = []
    for number in range(count):
        item = {**key(number), "round": {"N": str(round_)}, "text": {"S": LARGE}}
        deletion = {"Delete": {"TableName": TABLE, "Key": key(number)}}
        actions.append({"Put": {"TableName": TABLE, "Item": item}} if round_ % 3 else deletion)
    db.execute("TransactWriteItems", {"TransactItems": actions})


def transact_get(db: Database, count: int) -> list[Any]:
    gets = [{"Get": {"TableName": TABLE, "Key": key(number)}} for number in range(count)]
    return list(db.execute("TransactGetItems", {"TransactItems": gets})["Responses"])


def execute_transaction(db: Database, count: int) -> list[Any]:
    select = "SELECT * FROM accounts WHERE pk = ? AND sk = ?"
    statements = [
        {"Statement": select, "Parameters": list(key(number).values())} for number in range(count)
    ]
    return list(db.execute("ExecuteTransaction", {"TransactStatements": statements})["Responses"])


def rounds_of(responses: list[Any]) -> set[str]:
    return {response.get("Item", {}).get("round", {}).get("N", "none") for response in responses}


class Writing:
    """Writes round after round in a thread. It raises what a write has raised."""

    def __init__(self, write: Callable[[int], None]) -> None:
        self._write = write
        self._over = threading.Event()
        self._executor = ThreadPoolExecutor(1)

    def __enter__(self) -> None:
        self._write(1)
        self._done = self._executor.submit(self._go_on)

    def _go_on(self) -> None:
        round_ = 2
        while not self._over.is_set():
            self._write(round_)
            round_ += 1

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._done.result()
        self._executor.shutdown()


@pytest.mark.parametrize("read", [transact_get, execute_transaction])
@pytest.mark.parametrize("count", [5, 25, 100])
def test_a_transaction_reads_one_moment(
    db: Database, count: int, read: Callable[[Database, int], list[Any]]
) -> None:
    create(db)
    torn = 0
    with Writing(lambda round_: write_all(db, count, round_)):
        for _ in range(READS):
            torn += len(rounds_of(read(db, count))) > 1
    assert torn == 0, f"{torn} of {READS} reads have items of several moments"


def test_a_page_of_a_local_index_has_the_items_of_its_entries(db: Database) -> None:
    """A Scan of the index fetches items of several slots, while they are deleted and put."""
    create(db)
    scan = {"TableName": TABLE, "IndexName": "by-round", "Select": "ALL_ATTRIBUTES"}

    def write(round_: int) -> None:
        for number in random.Random(round_).sample(range(12), 12):
            if round_ % 2:
                item = {**key(number), "round": {"N": str(round_)}, "text": {"S": "x"}}
                db.execute("PutItem", {"TableName": TABLE, "Item": item})
            else:
                db.execute("DeleteItem", {"TableName": TABLE, "Key": key(number)})

    with Writing(write):
        for _ in range(3 * READS):
            for item in db.execute("Scan", scan)["Items"]:
                assert item["text"] == {"S": "x"}
