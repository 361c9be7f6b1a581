"""Capacity of reads: per item or per page, by consistency, from the table or an index."""

from typing import Any

import pytest

from .capacity import KB, Arms, arms, filled
from .support import NewTable, Table, call, cases, gsi, item, lsi

READ = 4 * KB

# (bytes of the item or None, units of an eventually consistent read)
GETS: list[tuple[int | None, float]] = [
    (None, 0.5),
    (20, 0.5),
    (READ, 0.5),
    (READ + 1, 1.0),
    (2 * READ, 1.0),
    (10 * READ + 1, 5.5),
]


@pytest.mark.parametrize("consistent", [False, True])
@cases("size, units", GETS)
def test_capacity_of_get_item(
    table: Table, size: int | None, units: float, consistent: bool
) -> None:
    if size:
        table.put(filled(size, pk="a"))
    for more in ({}, {"ProjectionExpression": "pk"}, {"ProjectionExpression": "q"}):
        response = table.call(
            "GetItem",
            Key=item(pk="a"),
            ConsistentRead=consistent,
            ReturnConsumedCapacity="INDEXES",
            **more,
        )
        assert arms(response["ConsumedCapacity"]) == {"table": units * (1 + consistent)}


@pytest.mark.parametrize("consistent", [False, True])
def test_a_batch_rounds_each_item(new_table: NewTable, consistent: bool) -> None:
    first, second = new_table("pk"), new_table("pk")
    first.put(filled(READ + 1, pk="a"), filled(20, pk="b"))
    second.put(filled(READ + 1, pk="a"))
    request = {"ConsistentRead": consistent, "ProjectionExpression": "pk"}
    response = call(
        first.client,
        "BatchGetItem",
        RequestItems={
            first.name: {"Keys": [item(pk=name) for name in ("a", "b", "absent")], **request},
            second.name: {"Keys": [item(pk="a")], **request},
        },
        ReturnConsumedCapacity="INDEXES",
    )
    costs = {entry["TableName"]: arms(entry) for entry in response["ConsumedCapacity"]}
    assert costs == {
        first.name: {"table": (1.0 + 0.5 + 0.5) * (1 + consistent)},
        second.name: {"table": 1.0 * (1 + consistent)},
    }


# (bytes of the item or None, units)
TRANSACTION_GETS: list[tuple[int | None, float]] = [
    (None, 2.0),
    (READ, 2.0),
    (READ + 1, 4.0),
]


@cases("size, units", TRANSACTION_GETS)
def test_a_transaction_costs_double(table: Table, size: int | None, units: float) -> None:
    if size:
        table.put(filled(size, pk="a"))
    response = call(
        table.client,
        "TransactGetItems",
        TransactItems=[{"Get": {"TableName": table.name, "Key": item(pk="a")}}],
        ReturnConsumedCapacity="TOTAL",
    )
    assert response["ConsumedCapacity"] == [
        {"TableName": table.name, "CapacityUnits": units, "ReadCapacityUnits": units}
    ]


# ---- Query and Scan: all evaluated bytes are added up, then rounded once ----

# Five items of 1,500 bytes in partition a, one of 6,000 in partition b.
SIZES = [("a", str(sk), 1500) for sk in range(5)] + [("b", "0", 6000)]


@pytest.fixture(scope="module")
def stored(new_shared_table: NewTable) -> Table:
    table = new_shared_table(
        "pk/sk",
        gsi("all", "kind/sk"),
        gsi("keys", "kind/sk", "KEYS_ONLY"),
        lsi("byDate", "pk/date", "KEYS_ONLY"),
    )
    for pk, sk, size in SIZES:
        table.put(filled(size, pk=pk, sk=sk, kind="k", date=sk))
    return table


def in_partition(name: str, **more: Any) -> dict[str, Any]:
    return {
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": item({":p": name}),
        **more,
    }


KIND: dict[str, Any] = {
    "KeyConditionExpression": "kind = :k",
    "ExpressionAttributeValues": item({":k": "k"}),
}

# (name, operation, parameters, units per arm of an eventually consistent read)
PAGES: list[tuple[str, str, dict[str, Any], Arms]] = [
    ("five small items", "Query", in_partition("a"), {"table": 1.0}),
    ("one larger", "Query", in_partition("b"), {"table": 1.0}),
    ("nothing", "Query", in_partition("none"), {"table": 0.5}),
    ("two of five", "Query", in_partition("a", Limit=2), {"table": 0.5}),
    ("three of five", "Query", in_partition("a", Limit=3), {"table": 1.0}),
    ("counted", "Query", in_partition("a", Select="COUNT"), {"table": 1.0}),
    ("projected", "Query", in_partition("a", ProjectionExpression="sk"), {"table": 1.0}),
    (
        "filtered away",
        "Query",
        in_partition("a", FilterExpression="attribute_exists(q)"),
        {"table": 1.0},
    ),
    ("entries with everything", "Query", {"IndexName": "all", **KIND}, {"table": 0, "all": 2.0}),
    ("entries of keys", "Query", {"IndexName": "keys", **KIND}, {"table": 0, "keys": 0.5}),
    ("local entries", "Query", in_partition("a", IndexName="byDate"), {"table": 0, "byDate": 0.5}),
    (
        "local entries, each item fetched and rounded by itself",
        "Query",
        in_partition("a", IndexName="byDate", Select="ALL_ATTRIBUTES"),
        {"table": 5 * 0.5, "byDate": 0.5},
    ),
    (
        "a local entry of a large item",
        "Query",
        in_partition("b", IndexName="byDate", ProjectionExpression="filler"),
        {"table": 1.0, "byDate": 0.5},
    ),
    (
        "local entries, fetched and then filtered away",
        "Query",
        in_partition(
            "a",
            IndexName="byDate",
            Select="ALL_ATTRIBUTES",
            FilterExpression="attribute_not_exists(sk)",
        ),
        {"table": 5 * 0.5, "byDate": 0.5},
    ),
]


@pytest.mark.parametrize("consistent", [False, True])
@cases("name, operation, parameters, expected", PAGES)
def test_capacity_of_a_page(
    stored: Table,
    name: str,
    operation: str,
    parameters: dict[str, Any],
    expected: Arms,
    consistent: bool,
) -> None:
    if consistent and parameters.get("IndexName") in ("all", "keys"):
        pytest.skip("a global index is not read consistently")
    response = stored.call(
        operation, ReturnConsumedCapacity="INDEXES", ConsistentRead=consistent, **parameters
    )
    seen = arms(response["ConsumedCapacity"])
    assert seen == {arm: units * (1 + consistent) for arm, units in expected.items()}


# A Scan is rounded partition by partition. A new table on demand has four; a small provisioned one
# has a single one.
THROUGHPUT = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": THROUGHPUT}

# (name, parameters of the table, sizes of items of one partition key, parameters, units)
SCANS: list[tuple[str, dict[str, Any], list[int], dict[str, Any], Arms]] = [
    ("nothing", {}, [], {}, {"table": 4 * 0.5}),
    ("one small item", {}, [20], {}, {"table": 4 * 0.5}),
    ("one larger", {}, [4 * KB + 1], {}, {"table": 3 * 0.5 + 1.0}),
    ("counted", {}, [6000], {"Select": "COUNT"}, {"table": 3 * 0.5 + 1.0}),
    (
        "filtered away",
        {},
        [6000],
        {"FilterExpression": "attribute_exists(q)"},
        {"table": 3 * 0.5 + 1.0},
    ),
    ("the entries of an index", {}, [6000], {"IndexName": "byDate"}, {"table": 0, "byDate": 2.0}),
    ("one of four segments", {}, [], {"Segment": 1, "TotalSegments": 4}, {"table": 0.5}),
    ("nothing of one partition", PROVISIONED, [], {}, {"table": 0.5}),
    ("one partition", PROVISIONED, [1500] * 5, {}, {"table": 1.0}),
]


@pytest.mark.parametrize("consistent", [False, True])
@cases("name, definition, sizes, parameters, expected", SCANS)
def test_capacity_of_a_scan(
    new_table: NewTable,
    name: str,
    definition: dict[str, Any],
    sizes: list[int],
    parameters: dict[str, Any],
    expected: Arms,
    consistent: bool,
) -> None:
    table = new_table("pk/sk", lsi("byDate", "pk/date", "KEYS_ONLY"), **definition)
    for number, size in enumerate(sizes):
        table.put(filled(size, pk="a", sk=str(number), date="d"))
    response = table.call(
        "Scan", ReturnConsumedCapacity="INDEXES", ConsistentRead=consistent, **parameters
    )
    seen = arms(response["ConsumedCapacity"])
    assert seen == {arm: units * (1 + consistent) for arm, units in expected.items()}


def test_total_has_no_arms(stored: Table) -> None:
    response = stored.call("Query", IndexName="all", ReturnConsumedCapacity="TOTAL", **KIND)
    assert response["ConsumedCapacity"] == {"TableName": stored.name, "CapacityUnits": 2.0}
