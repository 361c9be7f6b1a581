"""Scan: the order of partitions, filters on keys, and parallel segments."""

from typing import Any

import pytest

from .support import NewTable, Table, cases, gsi, item, plains, refused

PARTITIONS = 40


@pytest.fixture(scope="module")
def scanned(new_shared_table: NewTable) -> Table:
    """Forty partitions of two items each; half of the items are in the index."""
    table = new_shared_table("pk/sk:N", gsi("sparse", "owner"))
    for partition in range(PARTITIONS):
        table.put({"pk": f"p{partition}", "sk": 1}, {"pk": f"p{partition}", "sk": 2, "owner": "o"})
    return table


def keys(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(values["pk"], int(values["sk"])) for values in found]


def test_items_of_a_partition_are_together_and_in_order(scanned: Table) -> None:
    found = keys(scanned.all())
    assert len(set(found)) == 2 * PARTITIONS
    assert found == [(pk, sk) for pk in dict(found) for sk in (1, 2)]


def test_the_order_is_the_same_each_time_and_at_each_page_size(scanned: Table) -> None:
    assert keys(scanned.all()) == keys(scanned.all(Limit=7)) == keys(scanned.all(Limit=1))


def test_a_filter_may_name_keys(scanned: Table) -> None:
    found = scanned.all(
        FilterExpression="pk = :p AND sk = :s",
        ExpressionAttributeValues=item({":p": "p7", ":s": 2}),
    )
    assert found == [{"pk": "p7", "sk": 2, "owner": "o"}]


@pytest.mark.parametrize("limit", [None, 3])
@pytest.mark.parametrize("total", [1, 2, 3, 7, 100])
def test_segments_divide_the_table(scanned: Table, total: int, limit: int | None) -> None:
    more = {"Limit": limit} if limit else {}
    segments = [
        keys(scanned.all(Segment=segment, TotalSegments=total, **more)) for segment in range(total)
    ]
    assert [key for segment in segments for key in segment] == keys(scanned.all())
    partitions = [{pk for pk, _ in segment} for segment in segments]
    assert sum(map(len, partitions)) == PARTITIONS


def test_segments_divide_an_index(scanned: Table) -> None:
    found = [
        key
        for segment in range(4)
        for key in keys(scanned.all(IndexName="sparse", Segment=segment, TotalSegments=4))
    ]
    assert sorted(found) == sorted((f"p{partition}", 2) for partition in range(PARTITIONS))


def test_a_million_segments(scanned: Table) -> None:
    assert scanned.call("Scan", Segment=999_999, TotalSegments=1_000_000)["Count"] <= 2


# (name, parameters, the refusal)
SEGMENTS: list[tuple[str, dict[str, Any], str]] = [
    (
        "no Segment",
        {"TotalSegments": 4},
        "ValidationException: The Segment parameter is required but was not present in the request"
        " when parameter TotalSegments is present",
    ),
    (
        "no TotalSegments",
        {"Segment": 0},
        "ValidationException: The TotalSegments parameter is required but was not present in the"
        " request when Segment parameter is present",
    ),
    (
        "Segment too large",
        {"Segment": 4, "TotalSegments": 4},
        "ValidationException: The Segment parameter is zero-based and must be less than parameter"
        " TotalSegments",
    ),
    (
        "Segment below zero",
        {"Segment": -1, "TotalSegments": 4},
        "ValidationException: 1 validation error detected: Value at 'Segment' failed to satisfy"
        " constraint: Member must have value greater than or equal to 0",
    ),
    (
        "TotalSegments zero",
        {"Segment": 0, "TotalSegments": 0},
        "ValidationException: 1 validation error detected: Value at 'TotalSegments' failed to"
        " satisfy constraint: Member must have value greater than or equal to 1",
    ),
    (
        "TotalSegments too large",
        {"Segment": 0, "TotalSegments": 1_000_001},
        "ValidationException: 1 validation error detected: Value at 'TotalSegments' failed to"
        " satisfy constraint: Member must have value less than or equal to 1000000",
    ),
]


@cases("name, parameters, refusal", SEGMENTS)
def test_segments_are_refused(
    scanned: Table, name: str, parameters: dict[str, Any], refusal: str
) -> None:
    scanned.refused(refusal, "Scan", **parameters)


def test_a_start_key_belongs_to_its_segment(scanned: Table) -> None:
    pages = [scanned.call("Scan", Segment=s, TotalSegments=2, Limit=1) for s in (0, 1)]
    start = pages[1]["LastEvaluatedKey"]
    refused(
        "ValidationException: The provided starting key is invalid…",
        scanned.call,
        "Scan",
        Segment=0,
        TotalSegments=2,
        ExclusiveStartKey=start,
    )


def test_an_item_written_during_a_scan_does_not_disturb_it(new_table: NewTable) -> None:
    table = new_table("pk")
    table.put(*({"pk": f"p{number}"} for number in range(20)))
    seen: list[dict[str, Any]] = []
    for page in table.pages("Scan", Limit=5):
        seen += plains(page)
        table.call("DeleteItem", Key=item(seen[-1]))
        table.put({"pk": f"new{len(seen)}"})
    old = [found["pk"] for found in seen if found["pk"].startswith("p")]
    assert sorted(old) == sorted({f"p{number}" for number in range(20)})
