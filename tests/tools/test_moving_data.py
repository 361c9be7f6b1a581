"""hashrange export and import: what goes out comes in again, whatever happens in between."""

import io
import json
import sys
import time
from pathlib import Path

import boto3
import drawn_items
import pytest
from command_line import Terminal
from moving_data import Item, Run, content, fault, fill, folder, numbered, ordered, run

import hashrange
from hashrange import Faults, Settings
from hashrange.tools.moving import progress

__all__ = ["folder", "run"]  # fixtures
pytestmark = pytest.mark.slow

NAMES = ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "a.yaml", "a.parquet", "folder"]


def test_every_format_brings_every_item_back(folder: Path, run: Run) -> None:
    items = drawn_items.odd_items()
    fill("a.db", items)
    for name in [*NAMES, "lines.txt"]:
        format = {"folder": "s3-export", "lines.txt": "json-lines"}.get(name)
        chosen = ["--format", format] if format else []
        out = run("export", "a.db", "table", "-o", name, *chosen)
        assert out.status == 0, out.error
        came = run("import", f"{name}.db", "table", name, "--create", *chosen)
        assert came.status == 0, came.error
        assert content(f"{name}.db") == ordered(items)
    left = [path.name for path in Path().iterdir()]
    assert [name for name in left if name.endswith((".partial", ".progress", ".unfinished"))] == []


def test_the_table_is_created_as_it_was(folder: Path, run: Run) -> None:
    table = drawn_items.TABLE | {
        "AttributeDefinitions": [
            *drawn_items.TABLE["AttributeDefinitions"],
            {"AttributeName": "v", "AttributeType": "S"},
        ],
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7},
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-v",
                "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["w"]},
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
            }
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "local",
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "v", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        "Tags": [{"Key": "team", "Value": "data"}],
    }

    def description(db: hashrange.Database, name: str) -> Item:
        found: Item = db.execute("DescribeTable", {"TableName": name})["Table"]
        arn = found["TableArn"]
        tags = db.execute("ListTagsOfResource", {"ResourceArn": arn})["Tags"]
        expiry = db.execute("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
        for each in [found, *found["GlobalSecondaryIndexes"], *found["LocalSecondaryIndexes"]]:
            for member in ("CreationDateTime", "TableArn", "IndexArn", "TableId", "TableName"):
                each.pop(member, None)
            each.get("ProvisionedThroughput", {}).pop("LastDecreaseDateTime", None)
        for member in ("LatestStreamArn", "LatestStreamLabel"):
            found.pop(member)
        return {"table": found, "tags": tags, "expiry": expiry}

    with hashrange.connect("a.db") as db:
        db.execute("CreateTable", table)
        expiry = {"Enabled": True, "AttributeName": "expires"}
        db.execute("UpdateTimeToLive", {"TableName": "table", "TimeToLiveSpecification": expiry})
        db.execute("PutItem", {"TableName": "table", "Item": numbered(1)})
        before = description(db, "table")
    assert run("export", "a.db", "table", "-o", "a.csv").status == 0
    assert run("import", "b.db", "other", "a.csv", "--create").status == 0
    with hashrange.connect("b.db") as db:
        assert description(db, "other") == before
        found = db.execute(
            "Query",
            {
                "TableName": "other",
                "IndexName": "by-v",
                "KeyConditionExpression": "v = :v",
                "ExpressionAttributeValues": {":v": {"S": "x1"}},
            },
        )
        assert found["Count"] == 1


def test_a_description_in_the_form_of_the_api(folder: Path, run: Run) -> None:
    Path("input.json").write_text(json.dumps(drawn_items.TABLE))
    Path("a.csv").write_text("pk,sk,v\n1,2,3\n")
    assert run("import", "a.db", "table", "a.csv", "--create", "input.json").status == 0
    assert content("a.db") == [{"pk": {"S": "1"}, "sk": {"N": "2"}, "v": {"N": "3"}}]
    with hashrange.connect("a.db") as db:
        described = {"Table": db.execute("DescribeTable", {"TableName": "table"})["Table"]}
    Path("described.json").write_text(json.dumps(described))
    assert run("import", "b.db", "table", "a.csv", "--create", "described.json").status == 0
    assert run("import", "b.db", "table", "a.csv", "--types", "v:S").status == 0
    assert content("b.db") == [{"pk": {"S": "1"}, "sk": {"N": "2"}, "v": {"S": "3"}}]


def test_the_last_of_several_items_with_one_key_is_stored(folder: Path, run: Run) -> None:
    fill("a.db", [])
    lines = [
        json.dumps({"Item": numbered(number % 10) | {"v": {"S": str(number)}}})
        for number in range(100)
    ]
    lines.append('{"Item":{"pk":{"S":"p9"},"sk":{"N":"9.0"},"v":{"S":"last"}}}')
    Path("a.jsonl").write_text("\n".join(lines))
    assert run("import", "a.db", "table", "a.jsonl").status == 0
    assert [item["v"]["S"] for item in content("a.db")] == [
        *(str(number) for number in range(90, 99)),
        "last",
    ]


def test_progress_is_told_on_a_terminal_only() -> None:
    shown, file = io.BytesIO(), io.StringIO()
    terminal = Terminal(shown, "utf-8")
    times = iter([0.0, 0.0, 10.0, 20.0])
    told = progress.Progress(lambda items: items / 4000, stream=terminal, timer=lambda: next(times))
    for _ in range(3):
        told.tell()
        told.advance(1000)
    lines = [line.removesuffix("\x1b[K") for line in shown.getvalue().decode().split("\r")]
    assert lines == [
        "",
        "0 items, 0/s, 0%",
        "1,000 items, 100/s, 25%, 0:30 left",
        "2,000 items, 100/s, 50%, 0:20 left",
    ]
    with progress.Progress(lambda items: 0.5, stream=file) as told:
        told.advance(1000)
    assert file.getvalue() == ""


# ---- servers ----


def test_a_server_is_read_and_written(folder: Path, run: Run) -> None:
    items = [
        numbered(number) | {"b": {"B": "AAH/"}, "s": {"BS": ["AA=="]}} for number in range(900)
    ]
    fill("a.db", items)
    with hashrange.serve() as server:
        assert run("export", "a.db", "table", "-o", "a.jsonl").status == 0
        ended = run("import", server.url, "table", "a.jsonl", "--create", "--parallel", 3)
        assert ended.status == 0, ended.error
        assert ended.out.startswith("table: 900 items of a.jsonl in ")
        assert run("export", server.url, "table", "-o", "b.jsonl", "--parallel", 3).status == 0
    assert run("import", "b.db", "table", "b.jsonl", "--create").status == 0
    assert content("b.db") == content("a.db") == ordered(items)


def test_throttled_and_unprocessed_writes_are_made_again(folder: Path, run: Run) -> None:
    fill("a.db", [numbered(number) for number in range(150)])
    assert run("export", "a.db", "table", "-o", "a.jsonl").status == 0
    faults = Faults(rates={"unprocessed": 0.3, "throttle": 0.2, "error": 0.1})
    unreliable = hashrange.connect(settings=Settings(faults=faults))
    with unreliable, hashrange.serve(unreliable) as server:
        ended = run("import", server.url, "table", "a.jsonl", "--create")
        assert ended.status == 0, ended.error
        assert run("export", server.url, "table", "-o", "b.jsonl").status == 0
    assert run("import", "b.db", "table", "b.jsonl", "--create").status == 0
    assert content("b.db") == content("a.db")


def test_a_rate_is_kept(folder: Path, run: Run) -> None:
    fill("a.db", [numbered(number) for number in range(300)])
    began = time.monotonic()
    assert run("export", "a.db", "table", "-o", "a.jsonl", "--rate", 2).status == 0
    units = 2.5  # 300 items of about 20 bytes, eventually consistent
    assert time.monotonic() - began >= units / 2 / 2
    began = time.monotonic()
    assert run("import", "b.db", "table", "a.jsonl", "--create", "--rate", 200).status == 0
    assert time.monotonic() - began >= 300 / 200 - 0.1


# ---- AWS ----


def test_writing_to_aws_needs_a_yes(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill("a.db", [numbered(1)])
    assert run("export", "a.db", "table", "-o", "a.jsonl").status == 0
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    with hashrange.serve() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.url)
        into = ("import", "aws@eu-west-1", "table", "a.jsonl", "--create")
        assert fault(run(*into)).endswith(
            "writing to AWS needs --yes if there is no terminal to ask at"
        )
        client = boto3.client("dynamodb", "eu-west-1")
        assert client.list_tables()["TableNames"] == []
        declined = run(*into, given="n\n", terminal=True)
        assert fault(declined).endswith("[y/N] hashrange: nothing was written")
        assert client.list_tables()["TableNames"] == []
        assert run(*into, given="y\n", terminal=True).status == 0
        assert run(*into, "--yes").status == 0
        assert client.scan(TableName="table")["Count"] == 1


# ---- mistakes ----


def test_mistakes_are_told_in_one_line(folder: Path, run: Run) -> None:
    fill("a.db", [numbered(1)])
    Path("a.jsonl").write_text(json.dumps({"Item": numbered(1)}))
    out = ("export", "a.db", "table", "-o")
    assert fault(run("export", "none.db", "table", "-o", "b.csv")) == "none.db: no such file"
    assert "ResourceNotFoundException" in fault(run("export", "a.db", "none", "-o", "b.csv"))
    assert fault(run(*out, "a.jsonl")) == "a.jsonl: exists already; name a new file"
    assert "create it first" in fault(run(*out, "none/b.csv"))
    assert "set it with --format" in fault(run(*out, "b.txt"))
    assert "cannot be written with gzip" in fault(run(*out, "b.parquet.gz"))
    closed = "http://127.0.0.1:9"
    assert closed in fault(run("export", closed, "table", "-o", "b.csv"))
    into = ("import", "a.db", "table")
    assert fault(run(*into, "none.jsonl")) == "none.jsonl: no such file"
    nowhere = fault(run("import", "none.db", "table", "a.jsonl"))
    assert nowhere == "none.db: no such file; --create creates it"
    assert (
        fault(run("import", "a.db", "none", "a.jsonl"))
        == "a.db: no table none; --create creates it"
    )
    assert "--create needs" in fault(run("import", "a.db", "none", "a.jsonl", "--create"))
    Path("bad.json").write_text("{}")
    assert "KeySchema" in fault(run("import", "a.db", "none", "a.jsonl", "--create", "bad.json"))
    assert sorted(path.name for path in Path().iterdir()) == ["a.db", "a.jsonl", "bad.json"]


@pytest.mark.parametrize(("name", "extra"), [("b.yaml", "yaml"), ("b.parquet", "parquet")])
def test_a_missing_extra_is_told_before_anything_is_read_or_made(
    name: str, extra: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill("a.db", [numbered(1)])
    for library in ("yaml", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, None)
    install = f"pip install 'hashrange[{extra}]'"
    assert fault(run("export", "a.db", "table", "-o", name)).endswith(install)
    assert fault(run("import", "new.db", "table", name, "--create")).endswith(install)
    assert [path.name for path in Path().iterdir()] == ["a.db"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"v": {"S": "x" * 409_600}}, "Item size has exceeded the maximum allowed size"),
        ({"sk": {"S": "x"}}, "Type mismatch for key sk expected: N actual: S"),
        ({"v": {"N": "1e400"}}, "Number overflow"),
        ({"v": {"SS": []}}, "may not be empty"),
        ({"v": {"X": "x"}}, "is empty, must contain exactly one"),
    ],
)
def test_a_wrong_item_is_named_with_its_line(
    wrong: Item, said: str, folder: Path, run: Run
) -> None:
    fill("a.db", [])
    items = [numbered(number) for number in range(100)]
    items[60] |= wrong
    Path("a.jsonl").write_text("".join(json.dumps({"Item": item}) + "\n" for item in items))
    line = fault(run("import", "a.db", "table", "a.jsonl"))
    assert line.startswith('a.jsonl:61: item {"pk":{"S":"p60"}')
    assert said in line
    assert len(content("a.db")) >= 60 - 25
    items[60] = numbered(60)
    Path("a.jsonl").write_text("".join(json.dumps({"Item": item}) + "\n" for item in items))
    assert run("import", "a.db", "table", "a.jsonl").status == 0
    assert content("a.db") == ordered(items)
