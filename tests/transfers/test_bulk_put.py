"""StartBulkPutItems: items with and without conditions into a table that exists."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bucket_imports import ITEMS, LINES, TABLE, Imports, Json
from small import by_hand as by_hand
from small import small_jobs as small_jobs

import hashrange
from hashrange.model.errors import (
    IdempotentParameterMismatchException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.transfers import bulk_puts
from hashrange.transfers.buckets import Buckets

BOTH = ["ERROR", "CONDITION_CHECK_FAILURE"]
NEW = {"ConditionExpression": "attribute_not_exists(pk)"}


class BulkPuts(Imports):
    def begin(self, format: str = "DYNAMODB_JSON", **members: Any) -> Json:
        source = {"S3Bucket": "bucket", "S3KeyPrefix": "in/", "InputFormat": format}
        request = {
            "TableName": "orders",
            "InputS3Configuration": source | members.pop("input", {}),
            "OutputS3Configuration": {"S3Bucket": "bucket", "OutputType": BOTH}
            | members.pop("output", {}),
            **members,
        }
        answer = self.database.execute("StartBulkPutItems", request)
        return dict(answer["BulkOperationDescription"])

    def operation(self, begun: Json) -> Json:
        arn = {"BulkOperationArn": begun["BulkOperationArn"]}
        answer = self.database.execute("DescribeBulkOperation", arn)
        return dict(answer["BulkOperationDescription"])

    def ended(self, *arguments: Any, **members: Any) -> Json:
        begun = self.begin(*arguments, **members)
        assert begun["BulkOperationStatus"] == "IN_PROGRESS"
        self.database.run_upkeep()
        return self.operation(begun)

    def reports(self, begun: Json, type_: str, prefix: str = "") -> list[Json]:
        id_ = begun["BulkOperationArn"].rpartition("/")[2]
        folder = self.folder / "bucket" / prefix / "AWSDynamoDB" / id_
        paths = sorted((folder / type_).glob("*.json"))
        if paths:
            manifest = (folder / "manifest-files.json").read_text()
            assert all(f"AWSDynamoDB/{id_}/{type_}/{path.name}" in manifest for path in paths)
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


@pytest.fixture
def bulk(tmp_path: Path) -> Iterator[BulkPuts]:
    with closing(BulkPuts(tmp_path / "objects")) as found:
        found.database.execute("CreateTable", TABLE)
        yield found


def counts(description: Json) -> tuple[str, int, int]:
    names = ("ProcessedItemCount", "FailedItemCount")
    return (description["BulkOperationStatus"], *(description[name] for name in names))


def lines(*records: Json) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def item(pk: str, n: int, **attributes: Any) -> Json:
    return {"pk": {"S": pk}, "n": {"N": str(n)}, **attributes}


def test_items_are_put(bulk: BulkPuts) -> None:
    bulk.put("in/a", LINES)
    ended = bulk.ended(ClientToken="token", PerformanceTier="ACCELERATED")
    assert counts(ended) == ("COMPLETED", len(ITEMS), 0)
    assert ended["TotalInputBytes"] == ended["ProcessedInputBytes"] == len(LINES)
    [details] = ended["TableDetails"]
    table = bulk.database.execute("DescribeTable", {"TableName": "orders"})["Table"]
    assert details == {"TableName": "orders", "TableId": table["TableId"]}
    [usage] = ended["BulkOperationUsage"]
    assert usage["BulkPutBytes"] == usage["Table"]["BulkPutBytes"] > 100
    assert bulk.items() == ITEMS
    assert not (bulk.folder / "bucket" / "AWSDynamoDB").exists()


@pytest.mark.parametrize("format", ["DYNAMODB_JSON", "ION"])
def test_conditions(bulk: BulkPuts, format: str) -> None:
    """Each item sees those before it. The order of the reports is not promised."""
    there, values = item("there", 1, old={"BOOL": True}), {":n": {"N": "1"}}
    larger = {
        "ConditionExpression": "#n = :n",
        "ExpressionAttributeNames": {"#n": "n"},
        "ExpressionAttributeValues": values,
    }
    bulk.database.execute("PutItem", {"TableName": "orders", "Item": there})
    if format == "ION":
        pytest.importorskip("amazon.ion")
        condition = 'ConditionExpression:"attribute_not_exists(pk)"'
        content = (
            f'{{Item:{{pk:"there",n:1}},{condition}}}{{Item:{{pk:"a",n:2}},{condition}}}'
            f'{{Item:{{pk:"a",n:2,x:1}},{condition}}}{{Item:{{pk:"b",n:3}}}}'
            '{Item:{pk:"there",n:1,y:1},ConditionExpression:"#n = :n",'
            "ExpressionAttributeNames:{'#n':\"n\"},ExpressionAttributeValues:{':n':1}}"
        ).encode()
    else:
        content = lines(
            {"Item": item("there", 1), **NEW},
            {"Item": item("a", 2), **NEW},
            {"Item": item("a", 2, x={"N": "1"}), **NEW},
            {"Item": item("b", 3)},
            {"Item": item("there", 1, y={"N": "1"}), **larger},
        )
    bulk.put("in/a", content)
    ended = bulk.ended(format)
    assert counts(ended) == ("COMPLETED", 5, 0)
    assert bulk.items() == [item("there", 1, y={"N": "1"}), item("a", 2), item("b", 3)]
    failed = bulk.reports(ended, "CONDITION_CHECK_FAILURE")
    found = {line["RecordNumber"]: (line["Item"], line["ExistingItem"]) for line in failed}
    assert found == {
        1: (item("there", 1), there),
        3: (item("a", 2, x={"N": "1"}), item("a", 2)),
    }
    assert bulk.reports(ended, "ERROR") == []
    assert list(bulk.database.check()) == []


def test_errors_are_reported(bulk: BulkPuts) -> None:
    bulk.put(
        "in/a",
        lines(
            {"Item": {"pk": {"S": "no n"}}},
            {"Item": item("a", 1), "ConditionExpression": "what ="},
            {"Item": item("a", 1), "ReturnValues": "ALL_OLD"},
            {"Item": item("a", 1, large={"S": "x" * 410_000})},
            {"Item": item("a", 1), "ExpressionAttributeNames": {"#unused": "x"}},
            {"Item": item("good", 1)},
        )
        + b"{cut\n",
    )
    ended = bulk.ended(output={"S3KeyPrefix": "out", "OutputType": ["ERROR"]})
    assert counts(ended) == ("COMPLETED_WITH_ERRORS", 7, 6)
    errors = bulk.reports(ended, "ERROR", "out")
    assert sorted(line["RecordNumber"] for line in errors) == [1, 2, 3, 4, 5, 7]
    assert all(line["S3Key"] == "in/a" and line["ErrorMessage"] for line in errors)
    assert bulk.items() == [item("good", 1)]


@pytest.mark.usefixtures("by_hand", "small_jobs")
def test_reports_survive_interruptions(tmp_path: Path) -> None:
    """Each process does one step, and ends before it has written the report of that step."""
    path = tmp_path / "a.db"
    first = BulkPuts(tmp_path / "objects", path)
    records = [{"Item": item(f"p{n}", n), **NEW} for n in range(20)]
    first.put("in/a", lines(*records, *records))
    with closing(first):
        first.database.execute("CreateTable", TABLE)
        begun = first.begin()
    for _ in range(40):
        each = BulkPuts(tmp_path / "objects", path)
        with closing(each):
            worker = bulk_puts.BulkPuts(each.database.runtime, Buckets(str(each.folder)))
            worker.step(lambda: True)
            ended = each.operation(begun)
            if ended["BulkOperationStatus"] != "IN_PROGRESS":
                break
    assert counts(ended) == ("COMPLETED", 40, 0)
    failed = first.reports(ended, "CONDITION_CHECK_FAILURE")
    assert sorted(line["RecordNumber"] for line in failed) == list(range(21, 41))


def test_the_rate_is_limited_and_an_operation_can_be_cancelled(bulk: BulkPuts) -> None:
    large = {"text": {"S": "x" * 4000}}
    bulk.put("in/a", lines(*({"Item": item(f"p{n}", n, **large)} for n in range(2000))))
    begun = bulk.begin(MaxWriteRequestUnits=1024)
    time.sleep(0.3)
    arn = {"BulkOperationArn": begun["BulkOperationArn"]}
    cancelling = bulk.database.execute("CancelBulkOperation", arn)
    assert cancelling == {**arn, "BulkOperationStatus": "CANCELLING"}
    while (ended := bulk.operation(begun))["BulkOperationStatus"] == "CANCELLING":
        bulk.database.run_upkeep()
    assert ended["BulkOperationStatus"] == "CANCELLED"
    assert ended["FailureCode"]
    assert ended["EndTime"] >= ended["StartTime"]
    count = bulk.database.execute("Scan", {"TableName": "orders", "Select": "COUNT"})["Count"]
    assert count <= ended["ProcessedItemCount"] < 2000
    again = bulk.database.execute("CancelBulkOperation", arn)
    assert again["BulkOperationStatus"] == "CANCELLED"


def test_what_fails_and_is_refused(bulk: BulkPuts) -> None:
    absent = bulk.ended(input={"S3Bucket": "absent"})
    assert (absent["BulkOperationStatus"], absent["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    with pytest.raises(ValidationException):
        bulk.begin(output={"OutputType": []})
    with pytest.raises(ResourceNotFoundException):
        bulk.begin(TableName="absent")
    one = bulk.begin(ClientToken="one")
    assert bulk.begin(ClientToken="one")["BulkOperationArn"] == one["BulkOperationArn"]
    with pytest.raises(IdempotentParameterMismatchException):
        bulk.begin("ION", ClientToken="one")
    with pytest.raises(ResourceNotFoundException, match="Bulk operation"):
        bulk.operation({"BulkOperationArn": one["BulkOperationArn"][:-1] + "x"})
    bulk.database.run_upkeep()
    listed = bulk.database.execute("ListBulkOperations", {"MaxResults": 1})
    [newest] = listed["BulkOperationsSummaryList"]
    assert newest["BulkOperationArn"] == one["BulkOperationArn"]
    rest = bulk.database.execute("ListBulkOperations", {"NextToken": listed["NextToken"]})
    assert [each["BulkOperationStatus"] for each in rest["BulkOperationsSummaryList"]] == ["FAILED"]


@pytest.mark.usefixtures("by_hand")
def test_a_table_that_is_deleted_meanwhile(bulk: BulkPuts) -> None:
    bulk.put("in/a", LINES)
    begun = bulk.begin()
    bulk.database.execute("DeleteTable", {"TableName": "orders"})
    bulk.database.execute("CreateTable", TABLE)
    bulk.database.run_upkeep()
    ended = bulk.operation(begun)
    assert (ended["BulkOperationStatus"], ended["FailureCode"]) == ("FAILED", "TableNotFound")
    assert bulk.items() == []


def test_without_objects_it_is_refused(tmp_path: Path) -> None:
    with closing(hashrange.connect(tmp_path / "a.db")) as database:
        database.execute("CreateTable", TABLE)
        request = {
            "TableName": "orders",
            "InputS3Configuration": {"S3Bucket": "bucket", "InputFormat": "ION"},
            "OutputS3Configuration": {"OutputType": BOTH},
        }
        with pytest.raises(ValidationException, match="started without --objects"):
            database.execute("StartBulkPutItems", request)
