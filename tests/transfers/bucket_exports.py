"""Exports to buckets in a folder, for tests."""

from typing import Any

from bucket_imports import TABLE, Imports, Json

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
RECOVERY = {
    "TableName": "orders",
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
}


class Exports(Imports):
    """A table with items, in a database with buckets in a folder."""

    def fill(self, items: list[Json]) -> None:
        self.database.execute("CreateTable", TABLE)
        for item in items:
            self.database.execute("PutItem", {"TableName": "orders", "Item": item})
        self.database.execute("UpdateContinuousBackups", RECOVERY)

    def begin(self, **members: Any) -> Json:
        request = {"TableArn": ARN, "S3Bucket": "bucket", **members}
        answer = self.database.execute("ExportTableToPointInTime", request)
        return dict(answer["ExportDescription"])

    def exported(self, **members: Any) -> Json:
        begun = self.begin(**members)
        assert begun["ExportStatus"] == "IN_PROGRESS"
        self.database.run_upkeep()
        return self.export(begun)

    def export(self, begun: Json) -> Json:
        arn = {"ExportArn": begun["ExportArn"]}
        return dict(self.database.execute("DescribeExport", arn)["ExportDescription"])

    def objects(self) -> dict[str, bytes]:
        top = self.folder / "bucket"
        return {
            path.relative_to(top).as_posix(): path.read_bytes()
            for path in top.rglob("*")
            if path.is_file() and ".unfinished" not in path.parts
        }
