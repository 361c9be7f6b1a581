"""ImportTable: a new table from the objects of a bucket, in every format, whatever is in them."""

import gzip
import json
import logging
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from bucket_imports import ITEMS, LINES, Imports, counts

zstandard = pytest.importorskip("zstandard")
pytest.importorskip("amazon.ion")


@pytest.fixture
def imports(tmp_path: Path) -> Iterator[Imports]:
    with closing(Imports(tmp_path / "objects")) as found:
        yield found


PACK = {
    "NONE": bytes,
    "GZIP": gzip.compress,
    "ZSTD": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.mark.parametrize("compression", PACK)
def test_dynamodb_json(imports: Imports, compression: str) -> None:
    imports.put("in/one", PACK[compression](LINES))
    imports.put(
        "in/two",
        PACK[compression](b"") + PACK[compression](b'{"Item":{"pk":{"S":"z"},"n":{"N":"9"}}}'),
    )
    imports.put("other", b"not read")
    started = imports.start(prefix="in/", InputCompressionType=compression, ClientToken="token")
    assert started["ImportStatus"] == "IN_PROGRESS"
    imports.database.run_upkeep()
    ended = imports.described(started)
    assert counts(ended) == ("COMPLETED", 8, 8, 0)
    assert ended["EndTime"] >= ended["StartTime"]
    sizes = sum(path.stat().st_size for path in (imports.folder / "bucket" / "in").iterdir())
    assert ended["ProcessedSizeBytes"] == sizes
    assert ended["TableArn"].endswith(":table/orders")
    assert imports.items() == [*ITEMS, {"pk": {"S": "z"}, "n": {"N": "9"}}]
    assert imports.status() == "ACTIVE"
    assert (
        imports.database.execute("DescribeTable", {"TableName": "orders"})["Table"]["TableId"]
        == ended["TableId"]
    )
    assert list(imports.database.check()) == []


def test_values_need_no_lines(imports: Imports) -> None:
    pretty = "\n".join(json.dumps({"Item": item}, indent=2) for item in ITEMS[:4])
    close = "".join(json.dumps({"Item": item}) for item in ITEMS[4:])
    imports.put("a", (pretty + close).encode())
    assert counts(imports.done()) == ("COMPLETED", 7, 7, 0)
    assert imports.items() == ITEMS


def test_ion(imports: Imports) -> None:
    from hashrange.formats import ion

    imports.put("a.ion", b"".join(ion.write(json.dumps(item).encode() for item in ITEMS)))
    simpleion = ion.library()
    binary = simpleion.dumps({"Item": {"pk": "bin", "n": 8, "t": None}}, binary=True)
    imports.put("b.ion", binary)
    faulty = [b"null", b"{Item:1}", b"{Item:{pk:nan,n:1}}", b"{Item:{pk:2024T,n:1}}", b"{Item:{}}"]
    imports.put("c.ion", b" ".join(faulty))
    imports.put("d.ion", b"{Item:{pk:" + b"[" * 100_000)
    imports.put("e.ion", b'{Item:{pk:"typed",n:8,t:null.string}}')
    assert counts(imports.done("ION")) == ("FAILED", 15, 9, 6)
    items = imports.items()
    assert sorted(item.pop("pk")["S"] for item in items[-2:]) == ["bin", "typed"]
    assert items[-2:] == [{"n": {"N": "8"}, "t": {"NULL": True}}] * 2
    assert items[:-2] == ITEMS


def test_csv(imports: Imports) -> None:
    imports.put("a.csv", b'pk;n;text\na;1;"x;\ny"\nb;2.50;\n')
    options = {"Csv": {"Delimiter": ";"}}
    assert counts(imports.done("CSV", InputFormatOptions=options)) == ("COMPLETED", 2, 2, 0)
    assert imports.items() == [
        {"pk": {"S": "a"}, "n": {"N": "1"}, "text": {"S": "x;\ny"}},
        {"pk": {"S": "b"}, "n": {"N": "2.5"}, "text": {"S": ""}},
    ]


def test_csv_with_a_list_of_names(imports: Imports) -> None:
    imports.put("a.csv", b"1,a\nx,b\n3,c,more\n4,d\n")
    options = {"Csv": {"HeaderList": ["n", "pk"]}}
    ended = imports.done("CSV", InputFormatOptions=options)
    assert counts(ended) == ("FAILED", 4, 2, 2)
    assert ended["FailureCode"] == "ItemValidationError"
    assert [item["pk"]["S"] for item in imports.items()] == ["a", "d"]


def test_a_wrong_header_imports_nothing(imports: Imports) -> None:
    imports.put("a.csv", b"key,n\na,1\nb,2\n")
    assert counts(imports.done("CSV")) == ("FAILED", 2, 0, 2)
    assert imports.status() == "ACTIVE"


def test_faulty_items_are_counted_and_logged(
    imports: Imports, caplog: pytest.LogCaptureFixture
) -> None:
    good = {"pk": {"S": "a"}, "n": {"N": "1"}}
    faulty = [
        {"pk": {"S": "a"}},
        {"pk": {"S": ""}, "n": {"N": "1"}},
        {"pk": {"N": "1"}, "n": {"N": "1"}},
        {"pk": {"S": "a"}, "n": {"N": "x"}},
        {**good, "b": {"B": "!"}},
        {**good, "b": "plain"},
        {**good, "set": {"SS": []}},
        {**good, "large": {"S": "x" * 410_000}},
    ]
    lines = [json.dumps({"Item": item}) for item in [*faulty, good]]
    lines += ['{"pk":{"S":"unwrapped"},"n":{"N":"1"}}', "{cut", json.dumps({"Item": good})]
    imports.put("dir/a", "\n".join(lines).encode())
    imports.put("dir/b", json.dumps({"Item": {"pk": {"S": "b"}, "n": {"N": "2"}}}).encode())
    with caplog.at_level(logging.WARNING, logger="hashrange"):
        ended = imports.done()
    assert counts(ended) == ("FAILED", 12, 2, 10)
    assert ended["FailureCode"] == "ItemValidationError"
    assert [item["pk"]["S"] for item in imports.items()] == ["a", "b"]
    told = [json.loads(line) for line in caplog.messages]
    assert [each["itemS3Pointer"]["itemIndex"] for each in told] == [*range(8), 9, 10]
    assert told[0]["itemS3Pointer"]["key"] == "dir/a"
    assert told[0]["importArn"] == ended["ImportArn"]


@pytest.mark.parametrize("damage", ["cut", "end", "flipped"])
@pytest.mark.parametrize("compression", ["GZIP", "ZSTD"])
def test_a_damaged_object_keeps_what_was_read(
    imports: Imports, compression: str, damage: str
) -> None:
    rng = random.Random(5)
    line = b'{"Item":{"pk":{"S":"%d"},"n":{"N":"%d"}}}\n'
    lines = b"".join(line % (rng.randrange(1 << 60), n) for n in range(5000))
    packed = bytearray(PACK[compression](lines))
    if damage == "cut":
        del packed[len(packed) * 3 // 4 :]
    elif damage == "end":
        del packed[-2:]  # of the checksum, so every line is whole
    else:
        packed[len(packed) // 2] ^= 0xFF
    imports.put("a", bytes(packed))
    imports.put("b", PACK[compression](LINES))
    ended = imports.done(InputCompressionType=compression)
    assert ended["ImportStatus"] == "FAILED"
    assert ended["ErrorCount"] >= 1
    assert ended["ImportedItemCount"] >= len(ITEMS)
    found = imports.database.execute("Scan", {"TableName": "orders", "Select": "COUNT"})
    assert 7 <= found["Count"] <= 5007


@pytest.mark.parametrize("format", ["DYNAMODB_JSON", "CSV", "ION"])
@pytest.mark.parametrize("compression", ["GZIP", "ZSTD"])
def test_a_bomb_of_zeros_is_given_up(imports: Imports, format: str, compression: str) -> None:
    """A gigabyte of zeros in a small object, of which only the beginning is unpacked."""
    import tracemalloc

    if compression == "GZIP":
        zeros = gzip.compress(bytes(1 << 24), 1) * 64
    else:
        zeros = zstandard.compress(bytes(1 << 24)) * 64
    start = {"DYNAMODB_JSON": b'{"Item":{"pk":{"S":"', "CSV": b'pk,n\n"', "ION": b'{Item:{pk:"'}
    imports.put("bomb", PACK[compression](start[format]) + zeros)
    tracemalloc.start()
    ended = imports.done(format, InputCompressionType=compression)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts(ended) == ("FAILED", 1, 0, 1)
    assert peak < 150 << 20
