"""Two ways to read a stream with plain boto3, both parents before children.

`Poller` does it alone. `Worker` does it as the Kinesis Client Library: workers that know nothing
of each other share shards by leases in a table, each with a counter that its owner keeps raising
and with how far the shard is processed; who stands still loses its leases to others.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

Client = Any
Change = tuple[str, int]
"""The name of the event, and the number that the writer gave the change."""

LEASES = "leases"
LEASE_SECONDS = 0.4
"""After how long without a sign of its owner a lease is anybody's."""
SHARD_END = "SHARD_END"


class Ledger:
    """The changes that were read, by item, in their order."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.seen: defaultdict[str, list[Change]] = defaultdict(list)

    def add(self, records: list[dict[str, Any]]) -> None:
        for record in records:
            content = record["dynamodb"]
            image = content.get("NewImage") or content["OldImage"]
            key, number = content["Keys"]["pk"]["S"], int(image["n"]["N"])
            self.seen[key].append((record["eventName"], number))


def shards(streams: Client, arn: str) -> Iterator[dict[str, Any]]:
    """All shards of the stream, in deliberately short pages."""
    request = {"StreamArn": arn, "Limit": 7}
    while True:
        page = streams.describe_stream(**request)["StreamDescription"]
        yield from page["Shards"]
        if "LastEvaluatedShardId" not in page:
            return
        request["ExclusiveStartShardId"] = page["LastEvaluatedShardId"]


class Reader(Thread):
    """Reads until the stream is `closed` and every shard is read to its end."""

    def __init__(self, connect: Callable[[str], Client], arn: str, closed: Event) -> None:
        super().__init__()
        self.streams = connect("dynamodbstreams")
        self.arn = arn
        self.closed = closed
        self.crashed = Event()
        """Set to make the reader stop where it is, with nothing handed back."""
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            ended = False
            while not ended and not self.crashed.is_set():
                closed = self.closed.is_set()
                ended = self.turn() and closed
        except BaseException as error:
            self.error = error
            raise

    def turn(self) -> bool:
        """Read a little further; True if all known shards are read to their ends."""
        raise NotImplementedError


class Poller(Reader):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ledger = Ledger()
        self.places: dict[str, str | None] = {}
        """Where to go on in each shard that was begun; None at its end."""

    def turn(self) -> bool:
        found = list(shards(self.streams, self.arn))
        for shard in found:
            name, parent = shard["ShardId"], shard.get("ParentShardId")
            if name not in self.places:
                if parent is not None and self.places.get(parent, "") is not None:
                    continue
                self.places[name] = self.streams.get_shard_iterator(
                    StreamArn=self.arn, ShardId=name, ShardIteratorType="TRIM_HORIZON"
                )["ShardIterator"]
            if self.places[name] is not None:
                page = self.streams.get_records(ShardIterator=self.places[name], Limit=20)
                self.places[name] = page.get("NextShardIterator")
                self.ledger.add(page["Records"])
        return all(self.places.get(shard["ShardId"], "") is None for shard in found)


class Worker(Reader):
    """Processed records count once the checkpoint is written, while the ledger is locked."""

    def __init__(
        self, connect: Callable[[str], Client], arn: str, closed: Event, ledger: Ledger
    ) -> None:
        super().__init__(connect, arn, closed)
        self.db = connect("dynamodb")
        self.ledger = ledger
        self.iterators: dict[str, str] = {}
        self.heard: dict[str, tuple[int, float]] = {}
        """Of each lease the counter as last seen, and since when it is the same."""
        self.taken: set[str] = set()

    def turn(self) -> bool:
        leases = self.leases()  # before the shards: another worker may lease a newer one between
        found = {shard["ShardId"]: shard for shard in shards(self.streams, self.arn)}
        for name in found.keys() - leases.keys():
            self.try_to(
                self.db.put_item,
                Item={"leaseKey": {"S": name}, "counter": {"N": "0"}, "owner": {"S": ""}},
                ConditionExpression="attribute_not_exists(leaseKey)",
            )
        self.take(leases)
        for name, lease in leases.items():
            if lease["owner"]["S"] == self.name and checkpoint(lease) != SHARD_END:
                parent = found[name].get("ParentShardId")
                may_begin = parent is None or checkpoint(leases.get(parent, {})) == SHARD_END
                self.process(name, lease, may_begin)
        ends = [checkpoint(lease) == SHARD_END for lease in self.leases().values()]
        return len(ends) == len(found) and all(ends)

    def leases(self) -> dict[str, dict[str, Any]]:
        pages = self.db.get_paginator("scan").paginate(TableName=LEASES, ConsistentRead=True)
        return {lease["leaseKey"]["S"]: lease for page in pages for lease in page["Items"]}

    def take(self, leases: dict[str, dict[str, Any]]) -> None:
        """Take a lease without a holder, or whose holder stands still; sometimes any lease."""
        for name, lease in sorted(leases.items(), key=lambda _: random.random()):
            counter, owner = int(lease["counter"]["N"]), lease["owner"]["S"]
            if self.heard.get(name, (-1, 0.0))[0] != counter:
                self.heard[name] = (counter, monotonic())
            still = monotonic() - self.heard[name][1] > LEASE_SECONDS
            wanted = not owner or still or random.random() < 0.02
            if owner != self.name and wanted and checkpoint(lease) != SHARD_END:
                if self.write(name, lease, checkpoint(lease), before=owner):
                    self.taken.add(name)
                    self.iterators.pop(name, None)
                    lease["owner"]["S"] = self.name
                return

    def process(self, name: str, lease: dict[str, Any], may_begin: bool) -> None:
        at, records, following = checkpoint(lease), [], None
        if may_begin:
            page = self.streams.get_records(
                ShardIterator=self.iterators.get(name) or self.iterator(name, at),
                Limit=random.randint(1, 25),
            )
            records, following = page["Records"], page.get("NextShardIterator", "")
            if following == "":
                at = SHARD_END
            elif records:
                at = records[-1]["dynamodb"]["SequenceNumber"]
        with self.ledger.lock:
            if not self.write(name, lease, at, before=self.name):
                self.iterators.pop(name, None)  # the lease is lost, and so is this page
                return
            self.ledger.add(records)
        if following:
            self.iterators[name] = following

    def iterator(self, name: str, at: str | None) -> str:
        kind = {"ShardIteratorType": "TRIM_HORIZON"}
        if at is not None:
            kind = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": at}
        place = self.streams.get_shard_iterator(StreamArn=self.arn, ShardId=name, **kind)
        text: str = place["ShardIterator"]
        return text

    def write(self, name: str, lease: dict[str, Any], at: str | None, before: str) -> bool:
        """Renew or take a lease, with a checkpoint; False if it has changed since it was read."""
        counter = int(lease["counter"]["N"])
        item = {
            "leaseKey": {"S": name},
            "owner": {"S": self.name},
            "counter": {"N": str(counter + 1)},
            **({} if at is None else {"checkpoint": {"S": at}}),
        }
        written = self.try_to(
            self.db.put_item,
            Item=item,
            ConditionExpression="#o = :o AND #c = :c",
            ExpressionAttributeNames={"#o": "owner", "#c": "counter"},
            ExpressionAttributeValues={":o": {"S": before}, ":c": {"N": str(counter)}},
        )
        if written:
            lease["counter"]["N"] = item["counter"]["N"]
        return written

    def try_to(self, write: Callable[..., Any], **request: Any) -> bool:
        """Whether the condition held."""
        try:
            write(TableName=LEASES, **request)
        except self.db.exceptions.ConditionalCheckFailedException:
            return False
        return True


def checkpoint(lease: dict[str, Any]) -> str | None:
    """The last processed record of the shard; None before its first record."""
    text: str | None = lease.get("checkpoint", {}).get("S")
    return text
