"""Pages of Query and Scan: what ends one, when LastEvaluatedKey is there, and where it leads."""

from itertools import chain
from typing import Any

import pytest

from .support import NewTable, Table, cases, gsi, item, lsi, plains

KB = 1024
LARGE_BYTES = 100 * KB
COUNT = 5


@pytest.fixture(scope="module")
def small(new_shared_table: NewTable) -> Table:
    """Five items of one partition, three of another; all have one value in the index byKind."""
    table = new_shared_table(
        "pk/sk:N", gsi("byKind", "kind/rank:N", "KEYS_ONLY"), lsi("byRank", "pk/rank:N")
    )
    for partition, count in (("a", COUNT), ("b", 3)):
        for sk in range(count):
            table.put({"pk": partition, "sk": sk, "rank": count - sk, "kind": "x", "odd": sk % 2})
    return table


@pytest.fixture(scope="module")
def large(new_shared_table: NewTable) -> Table:
    """25 items of 100 KB in one partition; the indexes hold their keys only."""
    table = new_shared_table(
        "pk/sk:N", gsi("bySort", "pk/sk:N", "KEYS_ONLY"), lsi("byRank", "pk/rank:N", "KEYS_ONLY")
    )
    for sk in range(25):
        keys = {"pk": "a", "sk": sk, "rank": sk}
        rest = LARGE_BYTES - len("pkaskrankfiller") - 2 * (1 if sk == 0 else 2)
        table.put({**keys, "filler": "x" * rest})
    return table


IN_TABLE: dict[str, Any] = {
    "KeyConditionExpression": "pk = :p",
    "ExpressionAttributeValues": item({":p": "a"}),
}
IN_GLOBAL_INDEX: dict[str, Any] = {
    "IndexName": "byKind",
    "KeyConditionExpression": "kind = :k AND #r > :r",
    "ExpressionAttributeNames": {"#r": "rank"},
    "ExpressionAttributeValues": item({":k": "x", ":r": 0}),
}
# (name, operation, parameters, how many items it evaluates in all, the attributes of its keys)
SOURCES: list[tuple[str, str, dict[str, Any], int, set[str]]] = [
    ("Query", "Query", IN_TABLE, COUNT, {"pk", "sk"}),
    ("Query LSI", "Query", {"IndexName": "byRank", **IN_TABLE}, COUNT, {"pk", "sk", "rank"}),
    ("Query GSI", "Query", IN_GLOBAL_INDEX, COUNT + 3, {"pk", "sk", "kind", "rank"}),
    ("Scan", "Scan", {}, COUNT + 3, {"pk", "sk"}),
    ("Scan LSI", "Scan", {"IndexName": "byRank"}, COUNT + 3, {"pk", "sk", "rank"}),
    ("Scan GSI", "Scan", {"IndexName": "byKind"}, COUNT + 3, {"pk", "sk", "kind", "rank"}),
]


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 9])
@cases("name, operation, parameters, total, keys", SOURCES)
def test_limit_cuts_pages(
    small: Table,
    name: str,
    operation: str,
    parameters: dict[str, Any],
    total: int,
    keys: set[str],
    limit: int,
    forward: bool,
) -> None:
    """A page that Limit ended has a LastEvaluatedKey, even after the very last item."""
    order = {"ScanIndexForward": forward} if operation == "Query" else {}
    whole = plains(small.call(operation, **parameters, **order))
    pages = list(small.pages(operation, Limit=limit, **parameters, **order))
    full, rest = divmod(total, limit)
    assert [page["Count"] for page in pages] == [limit] * full + [rest]
    assert [page["ScannedCount"] for page in pages] == [limit] * full + [rest]
    assert all(set(page["LastEvaluatedKey"]) == keys for page in pages[:-1])
    assert list(chain.from_iterable(map(plains, pages))) == whole


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_limit_counts_items_evaluated_before_the_filter(small: Table, operation: str) -> None:
    parameters = IN_TABLE if operation == "Query" else {}
    values = {**parameters.get("ExpressionAttributeValues", {}), **item({":o": 1})}
    request = {**parameters, "FilterExpression": "odd = :o", "ExpressionAttributeValues": values}
    pages = list(small.pages(operation, Limit=2, **request))
    total = COUNT if operation == "Query" else COUNT + 3
    assert sum(page["ScannedCount"] for page in pages) == total
    assert sum(page["Count"] for page in pages) == (2 if operation == "Query" else 3)
    nothing = {**request, "ExpressionAttributeValues": {**values, **item({":o": 7})}}
    page = small.call(operation, Limit=2, **nothing)
    assert (page["Count"], page["ScannedCount"], page["Items"]) == (0, 2, [])
    assert "LastEvaluatedKey" in page


def test_without_limit_the_last_page_has_no_key(small: Table) -> None:
    for _, operation, parameters, total, _ in SOURCES:
        page = small.call(operation, **parameters)
        assert (page["Count"], "LastEvaluatedKey" in page) == (total, False)


# ---- 1 MB ----

# Evaluated items of 100 KB on one page: 1 MB is 10.24 of them, and the one that crosses the
# border belongs to the page.
PER_PAGE = 11


@cases(
    "name, operation, more",
    [
        ("Query", "Query", IN_TABLE),
        ("Query backwards", "Query", {**IN_TABLE, "ScanIndexForward": False}),
        ("Query that counts", "Query", {**IN_TABLE, "Select": "COUNT"}),
        ("Query that projects", "Query", {**IN_TABLE, "ProjectionExpression": "sk"}),
        ("Query that filters", "Query", {**IN_TABLE, "FilterExpression": "attribute_exists(q)"}),
        ("Query with a large Limit", "Query", {**IN_TABLE, "Limit": 20}),
        ("Scan", "Scan", {}),
        ("Scan that filters", "Scan", {"FilterExpression": "attribute_exists(q)"}),
    ],
)
def test_a_page_ends_at_1_mb_of_evaluated_items(
    large: Table, name: str, operation: str, more: dict[str, Any]
) -> None:
    pages = list(large.pages(operation, **more))
    scanned = [page["ScannedCount"] for page in pages]
    assert scanned[0] == scanned[1]
    assert scanned[0] == PER_PAGE
    assert sum(scanned) == 25
    matches = 0 if "filters" in name else 25
    assert sum(page["Count"] for page in pages) == matches


def test_the_1_mb_limit_of_an_index_counts_its_entries(large: Table) -> None:
    page = large.call("Query", IndexName="bySort", **IN_TABLE)
    assert (page["Count"], "LastEvaluatedKey" in page) == (25, False)


@cases(
    "name, operation, more",
    [
        ("Query", "Query", IN_TABLE),
        ("Query backwards", "Query", {**IN_TABLE, "ScanIndexForward": False}),
        ("Query with a large Limit", "Query", {**IN_TABLE, "Limit": 20}),
        ("Scan", "Scan", {}),
    ],
)
def test_items_that_a_local_index_fetches_count_towards_1_mb(
    large: Table, name: str, operation: str, more: dict[str, Any]
) -> None:
    """The result set is limited to 1 MB (developer guide, Query.Pagination)."""
    whole = {"IndexName": "byRank", "Select": "ALL_ATTRIBUTES", **more}
    pages = list(large.pages(operation, **whole))
    assert [page["ScannedCount"] for page in pages] == [PER_PAGE, PER_PAGE, 25 - 2 * PER_PAGE]
    ranks = [found["rank"] for found in chain.from_iterable(map(plains, pages))]
    order = range(25) if "backwards" not in name else reversed(range(25))
    assert ranks == list(order)


# ---- ExclusiveStartKey: what is refused is in test_start_keys.py ----


def test_a_start_key_need_not_be_an_item(small: Table) -> None:
    page = small.call("Query", ExclusiveStartKey={"pk": {"S": "a"}, "sk": {"N": "2.5"}}, **IN_TABLE)
    assert [found["sk"] for found in plains(page)] == [3, 4]
    page = small.call(
        "Query",
        ExclusiveStartKey={"pk": {"S": "a"}, "sk": {"N": "2.5"}},
        ScanIndexForward=False,
        **IN_TABLE,
    )
    assert [found["sk"] for found in plains(page)] == [2, 1, 0]
