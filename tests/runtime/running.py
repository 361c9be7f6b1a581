"""A table, a few requests, and stores that count commits or hold them back."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Any

from hashrange import kv
from hashrange.runtime.clock import Clock

TABLE = "items"
HELD_SECONDS_MAX = 300.0
"""Longer than any test waits."""

Request = dict[str, Any]
Execute = Callable[[str, Request], Request]


def standing() -> Clock:
    """A clock by which nothing takes any time, so that nothing is cut for the time it takes."""
    return Clock(timer=lambda: 0.0)


def create_table(execute: Execute, name: str = TABLE, **members: Any) -> None:
    """A table with the keys `pk` and `sk`, both S."""
    names = {"pk": "HASH", "sk": "RANGE"}
    request = {
        "TableName": name,
        "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, kind in names.items()],
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in names],
        "BillingMode": "PAY_PER_REQUEST",
    }
    execute("CreateTable", request | members)


def add_index(execute: Execute, name: str = TABLE, index: str = "by-color") -> None:
    """An index by the attribute `color`, to be built."""
    create = {
        "IndexName": index,
        "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    request = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "color", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": create}],
    }
    execute("UpdateTable", request)


def index_status(execute: Execute, name: str = TABLE) -> str:
    table = execute("DescribeTable", {"TableName": name})["Table"]
    status: str = table["GlobalSecondaryIndexes"][0]["IndexStatus"]
    return status


def key(pk: str, sk: str = "-") -> Request:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def put(pk: str, sk: str = "-", table: str = TABLE, **attributes: str) -> Request:
    """A PutItem of strings."""
    item = key(pk, sk) | {name: {"S": value} for name, value in attributes.items()}
    return {"TableName": table, "Item": item}


def get(pk: str, sk: str = "-", table: str = TABLE) -> Request:
    return {"TableName": table, "Key": key(pk, sk)}


def increment(pk: str, sk: str = "-", table: str = TABLE) -> Request:
    """An UpdateItem that adds 1 to `n`."""
    return get(pk, sk, table) | {
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }


def count(execute: Execute, pk: str) -> int:
    item = execute("GetItem", get(pk)).get("Item", {"n": {"N": "0"}})
    return int(item["n"]["N"])


def scanned(execute: Execute, **members: Any) -> list[Request]:
    """All items of a table or an index, over all pages."""
    request: Request = {"TableName": TABLE, **members}
    items = []
    while True:
        page = execute("Scan", request)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


class WatchedStore:
    """A store around another that looks at each transaction before it commits."""

    slow_commits = True

    def __init__(self, store: kv.Store) -> None:
        self.store = store
        self.commits = 0

    def snapshot(self, brief: bool = False, /) -> kv.Snapshot:
        return self.store.snapshot(brief)

    def glance(self, one: kv.Key, other: kv.Key, /) -> tuple[bytes | None, bytes | None]:
        return self.store.glance(one, other)

    def begin(self, wait: bool = True, /) -> kv.Transaction:
        return _WatchedTransaction(self, self.store.begin(wait))

    def backup(self, path: str, /, compact: bool = False) -> None:
        self.store.backup(path, compact)

    def verify(self) -> Iterator[str]:
        return self.store.verify()

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        return self.store.scrub(seconds)

    def elected(self) -> bool:
        return True

    def figures(self) -> dict[str, int]:
        return self.store.figures()

    def close(self) -> None:
        self.store.close()

    def commit(self, transaction: kv.Transaction, writes: Sequence[kv.Write]) -> None:
        self.commits += 1
        transaction.commit()


class _WatchedTransaction:
    def __init__(self, watched: WatchedStore, transaction: kv.Transaction) -> None:
        self._watched = watched
        self._transaction = transaction
        self._writes: list[kv.Write] = []

    def read(self, read: kv.Read, /) -> kv.Answer:
        return self._transaction.read(read)

    def write(self, writes: Sequence[kv.Write], /) -> None:
        self._writes += writes
        self._transaction.write(writes)

    def commit(self) -> None:
        self._watched.commit(self._transaction, self._writes)

    def rollback(self) -> None:
        self._transaction.rollback()


class HeldStore(WatchedStore):
    """While `held`, a commit says that it was `reached` and waits for `go`."""

    def __init__(self, store: kv.Store) -> None:
        super().__init__(store)
        self.held = False
        self.reached = Event()
        self.go = Event()

    def commit(self, transaction: kv.Transaction, writes: Sequence[kv.Write]) -> None:
        if self.held:
            self.reached.set()
            assert self.go.wait(HELD_SECONDS_MAX)
        super().commit(transaction, writes)


class RecordingStore(WatchedStore):
    """Remembers how many writes of each kind every commit had."""

    def __init__(self, store: kv.Store) -> None:
        super().__init__(store)
        self.recorded: list[Counter[type]] = []
        self.purged: list[int] = []

    def commit(self, transaction: kv.Transaction, writes: Sequence[kv.Write]) -> None:
        self.recorded.append(Counter(map(type, writes)))
        self.purged += [write.rows_max for write in writes if isinstance(write, kv.Purge)]
        super().commit(transaction, writes)
