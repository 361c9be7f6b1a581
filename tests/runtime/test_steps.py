"""Operations on many items read them in steps, no more of them than they need, and free them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from running import TABLE, Request, create_table, key
from tracing import TracedStore

from hashrange import Database, kv
from hashrange.engine import fetch
from hashrange.engine.keyspace.rows import Row
from hashrange.model.errors import TransactionCanceledException, ValidationException


@pytest.fixture
def traced(store: kv.Store) -> TracedStore:
    return TracedStore(store)


@pytest.fixture
def database(traced: TracedStore) -> Iterator[Database]:
    with Database(traced) as database:
        create_table(database.execute)
        traced.trace.clear()
        yield database


def put_large(database: Database, count: int, size: int = 380 * 1024) -> list[Request]:
    keys = [key(f"large{number}") for number in range(count)]
    for each in keys:
        item = each | {"text": {"S": "x" * size}}
        database.execute("PutItem", {"TableName": TABLE, "Item": item})
    return keys


def checks(keys: list[Request]) -> Request:
    check = {
        "TableName": TABLE,
        "ConditionExpression": "contains(#t, :v)",
        "ExpressionAttributeNames": {"#t": "text"},
        "ExpressionAttributeValues": {":v": {"S": "absent"}},
    }
    return {"TransactItems": [{"ConditionCheck": check | {"Key": each}} for each in keys]}


def gets(keys: list[Request]) -> Request:
    return {"TransactItems": [{"Get": {"TableName": TABLE, "Key": each}} for each in keys]}


@pytest.mark.parametrize(
    ("operation", "request_of", "megabytes"),
    [("TransactWriteItems", checks, 16), ("TransactGetItems", gets, 4)],
)
def test_a_transaction_is_refused_before_all_its_items_are_read(
    database: Database,
    traced: TracedStore,
    operation: str,
    request_of: Callable[[list[Request]], Request],
    megabytes: int,
) -> None:
    keys = put_large(database, 80)
    traced.bytes_read = 0
    with pytest.raises(ValidationException, match=f" {megabytes} MB"):
        database.execute(operation, request_of(keys))
    assert 0 < traced.bytes_read <= megabytes * 1024 * 1024 + 5 * 400 * 1024
    with pytest.raises(TransactionCanceledException):  # below the limit, conditions decide
        database.execute("TransactWriteItems", checks(keys[:40]))


def test_batch_get_item_reads_in_steps_and_no_more_than_it_answers(
    database: Database, traced: TracedStore
) -> None:
    keys = put_large(database, 60)
    traced.trace.clear()
    wanted = {"Keys": keys, "ProjectionExpression": "pk"}
    answer = database.execute("BatchGetItem", {"RequestItems": {TABLE: wanted}})
    found, left = answer["Responses"][TABLE], answer["UnprocessedKeys"][TABLE]["Keys"]
    assert len(found) == 16 * 1024 * 1024 // (380 * 1024 + 20)
    assert [*found, *({"pk": each["pk"]} for each in left)] == [{"pk": k["pk"]} for k in keys]
    reads = traced.gets("snapshot")
    first, *others = [len(each.keys) for each in reads]
    assert first <= 4
    assert max(others) <= 3  # about a megabyte
    assert sum(len(each.keys) for each in reads) <= len(found) + 3


def test_a_read_frees_each_large_item_before_it_decodes_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoded, an item of 400 KB may take 90 MB."""
    held: set[int] = set()
    most = 0
    decode, forget = vars(Row)["item"].fget, Row.forget

    def noted(row: Row) -> Any:
        nonlocal most
        held.add(id(row))
        most = max(most, len(held))
        return decode(row)

    def forgotten(row: Row) -> None:
        held.discard(id(row))
        forget(row)

    monkeypatch.setattr(Row, "item", property(noted))
    monkeypatch.setattr(Row, "forget", forgotten)
    keys = put_large(database, 8)
    wanted = {"Keys": keys, "ProjectionExpression": "pk"}
    database.execute("BatchGetItem", {"RequestItems": {TABLE: wanted}})
    database.execute("Scan", {"TableName": TABLE, "ProjectionExpression": "pk"})
    assert most == 1


def test_a_filtered_page_lets_others_run_after_each_long_row(
    database: Database, traced: TracedStore
) -> None:
    put_large(database, 20, 30 * 1024)
    traced.trace.clear()
    request = {
        "TableName": TABLE,
        "FilterExpression": "contains(#t, :v) OR contains(#t, :v)",
        "ExpressionAttributeNames": {"#t": "text"},
        "ExpressionAttributeValues": {":v": {"S": "absent"}},
    }
    assert database.execute("Scan", request)["Count"] == 0
    assert [read for _, read in traced.trace].count(fetch.PAUSE) >= 19
