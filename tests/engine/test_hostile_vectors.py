"""Vectors that nobody should send, and a process that is killed while an index is built."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL
from struct import pack, unpack
from typing import Any

import pytest
from waiting import wait_until

from hashrange import Database, connect
from hashrange.model.errors import ValidationException

DIMENSIONS = 4096


def vector(*numbers: Any) -> list[dict[str, Any]]:
    return [{"N": str(number)} for number in numbers]


def index(dimensions: int, distance: str = "EUCLIDEAN") -> dict[str, Any]:
    return {
        "IndexName": "nearest",
        "VectorAttribute": {"AttributeName": "e"},
        "Dimensions": dimensions,
        "DistanceFunction": distance,
        "Projection": {"ProjectionType": "ALL"},
    }


def create(database: Database, *indexes: dict[str, Any]) -> None:
    request: dict[str, Any] = {
        "TableName": "docs",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    database.execute("CreateTable", request | ({"VectorIndexes": indexes} if indexes else {}))


def put(database: Database, name: str, *numbers: Any) -> None:
    item = {"pk": {"S": name}, "e": {"L": vector(*numbers)}}
    database.execute("PutItem", {"TableName": "docs", "Item": item})


def search(database: Database, *numbers: Any, top: int = 1) -> list[tuple[str, float]]:
    request = {
        "TableName": "docs",
        "IndexName": "nearest",
        "SearchVector": vector(*numbers),
        "TopK": top,
        "ProjectionExpression": "pk",
    }
    results = database.execute("SearchVectors", request)["SearchResults"]
    return [(result["Item"]["pk"]["S"], result["Score"]) for result in results]


@pytest.fixture
def docs() -> Iterator[Database]:
    with connect() as database:
        create(database, index(2))
        put(database, "p", 1, 1)
        yield database


@pytest.mark.parametrize("distance", ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"])
def test_vectors_of_the_smallest_numbers_are_searched(distance: str) -> None:
    generator = random.Random(3)
    rows = {
        f"p{number}": [generator.randint(-9, 9) * 1e-44 for _ in range(DIMENSIONS)]
        for number in range(4)
    }
    with connect() as database:
        create(database, index(DIMENSIONS, distance))
        for name, numbers in rows.items():
            put(database, name, *(f"{number:.20e}" for number in numbers))
        target = rows["p2"]
        found = search(database, *(f"{number:.20e}" for number in target), top=4)
    assert len(found) == 4
    assert found[0][0] == "p2"
    if distance == "EUCLIDEAN":
        stored = {name: unpack(f"<{DIMENSIONS}f", pack(f"<{DIMENSIONS}f", *numbers))
                  for name, numbers in rows.items()}  # fmt: skip
        for name, score in found:
            squares = ((a - b) ** 2 for a, b in zip(stored[name], stored["p2"], strict=True))
            assert score == pytest.approx(sum(squares) ** 0.5, rel=1e-9)


LOOKS_LIKE_VECTORS: tuple[dict[str, Any], ...] = (
    {},
    {"a": {"S": '"e":{"L":[{"N":"1"}]}'}},
    {"a": {"S": "}"}, "z": {"S": "]}"}},
    {"a": {"M": {"e": {"L": vector(1, 2)}}}},
    {"a": {"L": [{"M": {"e": {"L": vector(1, 2)}}}, {"L": []}]}, "z": {"L": [{"L": []}]}},
    {"a": {"M": {"e": {"L": []}, "f": {"M": {"e": {"L": [{"S": "]}"}]}}}}}},
    {'"e"': {"L": vector(1, 2)}, "E": {"L": vector(1, 2)}, "ee": {"L": vector(3, 4)}},
)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("name", ["e", 'a"]}', "\\", "\u00e9\u2028"])
def test_items_are_shown_without_the_vector_alone(name: str, first: bool) -> None:
    """Whatever else looks like it, and wherever it is."""
    attribute = {"VectorAttribute": {"AttributeName": name}}
    with connect() as database:
        create(database, index(2) | attribute)
        for number, more in enumerate(LOOKS_LIKE_VECTORS):
            value = {name: {"L": vector(number, 0)}}
            rest = {"pk": {"S": str(number)}} | more
            item = value | rest if first else rest | value
            database.execute("PutItem", {"TableName": "docs", "Item": item})
            request = {
                "TableName": "docs",
                "IndexName": "nearest",
                "SearchVector": vector(number, 0),
                "TopK": 1,
            }
            [result] = database.execute("SearchVectors", request)["SearchResults"]
            assert result["Item"] == rest


NOT_NUMBERS = (
    "NaN",
    "nan",
    "-NaN",
    "Infinity",
    "-inf",
    "0x1p3",
    "1_000",
    "\u0661",
    "",
    " ",
    "1e",
    "1,2",
)


@pytest.mark.parametrize("text", [*NOT_NUMBERS, "1e39", "-1e39", "3.5e38", "1e125", "1e126"])
def test_what_is_no_number_of_32_bits_is_refused_everywhere(docs: Database, text: str) -> None:
    with pytest.raises(ValidationException):
        put(docs, "bad", 1, text)
    with pytest.raises(ValidationException):
        search(docs, text, 1)
    assert search(docs, 1, 1, top=5) == [("p", 0.0)]


def test_the_largest_and_the_smallest_numbers_are_searched(docs: Database) -> None:
    put(docs, "large", "3.4028235e38", "-3.4028235E+38")
    put(docs, "small", "1e-130", "-1e-45")
    assert search(docs, "3.4028235e38", "-3.4028235e38") == [("large", 0.0)]
    [(name, score)] = search(docs, "0.0", "-0")
    assert (name, score) == ("small", unpack("<f", pack("<f", 1e-45))[0])
    assert [each for each, _ in search(docs, "000000000000000000001.00", "1e0")] == ["p"]


@pytest.mark.parametrize("count", [0, 1, 3, 4097, 100_000])
def test_other_numbers_of_numbers_are_refused(docs: Database, count: int) -> None:
    for call in (put, search):
        name = ("bad",) if call is put else ()
        with pytest.raises(ValidationException):
            call(docs, *name, *[1] * count)
    assert search(docs, 1, 1, top=5) == [("p", 0.0)]


def test_elements_of_other_types_are_refused(docs: Database) -> None:
    deep: Any = {"N": "1"}
    for _ in range(31):
        deep = {"L": [deep]}
    others: list[Any] = [{"S": "1"}, {"L": []}, {"NULL": True}, {"B": "MQ=="}, {"NS": ["1"]}, deep]
    for element in others:
        item = {"pk": {"S": "bad"}, "e": {"L": [{"N": "1"}, element]}}
        with pytest.raises(ValidationException):
            docs.execute("PutItem", {"TableName": "docs", "Item": item})
        request = {"TableName": "docs", "IndexName": "nearest", "TopK": 1}
        with pytest.raises(ValidationException):
            docs.execute("SearchVectors", request | {"SearchVector": [{"N": "1"}, element]})


# ---- kills ----

ITEMS = 300
_KILLED_WHILE_BUILDING = """
import itertools, os, signal, sys, time
from hashrange import connect
from hashrange.engine.indexes import vectors

calls, build, last = itertools.count(1), vectors.build, int(sys.argv[2])

def killed(*arguments):
    build(*arguments)
    if next(calls) == last:
        os.kill(os.getpid(), signal.SIGKILL)

vectors.build = killed
index = eval(sys.argv[3])
with connect(sys.argv[1]) as database:
    if index:
        database.execute("UpdateTable", {
            "TableName": "docs",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "VectorIndexUpdates": [{"Create": index}],
        })
    time.sleep(60)
"""


def test_an_index_is_built_although_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with connect(path) as database:
        create(database)
        for number in range(ITEMS):
            put(database, f"p{number}", number, 0)
    for calls, new in ((2, index(2)), (1, None)):
        command = [sys.executable, "-c", _KILLED_WHILE_BUILDING, str(path), str(calls), repr(new)]
        ended = subprocess.run(command, capture_output=True, check=False, timeout=60)
        assert ended.returncode == -SIGKILL, ended.stderr.decode()
    with connect(path) as database:
        put(database, "p7", 7, 3)
        database.execute("DeleteItem", {"TableName": "docs", "Key": {"pk": {"S": "p8"}}})

        def active() -> bool:
            table = database.execute("DescribeTable", {"TableName": "docs"})["Table"]
            return bool(table["VectorIndexes"][0]["IndexStatus"] == "ACTIVE")

        wait_until(active)
        assert search(database, 7, 3) == [("p7", 0.0)]
        assert search(database, 8, 0)[0][1] == 1
        everywhere = [search(database, number, 0)[0][0] for number in range(20, ITEMS, 20)]
        assert everywhere == [f"p{number}" for number in range(20, ITEMS, 20)]
        assert list(database.check()) == []


def test_sizes_are_right_whenever_an_index_comes_and_goes(docs: Database) -> None:
    """Items that are older than an index are counted by its build."""
    definitions = [{"AttributeName": "pk", "AttributeType": "S"}]
    for number in range(200):
        put(docs, f"p{number}", number, number + 0.12345)

    def update(*changes: dict[str, Any]) -> None:
        request = {"TableName": "docs", "VectorIndexUpdates": changes}
        docs.execute("UpdateTable", request | {"AttributeDefinitions": definitions})
        put(docs, "p7", 7, 3.25)
        put(docs, "new", 7, 3.25)
        docs.execute("DeleteItem", {"TableName": "docs", "Key": {"pk": {"S": "p8"}}})

    def is_over() -> bool:
        table = docs.execute("DescribeTable", {"TableName": "docs"})["Table"]
        return all(each["IndexStatus"] == "ACTIVE" for each in table.get("VectorIndexes", ()))

    add, drop = {"Create": index(2)}, {"Delete": {"IndexName": "nearest"}}
    for change in (drop, add, drop, add):
        update(change)
        wait_until(is_over)
        assert list(docs.check()) == []
    size = docs.execute("DescribeTable", {"TableName": "docs"})["Table"]["TableSizeBytes"]
    names = ["p", "new", *(f"p{number}" for number in range(200) if number != 8)]
    assert size == sum(len("pk") + len(name) + len("e") + 8 for name in names)
