"""Imports are jobs: they are listed, fail later, and go on after an interruption."""

import gzip
import io
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bucket_imports import ITEMS, LINES, TABLE, Imports, Json, counts
from command_line import command_line
from fake_s3 import fake_s3
from small import by_hand as by_hand
from small import small_jobs as small_jobs

import hashrange
from hashrange import Settings
from hashrange.model.errors import (
    ImportConflictException,
    ImportNotFoundException,
    LimitExceededException,
    ResourceInUseException,
    ValidationException,
)
from hashrange.transfers.buckets import Buckets

zstandard = pytest.importorskip("zstandard")
pytest.importorskip("amazon.ion")


@pytest.fixture
def imports(tmp_path: Path) -> Iterator[Imports]:
    with closing(Imports(tmp_path / "objects")) as found:
        yield found


def test_a_bucket_that_is_missing_fails_later_and_makes_no_table(imports: Imports) -> None:
    started = imports.start(bucket="absent")
    assert started["ImportStatus"] == "IN_PROGRESS"
    imports.database.run_upkeep()
    ended = imports.described(started)
    assert (ended["ImportStatus"], ended["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert imports.database.execute("ListTables", {})["TableNames"] == []


@pytest.mark.parametrize("prefix", ["../", "/etc", "..", "absent/"])
def test_a_prefix_finds_only_keys(imports: Imports, prefix: str) -> None:
    (imports.folder.parent / "secret").write_bytes(LINES)
    assert counts(imports.done(prefix=prefix)) == ("COMPLETED", 0, 0, 0)


def test_what_is_refused_at_once(imports: Imports) -> None:
    with pytest.raises(ValidationException):
        imports.start(bucket="../objects")
    one_index = [
        {
            "IndexName": "byX",
            "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ]
    wrong = {**TABLE, "GlobalSecondaryIndexes": one_index}
    with pytest.raises(ValidationException, match="AttributeDefinitions"):
        imports.start(TableCreationParameters=wrong)
    imports.start(ClientToken="one")
    with pytest.raises(ResourceInUseException, match="Table already exists: orders"):
        imports.start()
    assert imports.start(ClientToken="one")["ClientToken"] == "one"
    with pytest.raises(ImportConflictException):
        imports.start("CSV", ClientToken="one")
    imports.database.run_upkeep()
    with pytest.raises(ResourceInUseException, match="Table already exists: orders"):
        imports.start()
    arn = imports.start(ClientToken="one")["ImportArn"]
    with pytest.raises(ImportNotFoundException):
        imports.described({"ImportArn": arn[:-8] + "00000000"})
    with pytest.raises(ValidationException, match="Invalid Import ARN"):
        imports.described({"ImportArn": arn.replace("/import/", "/export/")})


def test_lists_are_newest_first_and_have_pages(imports: Imports) -> None:
    imports.put("a", LINES)
    arns = []
    for number in range(5):
        parameters = {**TABLE, "TableName": f"table{number}"}
        arns.append(imports.done(TableCreationParameters=parameters)["ImportArn"])
    found, token = [], dict[str, str]()
    while True:
        page = imports.database.execute("ListImports", {"PageSize": 2, **token})
        found += [each["ImportArn"] for each in page["ImportSummaryList"]]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert found == arns[::-1]
    only = {"TableArn": arns[2].partition("/import/")[0]}
    [summary] = imports.database.execute("ListImports", only)["ImportSummaryList"]
    assert summary["ImportArn"] == arns[2]
    with pytest.raises(ValidationException, match="nextToken is invalid"):
        imports.database.execute("ListImports", {"NextToken": "00" * 8 * 7})


@pytest.mark.usefixtures("by_hand")
def test_at_most_fifty_at_once(imports: Imports) -> None:
    for number in range(50):
        imports.start(TableCreationParameters={**TABLE, "TableName": f"table{number}"})
    with pytest.raises(LimitExceededException):
        imports.start()


class Endless(io.RawIOBase):
    """Blank lines, whose reader is asked to stop while it reads them."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._stop()
        buffer[:] = b"\n" * len(buffer)
        return len(buffer)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("format_", ["CSV", "DYNAMODB_JSON", "ION"])
def test_an_import_that_finds_nothing_for_long_stops_with_its_server(
    imports: Imports, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    """A bomb of blank lines is small, and has no item between whose steps it could stop."""
    from hashrange.transfers import importing, reading

    worker = importing.Imports(imports.database.runtime, Buckets(str(imports.folder)))
    blank = io.BufferedReader(Endless(lambda: setattr(worker, "closing", True)))
    monkeypatch.setattr(reading, "_UNPACK", {"NONE": lambda stream: blank})
    imports.put("bomb", b"packed")
    started = imports.start(InputFormat=format_)
    while not worker.closing:
        worker.step(lambda: True)
    assert imports.described(started)["ImportStatus"] == "IN_PROGRESS"


@pytest.mark.usefixtures("by_hand", "small_jobs")
def test_an_import_goes_on_wherever_it_was_interrupted(imports: Imports) -> None:
    """Each step is done by a process of its own. The table is closed until the last one."""
    from hashrange.transfers import importing

    line = b'{"Item":{"pk":{"S":"%d"},"n":{"N":"%d"}}}\n'
    for name in ("a", "b"):
        imports.put(name, b"".join(line % (n % 70, n % 5) for n in range(90)) + b"[]")
    path = imports.folder.parent / "a.db"
    started: Json = {}
    statuses: list[str] = []
    while not statuses or statuses[-1] != "ACTIVE":
        each = Imports(imports.folder, path)
        with closing(each.database):
            started = started or each.start()
            worker = importing.Imports(each.database.runtime, Buckets(str(each.folder)))
            worker.step(lambda: True)
            statuses.append(each.status())
            if statuses[-1] == "CREATING":
                with pytest.raises(ResourceInUseException, match="being created"):
                    each.database.execute("DeleteTable", {"TableName": "orders"})
                continue
            assert counts(each.described(started)) == ("FAILED", 182, 180, 2)
            table = each.database.execute("DescribeTable", {"TableName": "orders"})["Table"]
            assert table["ItemCount"] == len({(n % 70, n % 5) for n in range(90)})
            assert list(each.database.check()) == []
    assert statuses.count("CREATING") > 14


@pytest.mark.usefixtures("by_hand")
def test_a_step_that_comes_twice_is_done_once(imports: Imports) -> None:
    """As if another process had not heard yet that the first one has done it."""
    from hashrange.transfers import importing

    runtime, stale = imports.database.runtime, []

    class Twice:
        def call_upkeep(self, name: str, body: bytes, /) -> bytes:
            answer = runtime.call_upkeep(name, body)
            if name == "upkeep.ImportItems":
                stale.append(json.loads(runtime.call_upkeep(name, body))["Stale"])
            return answer

    imports.put("a", LINES)
    imports.put("b", LINES)
    started = imports.start()
    with closing(importing.Imports(Twice(), Buckets(str(imports.folder)))) as worker:
        while worker.run_once():
            pass
    assert counts(imports.described(started)) == ("COMPLETED", 2 * len(ITEMS), 2 * len(ITEMS), 0)
    assert stale
    assert all(stale)


def test_without_objects_it_is_refused(tmp_path: Path) -> None:
    with closing(hashrange.connect(tmp_path / "a.db")) as database:
        request = {
            "S3BucketSource": {"S3Bucket": "bucket"},
            "InputFormat": "CSV",
            "TableCreationParameters": TABLE,
        }
        with pytest.raises(ValidationException, match="started without --objects"):
            database.execute("ImportTable", request)


def test_a_server_takes_the_buckets_of_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-west-1")
    with fake_s3() as service:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", service.url)
        service.buckets["bucket"]["in/a"] = gzip.compress(LINES)
        database = hashrange.connect(settings=Settings(objects="s3://"))
        with closing(database):
            requests = [
                {
                    "S3BucketSource": {"S3Bucket": bucket, "S3KeyPrefix": "in/"},
                    "InputFormat": "DYNAMODB_JSON",
                    "InputCompressionType": "GZIP",
                    "TableCreationParameters": {**TABLE, "TableName": bucket},
                }
                for bucket in ("bucket", "absent")
            ]
            for request in requests:
                database.execute("ImportTable", request)
            database.run_upkeep()
            found = database.execute("ListImports", {})["ImportSummaryList"]
            assert sorted(each["ImportStatus"] for each in found) == ["COMPLETED", "FAILED"]
            scanned = database.execute("Scan", {"TableName": "bucket"})
            assert scanned["Count"] == len(ITEMS)


@pytest.mark.parametrize(
    ("option", "place", "told"),
    [("--objects", "absent", "no such folder"), ("--kinesis", "absent/file", "does not exist")],
)
def test_a_place_that_is_missing_is_told_at_the_start(
    tmp_path: Path, option: str, place: str, told: str
) -> None:
    refused = command_line("serve", "--port", 0, option, tmp_path / place)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert told in refused.stderr
