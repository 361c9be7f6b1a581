"""Kinesis, export and import work over every store."""

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from every_store import address as address

import hashrange
from hashrange import Settings

TABLE: dict[str, Any] = {
    "TableName": "orders",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"


def test_what_is_sent_and_moved(address: str | None, tmp_path: Path) -> None:
    (tmp_path / "objects" / "bucket").mkdir(parents=True)
    sent = tmp_path / "sent"
    settings = Settings(
        objects=str(tmp_path / "objects"), kinesis=str(sent), accept_unsupported=True
    )
    with closing(hashrange.connect(address, settings=settings)) as database:
        database.execute("CreateTable", TABLE)
        named = {"TableName": "orders"}
        database.execute("EnableKinesisStreamingDestination", {**named, "StreamArn": STREAM})
        recovery = {"PointInTimeRecoveryEnabled": True}
        database.execute(
            "UpdateContinuousBackups", {**named, "PointInTimeRecoverySpecification": recovery}
        )
        for number in range(60):
            item = {"pk": {"S": f"p{number % 30}"}, "n": {"N": str(number)}}
            database.execute("PutItem", {**named, "Item": item})
        arn = database.execute("DescribeTable", named)["Table"]["TableArn"]
        export = {"TableArn": arn, "S3Bucket": "bucket", "ExportTime": time.time()}
        time.sleep(0.01)
        database.execute("DeleteItem", {**named, "Key": {"pk": {"S": "p0"}}})
        database.execute("PutItem", {**named, "Item": {"pk": {"S": "later"}, "n": {"N": "0"}}})
        export = database.execute("ExportTableToPointInTime", export)["ExportDescription"]
        database.run_upkeep()
        ended = database.execute("DescribeExport", {"ExportArn": export["ExportArn"]})
        assert ended["ExportDescription"]["ItemCount"] == 30
        folder = ended["ExportDescription"]["ExportManifest"].rpartition("/")[0]
        source = {"S3Bucket": "bucket", "S3KeyPrefix": f"{folder}/data/"}
        started = database.execute(
            "ImportTable",
            {
                "S3BucketSource": source,
                "InputFormat": "DYNAMODB_JSON",
                "InputCompressionType": "GZIP",
                "TableCreationParameters": {**TABLE, "TableName": "again"},
            },
        )["ImportTableDescription"]
        database.run_upkeep()
        described = database.execute("DescribeImport", {"ImportArn": started["ImportArn"]})
        assert described["ImportTableDescription"]["ImportStatus"] == "COMPLETED"
        again = database.execute("Scan", {"TableName": "again"})["Items"]
        assert sorted(int(item["n"]["N"]) for item in again) == list(range(30, 60))
        assert list(database.check()) == []
        database.run_upkeep()
    records = [json.loads(line)["dynamodb"] for line in sent.read_text().splitlines()]
    images = [record.get("NewImage") for record in records]
    for number in range(30):
        mine = [int(each["n"]["N"]) for each in images if each and each["pk"]["S"] == f"p{number}"]
        assert mine == [number, number + 30]
