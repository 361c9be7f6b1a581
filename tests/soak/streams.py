"""A reader of the stream of the table, which replays it."""

from typing import Any

from .runs import Violation
from .tables import TABLE, Execute


class StreamReader:
    """Follows every shard, its parent first. A request without an answer is made again.

    `items` are those that the records so far end with.
    """

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.records = 0
        self._iterators: dict[str, str | None] = {}
        """Where each shard is read next; None at its end."""
        self._last: dict[str, int] = {}
        """The sequence number that was read last from each shard."""

    def turn(self, execute: Execute) -> int:
        """Read a page of each shard. Returns how many records came."""
        before = self.records
        arn = execute("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
        for shard in execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
            if self._iterators.get(shard.get("ParentShardId", "")) is None:
                self._read(execute, arn, shard["ShardId"])
        return self.records - before

    def _read(self, execute: Execute, arn: str, shard: str) -> None:
        if shard not in self._iterators:
            start = {"StreamArn": arn, "ShardIteratorType": "TRIM_HORIZON", "ShardId": shard}
            self._iterators[shard] = execute("GetShardIterator", start)["ShardIterator"]
        iterator = self._iterators[shard]
        if iterator is None:
            return
        page = execute("GetRecords", {"ShardIterator": iterator})
        for record in page["Records"]:
            self._take(shard, record["dynamodb"])
        self._iterators[shard] = page.get("NextShardIterator")

    def _take(self, shard: str, images: dict[str, Any]) -> None:
        """A record follows all before it in its shard, and the one before it of its item."""
        number = int(images["SequenceNumber"])
        if number <= self._last.get(shard, -1):
            raise Violation(f"{shard}: {number} comes after {self._last[shard]}")
        where = str(images["Keys"])
        if self.items.get(where) != images.get("OldImage"):
            raise Violation(f"{images} does not follow {self.items.get(where)}")
        self._last[shard] = number
        self.items.pop(where, None)
        if "NewImage" in images:
            self.items[where] = images["NewImage"]
        self.records += 1
