"""ItemCollectionMetrics: for tables with a local index, when SIZE is asked for."""

from typing import Any

import pytest

from .support import NewTable, Table, call, cases, gsi, item, lsi

SIZE = {"ReturnItemCollectionMetrics": "SIZE"}
METRICS = {"ItemCollectionKey": item(pk="a"), "SizeEstimateRangeGB": [0.0, 1.0]}
KEY = item(pk="a", sk="s")

# (operation, its subject)
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {"Item": KEY}),
    ("UpdateItem", {"Key": KEY}),
    ("DeleteItem", {"Key": KEY}),
]


@pytest.fixture
def local(new_table: NewTable) -> Table:
    return new_table("pk/sk", lsi("byDate", "pk/date"))


@cases("operation, subject", WRITES)
def test_a_write_reports_the_size_of_its_collection(
    local: Table, operation: str, subject: dict[str, Any]
) -> None:
    local.put({"pk": "a", "sk": "s"})
    assert local.call(operation, **subject, **SIZE) == {"ItemCollectionMetrics": METRICS}


@cases("operation, subject", WRITES)
@pytest.mark.parametrize("wanted", [{}, {"ReturnItemCollectionMetrics": "NONE"}])
def test_metrics_are_returned_only_when_asked_for(
    local: Table, wanted: dict[str, str], operation: str, subject: dict[str, Any]
) -> None:
    assert "ItemCollectionMetrics" not in local.call(operation, **subject, **wanted)


@cases("operation, subject", WRITES)
def test_a_table_without_local_index_has_none(
    new_table: NewTable, operation: str, subject: dict[str, Any]
) -> None:
    table = new_table("pk/sk", gsi("byOwner", "owner"))
    assert "ItemCollectionMetrics" not in table.call(operation, **subject, **SIZE)


def test_a_batch_reports_metrics_per_table(new_table: NewTable, local: Table) -> None:
    plain = new_table("pk/sk")
    put = [{"PutRequest": {"Item": KEY}}]
    requests = {local.name: put, plain.name: put}
    response = call(local.client, "BatchWriteItem", RequestItems=requests, **SIZE)
    assert response["ItemCollectionMetrics"] == {local.name: [METRICS]}


def test_a_transaction_reports_metrics_per_table(new_table: NewTable, local: Table) -> None:
    plain = new_table("pk/sk")
    actions = [{"Put": {"TableName": table.name, "Item": KEY}} for table in (local, plain)]
    response = call(local.client, "TransactWriteItems", TransactItems=actions, **SIZE)
    assert response["ItemCollectionMetrics"] == {local.name: [METRICS]}
