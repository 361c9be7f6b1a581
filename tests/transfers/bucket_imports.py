"""Imports from buckets in a folder, for tests."""

import json
from pathlib import Path
from typing import Any

import hashrange
from hashrange import Settings

TABLE = {
    "TableName": "orders",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "n", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
ITEMS: list[dict[str, Any]] = [
    {"pk": {"S": "a"}, "n": {"N": "1"}, "text": {"S": 'quo"te\n{}'}, "empty": {"S": ""}},
    {"pk": {"S": "a"}, "n": {"N": "2"}, "large": {"N": "1" + "0" * 100}},
    {"pk": {"S": "a"}, "n": {"N": "2.5"}, "exact": {"N": "-0." + "1234567890" * 3 + "12345678"}},
    {"pk": {"S": "b"}, "n": {"N": "3"}, "b": {"B": "AAEC"}, "yes": {"BOOL": True}},
    {"pk": {"S": "ü"}, "n": {"N": "4"}, "set": {"SS": ["x", "y"]}, "no": {"NULL": True}},
    {"pk": {"S": "ü"}, "n": {"N": "4.5"}, "n s": {"NS": ["2.5"]}, "bs": {"BS": ["AQ=="]}},
    {"pk": {"S": "c"}, "n": {"N": "5"}, "odd'": {"M": {"null": {"L": [{"N": "7"}, {"M": {}}]}}}},
]
LINES = "".join(json.dumps({"Item": item}) + "\n" for item in ITEMS).encode()
Json = dict[str, Any]


class Imports:
    """A database with buckets in a folder."""

    def __init__(self, folder: Path, path: Path | None = None, **settings: Any) -> None:
        self.folder = folder
        (folder / "bucket").mkdir(parents=True, exist_ok=True)
        self.database = hashrange.connect(path, settings=Settings(objects=str(folder), **settings))

    def close(self) -> None:
        self.database.close()

    def put(self, key: str, content: bytes) -> None:
        path = self.folder / "bucket" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def start(self, format: str = "DYNAMODB_JSON", **members: Any) -> Json:
        source = {"S3Bucket": members.pop("bucket", "bucket")}
        if "prefix" in members:
            source["S3KeyPrefix"] = members.pop("prefix")
        request = {
            "S3BucketSource": source,
            "InputFormat": format,
            "TableCreationParameters": TABLE,
            **members,
        }
        answer = self.database.execute("ImportTable", request)["ImportTableDescription"]
        return dict(answer)

    def done(self, format: str = "DYNAMODB_JSON", **members: Any) -> Json:
        started = self.start(format, **members)
        self.database.run_upkeep()
        return self.described(started)

    def described(self, started: Json) -> Json:
        arn = {"ImportArn": started["ImportArn"]}
        return dict(self.database.execute("DescribeImport", arn)["ImportTableDescription"])

    def items(self) -> list[Json]:
        items = self.database.execute("Scan", {"TableName": "orders"})["Items"]
        return sorted(items, key=lambda item: float(item["n"]["N"]))

    def status(self) -> str:
        table = self.database.execute("DescribeTable", {"TableName": "orders"})["Table"]
        return str(table["TableStatus"])


def counts(description: Json) -> tuple[str, int, int, int]:
    names = ("ProcessedItemCount", "ImportedItemCount", "ErrorCount")
    return (description["ImportStatus"], *(description[name] for name in names))
