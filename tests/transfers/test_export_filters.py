"""FilterSpecification of an export: the items and attributes that it chooses."""

import gzip
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from bucket_exports import Exports
from bucket_imports import ITEMS, Json

from hashrange.model.errors import (
    ValidationException,
)


@pytest.fixture
def exports(tmp_path: Path) -> Iterator[Exports]:
    with closing(Exports(tmp_path / "objects", accept_unsupported=True)) as found:
        yield found


FILTERS: list[tuple[Json, list[Json]]] = [
    ({"KeyConditionExpression": "pk = :a", "values": {":a": {"S": "a"}}}, ITEMS[:3]),
    (
        {
            "KeyConditionExpression": "pk = :a AND n > :one",
            "FilterExpression": "attribute_exists(#e)",
            "ProjectionExpression": "n, #e",
            "ExpressionAttributeNames": {"#e": "exact"},
            "values": {":a": {"S": "a"}, ":one": {"N": "1"}},
        },
        [{"n": ITEMS[2]["n"], "exact": ITEMS[2]["exact"]}],
    ),
    ({"FilterExpression": "n < :n", "values": {":n": {"N": "2"}}}, ITEMS[:1]),
    ({"ProjectionExpression": "n"}, [{"n": item["n"]} for item in ITEMS]),
    ({}, ITEMS),
]


@pytest.mark.parametrize(("specification", "shown"), FILTERS)
def test_a_filter(exports: Exports, specification: Json, shown: list[Json]) -> None:
    exports.fill(ITEMS)
    asked = dict(specification)
    if "values" in asked:
        asked["ExpressionAttributeValues"] = asked.pop("values")
    ended = exports.exported(FilterSpecification=asked)
    assert ended["ItemCount"] == len(shown)
    assert ended["FilterSpecification"] == asked
    [data] = [content for name, content in exports.objects().items() if "/data/" in name]
    lines = [json.loads(line)["Item"] for line in gzip.decompress(data).splitlines()]
    assert sorted(lines, key=str) == sorted(shown, key=str)


@pytest.mark.parametrize(
    ("specification", "told"),
    [
        ({"FilterExpression": "n <"}, "Invalid FilterExpression"),
        ({"KeyConditionExpression": "n = :n"}, "not defined|missed"),
        ({"FilterExpression": "n = :n"}, "not defined"),
        ({"ExpressionAttributeNames": {"#a": "a"}}, "ExpressionAttributeNames"),
        (
            {
                "KeyConditionExpression": "pk = :a",
                "FilterExpression": "n = :n",
                "ExpressionAttributeValues": {":a": {"S": "a"}, ":n": {"N": "1"}},
            },
            "non-primary key attributes",
        ),
    ],
)
def test_a_filter_that_is_refused(exports: Exports, specification: Json, told: str) -> None:
    exports.fill([])
    with pytest.raises(ValidationException, match=told):
        exports.begin(FilterSpecification=specification)
