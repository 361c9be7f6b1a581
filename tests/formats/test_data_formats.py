"""Every format keeps every item, or says clearly which it cannot read."""

import gzip
import json
from pathlib import Path
from typing import Any

import drawn_items
import pytest
from hypothesis import HealthCheck, given, settings

from hashrange.declared import tables
from hashrange.formats import s3_export
from hashrange.formats.csv_columns import Hints
from hashrange.formats.files import Input, write_whole
from hashrange.formats.formats import FORMATS, for_input, for_output
from hashrange.formats.items import DataError, decode, encode
from hashrange.model.values import normalize_item
from hashrange.tools.moving.progress import Bookmark
from hashrange.tools.moving.spool import Spool

Item = dict[str, Any]


def read(path: Path, format: str | None = None, **types: str) -> list[Item]:
    chosen = for_input(path, format)
    assert chosen is not None
    with Input(path) as source:
        return [decode(record.item) for record in chosen.read(source, Hints(types))]


def normal(items: list[Item]) -> list[Item]:
    """As the database stores what was read."""
    for item in items:
        normalize_item(item)
    return items


@pytest.mark.parametrize("format", FORMATS)
@given(drawn_items.tables)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_written_is_read(
    format: str, tmp_path_factory: pytest.TempPathFactory, items: list[Item]
) -> None:
    path = tmp_path_factory.mktemp("formats") / "items"
    path.write_bytes(b"".join(FORMATS[format].write([encode(item) for item in items])))
    assert normal(read(path, format)) == items


@given(drawn_items.tables)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_folder_that_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, items: list[Item]
) -> None:
    path = tmp_path_factory.mktemp("folders") / "export"
    export(path, items)
    assert normal(read_folder(path)) == items


def read_folder(path: Path) -> list[Item]:
    found = []
    for file in s3_export.data_files(path):
        with Input(file.path) as source:
            found += [decode(record.item) for record in s3_export.read_file(file, source)]
    return found


def export(path: Path, items: list[Item]) -> None:
    from datetime import UTC, datetime

    told = ("arn:aws:dynamodb:us-east-1:0:table/t", "id", 0)
    now = datetime.now(UTC)
    about = s3_export.About(*told, now, now, s3_export.new_id())
    s3_export.write([encode(item) for item in items], path, about)


def test_a_file_may_be_packed(tmp_path: Path) -> None:
    items = [{"pk": {"S": str(number)}} for number in range(1000)]
    for name in ("items.jsonl.gz", "items.json.gz", "items.csv.gz", "items.yaml.gz"):
        chosen = for_output(tmp_path / name, None)
        assert chosen is not None
        write_whole(tmp_path / name, chosen.write([encode(item) for item in items]))
        assert gzip.decompress((tmp_path / name).read_bytes())
        assert read(tmp_path / name) == items
        assert [path for path in tmp_path.iterdir() if path.name.endswith(".unfinished")] == []


# ---- files from elsewhere ----


def test_json_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text(
        ' [ {"pk": "a", "n": 1.50, "big": 12345678901234567890123456789012345678,\n'
        '    "list": [true, null, {"x": "y"}]},\r\n\t{"pk":"b"}\n] \n'
    )
    assert read(path) == [
        {
            "pk": {"S": "a"},
            "n": {"N": "1.50"},
            "big": {"N": "12345678901234567890123456789012345678"},
            "list": {"L": [{"BOOL": True}, {"NULL": True}, {"M": {"x": {"S": "y"}}}]},
        },
        {"pk": {"S": "b"}},
    ]
    path.write_text('{"pk": "a"}\n\n{"pk": "b"}')
    assert read(path) == [{"pk": {"S": "a"}}, {"pk": {"S": "b"}}]
    path.write_text('{"Item": {"pk": {"S": "a"}}}\n')
    assert read(path) == [{"pk": {"S": "a"}}]


def test_csv_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_bytes(
        b"\xef\xbb\xbfid,count,zip,ok,note,tags:SS\r\n"
        b'1,2.5,00501,true,"two\r\nlines","[""a"",""b""]"\r\n'
        b"2,,10001,,1e5,\r\n"
    )
    assert read(path, None, id="S", zip="S") == [
        {
            "id": {"S": "1"},
            "count": {"N": "2.5"},
            "zip": {"S": "00501"},
            "ok": {"BOOL": True},
            "note": {"S": "two\r\nlines"},
            "tags": {"SS": ["a", "b"]},
        },
        {"id": {"S": "2"}, "zip": {"S": "10001"}, "note": {"S": "1e5"}},
    ]


def test_yaml_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "items.yaml"
    path.write_text(
        "- pk: a\n  n: 1.50\n  day: 2026-11-21\n  yes: no\n  none:\n- {pk: b, t: true}\n"
    )
    assert read(path) == [
        {
            "pk": {"S": "a"},
            "n": {"N": "1.50"},
            "day": {"S": "2026-11-21"},
            "yes": {"S": "no"},
            "none": {"NULL": True},
        },
        {"pk": {"S": "b"}, "t": {"BOOL": True}},
    ]


def test_parquet_from_elsewhere(tmp_path: Path) -> None:
    import datetime

    import pyarrow
    import pyarrow.parquet

    rows = [
        {
            "pk": "a",
            "n": 1,
            "f": 0.1,
            "b": b"\0",
            "at": datetime.datetime(2026, 11, 21),
            "l": [1, 2],
            "m": {"x": "y"},
        },
        {"pk": "b", "n": None, "f": None, "b": None, "at": None, "l": None, "m": None},
    ]
    path = tmp_path / "items.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert read(path) == [
        {
            "pk": {"S": "a"},
            "n": {"N": "1"},
            "f": {"N": "0.1"},
            "b": {"B": "AA=="},
            "at": {"S": "2026-11-21T00:00:00"},
            "l": {"L": [{"N": "1"}, {"N": "2"}]},
            "m": {"M": {"x": {"S": "y"}}},
        },
        {"pk": {"S": "b"}},
    ]


def test_numbers_have_the_narrowest_column_that_holds_them() -> None:
    import io

    import pyarrow.parquet

    items = [
        {"i": {"N": "7"}, "d": {"N": "1.25"}, "s": {"N": "1" * 38}},
        {"i": {"N": "-7"}, "d": {"N": "100"}, "s": {"N": "0.5"}},
    ]
    content = b"".join(FORMATS["parquet"].write([encode(item) for item in items]))
    schema = pyarrow.parquet.read_schema(io.BytesIO(content))
    types = {name: str(schema.field(name).type) for name in schema.names}
    assert types == {"i": "int64", "d": "decimal128(5, 2)", "s": "string"}


# ---- files that are wrong ----

LONG = '{"pk":"' + "x" * (9 * 1024 * 1024)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", '{"Item":{"pk":{"S":"a"}}}\n{"Item":{"pk"', ":2: not a line of DynamoDB JSON"),
        ("a.jsonl", '{"Item":{}}},{"DeleteRequest":{"Key":{}}', ":1: not a line of DynamoDB JSON"),
        ("a.jsonl", '{"Item":[]}', ":1: the item is not an object"),
        ("a.jsonl", '{"pk":"a"}\n{"pk":', ":2: not an item in JSON"),
        ("a.jsonl", '{"pk":NaN}', ":1: not an item in JSON: NaN is not a number that DynamoDB"),
        ("a.jsonl", '{"pk":{"$NS":["a"]}}', r":1: .*the content of \$NS is not a NS"),
        ("a.jsonl", "[" * 100_000, "not an item in JSON"),
        ("a.jsonl", '{"a":' * 100_000, ":1: not an item in JSON: it is nested too deeply"),
        ("a.jsonl", LONG, ":1: the line is longer than 8,388,608 bytes"),
        ("a.json", '[\n{"pk":"a"},\n{"pk":', ":3: not an item in JSON, or cut short"),
        ("a.json", '[\n{"pk":"a"}\n', ":3: the array is cut short"),
        ("a.json", '[{"pk":"a"} {"pk":"b"}]', ":1: a comma is missing"),
        ("a.json", '[{"pk":"a"}]\nmore', ":2: there is text after the end of the array"),
        ("a.json", "[1]", ":1: not an item in JSON: an item must be an object"),
        ("a.json", f"[{LONG}", ":1: not an item in JSON"),
        ("a.json", "pk,sk", ":1: not an array of JSON objects"),
        ("a.csv", "pk:S,n:N\na,1\nb,2,3\n", ":3: the row has 3 cells, but the header has 2"),
        ("a.csv", "pk:S,m:M\na,{\n", ":2: m is not a M"),
        ("a.csv", 'pk:S\n"a', ":2: unexpected end of data"),
        ("a.csv", "pk:S\n" + '"x\n",' * (2 * 1024 * 1024), "the row is longer than 8,388,608 char"),
        ("a.csv", "pk:S,pk:S\na,b\n", ":1: two columns have the same name"),
        ("a.csv", "pk:S,n:S,n:N\na,b,1\n", ":2: n has two values, of different types"),
        ("a.csv", "pk:S,\na,b\n", ":1: a column has no name"),
        ("a.yaml", "pk: a", ":1: the file is not a list of items"),
        ("a.yaml", "- pk: [", ":1: not YAML"),
        ("a.yaml", "- &a {pk: a}\n- *a", ":2: not YAML: aliases are not supported"),
        ("a.yaml", "- !!python/object:os.system {}", ":1: not YAML: could not determine"),
        ("a.yaml", "- pk: " + "[" * 50_000, "nested too deeply"),
        ("a.yaml", "- {pk: !!timestamp now}", ":1: a tag does not fit its value"),
        ("a.yaml", "- {pk: !!bool maybe}", ":1: a tag does not fit its value"),
        ("a.yaml", "- {pk: !!int ''}", ":1: a tag does not fit its value"),
        ("a.parquet", "PAR1", "not a Parquet file"),
        ("a.txt", "pk", "the format is not known"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(
    name: str, content: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=said) as raised:
        read(path)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400 + len(str(path))


def test_a_packed_file_that_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    lines = "".join(f'{{"Item":{{"pk":{{"S":"{number}"}}}}}}\n' for number in range(10_000))
    content = gzip.compress(lines.encode())
    path.write_bytes(content[:-100])
    with pytest.raises(DataError, match="the gzip file is cut short"):
        read(path)
    path.write_bytes(content[:5000] + b"\xff" * 50 + content[5050:])
    with pytest.raises(DataError, match=r"the gzip file is damaged|not a line"):
        read(path)


def test_a_parquet_file_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    items = [encode({"pk": {"S": str(number) * 9}}) for number in range(5000)]
    content = b"".join(FORMATS["parquet"].write(items))
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="not a Parquet file"):
        read(path)
    path.write_bytes(content[:400] + b"\xff" * 300 + content[700:])
    with pytest.raises(DataError, match=r"damaged|row"):
        read(path)


def test_a_parquet_file_with_values_that_are_none(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    bytes_ = pyarrow.array([b"\xff"])
    text = pyarrow.Array.from_buffers(pyarrow.string(), 1, bytes_.buffers())
    late = pyarrow.array([2**45], pyarrow.timestamp("s"))
    deep = pyarrow.array(["[" * 100_000])
    path = tmp_path / "a.parquet"
    for values, meta, said in (
        (text, None, "damaged: 'utf-8' codec"),
        (late, None, "damaged: date value out of range"),
        (text, b"{}", "not a Parquet file: .*attribute"),
        (deep, b'{"attribute":"pk","type":"M"}', "row 1: maximum recursion"),
    ):
        field = pyarrow.field("pk", values.type, metadata={"dynamodb": meta} if meta else None)
        parquet.write_table(pyarrow.table([values], schema=pyarrow.schema([field])), path)
        with pytest.raises(DataError, match=said):
            read(path)


def test_links_that_somebody_has_put_beside_are_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"mine")
    for name in ("a.json.unfinished", "a.partial", "a.progress.new"):
        (tmp_path / name).symlink_to(other)
    write_whole(tmp_path / "a.json", [b"[]"])
    tables.write(tmp_path / "a.json", tables.Description({}, None))
    Spool(tmp_path / "a.partial").close()
    Bookmark(tmp_path / "a.progress", {}).save({})
    assert other.read_bytes() == b"mine"
    assert not (tmp_path / "a.json").is_symlink()


def test_a_folder_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "export"
    items = [{"pk": {"S": str(number)}} for number in range(10)]

    def refused(said: str) -> None:
        with pytest.raises(DataError, match=said):
            read_folder(path)

    refused("no such folder")
    path.mkdir()
    refused("not an export of DynamoDB")
    path.rmdir()
    export(path, items)
    [folder] = path.glob("AWSDynamoDB/*")
    [data] = (folder / "data").iterdir()
    content = data.read_bytes()
    data.write_bytes(content + b"\0")
    refused("the checksum differs from the manifest's")
    data.write_bytes(content)
    files = folder / "manifest-files.json"
    said = files.read_text()
    files.write_text(said.replace('"itemCount":10', '"itemCount":11'))
    refused("the checksum is wrong; the file was changed")
    (folder / "manifest-files.md5").unlink()
    refused("10 items, but the manifest says 11")
    files.write_text(said)
    data.unlink()
    refused("no such file")
    summary = folder / "manifest-summary.json"
    content = summary.read_bytes()
    (folder / "manifest-summary.md5").unlink()
    summary.write_text(json.dumps(json.loads(content) | {"outputFormat": "PARQUET"}))
    refused("the format is PARQUET, not DYNAMODB_JSON or ION")
    summary.write_text(json.dumps(json.loads(content) | {"exportType": "INCREMENTAL_EXPORT"}))
    refused("an incremental export; only full exports can be read")
