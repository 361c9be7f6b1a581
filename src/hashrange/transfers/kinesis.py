"""Sends the records of feeds to a service with the API of Kinesis, or to a file.

After a batch has been sent, the feed's position is stored. If the process ends before that, the
batch is sent again. So each record arrives at least once, and the records of an item arrive in
order.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hashrange.failing import needing
from hashrange.runtime.background import RunsUpkeep, Worker, ask

RECORD_BYTES_MAX = 10 * 1024 * 1024
"""The size of the largest record that Kinesis accepts."""
REQUEST_BYTES_MAX = 4 * 1024 * 1024
"""The largest size of a request; only a request with a single record may be larger. Kinesis accepts
requests of 10 MiB, formerly of 5 MiB."""
ATTEMPTS_MAX = 5
TIMEOUT_SECONDS = 5
_TAIL_BYTES = 1 << 20

_log = logging.getLogger("hashrange")


class Entry(msgspec.Struct, rename="pascal", gc=False):
    """One record to send. Records of one item have the same partition key."""

    key: str
    data: msgspec.Raw


class Batch(msgspec.Struct, rename="pascal"):
    """The next records of a feed: see `operations.upkeep.feed`."""

    records: list[Entry]
    positions: dict[str, str]
    fresh: bool
    more: bool


class NotSent(Exception):
    """The destination cannot be reached, or is full. The same records are sent again later."""


class NoStream(Exception):
    """There is no such data stream."""


class Sink(Protocol):
    def send(self, stream_arn: str, entries: Sequence[Entry]) -> None:
        """Send records. Returns when all have been accepted. Raises NotSent and NoStream."""


class FileSink:
    """A file to which the data of each record is appended as a line of JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._whole = False

    def send(self, stream_arn: str, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        try:
            with open(self._path, "ab+") as file:
                if not self._whole:
                    _cut_incomplete_line(file.fileno())
                self._whole = False
                file.write(b"".join(bytes(entry.data) + b"\n" for entry in entries))
                file.flush()
                os.fsync(file.fileno())
                self._whole = True
        except OSError as error:
            raise NotSent(f"{self._path}: {error.strerror}") from None


def _cut_incomplete_line(descriptor: int) -> None:
    """Remove the incomplete last line that a killed process has left. Its record will be sent
    again."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - _TAIL_BYTES)
        tail = os.pread(descriptor, end - start, start)
        end = start + tail.rfind(b"\n") + 1
        if end > start or not start:
            break
    os.ftruncate(descriptor, end)


class ServiceSink:
    """A service with the API of Kinesis, through boto3."""

    def __init__(self, url: str) -> None:
        with needing("boto3"):
            import boto3
            from botocore.config import Config
        self._url = url
        self._session = boto3.Session()
        self._config = Config(
            connect_timeout=TIMEOUT_SECONDS,
            read_timeout=TIMEOUT_SECONDS,
            retries={"total_max_attempts": 1},
        )
        self._clients: dict[str, Any] = {}

    def send(self, stream_arn: str, entries: Sequence[Entry]) -> None:
        for request in _requests(entries):
            self._put(stream_arn, request)

    def _client(self, region: str) -> Any:
        if region not in self._clients:
            self._clients[region] = self._session.client(
                "kinesis", region_name=region, endpoint_url=self._url, config=self._config
            )
        return self._clients[region]

    def _put(self, stream_arn: str, entries: list[Entry]) -> None:
        """Send a request. Records that were not accepted are sent again, before any later
        records."""
        for _ in range(ATTEMPTS_MAX):
            results = self._answer(stream_arn, entries)
            entries = [
                entry
                for entry, result in zip(entries, results, strict=True)
                if "ErrorCode" in result
            ]
            if not entries:
                return
        raise NotSent(f"{stream_arn}: {results[0].get('ErrorCode')}")

    def _answer(self, stream_arn: str, entries: list[Entry]) -> list[dict[str, Any]]:
        from botocore.exceptions import BotoCoreError, ClientError

        records = [{"Data": bytes(entry.data), "PartitionKey": entry.key} for entry in entries]
        client = self._client(stream_arn.split(":")[3])
        name = stream_arn.rpartition("/")[2]
        try:
            answer = client.put_records(StreamName=name, Records=records)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                raise NoStream(error.response["Error"].get("Message", stream_arn)) from None
            raise NotSent(f"{stream_arn}: {error}") from None
        except BotoCoreError as error:
            raise NotSent(f"{self._url}: {error}") from None
        results: list[dict[str, Any]] = answer["Records"]
        return results


def _requests(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Divide records into requests, each with at most one record of an item.

    The service may refuse some records of a request, so it does not guarantee their order.
    """
    request: dict[str, Entry] = {}
    size = 0
    for entry in entries:
        size += len(bytes(entry.data))
        if entry.key in request or (request and size > REQUEST_BYTES_MAX):
            yield list(request.values())
            request, size = {}, len(bytes(entry.data))
        request[entry.key] = entry
    if request:
        yield list(request.values())


class Deliveries(Worker):
    """Sends the records of all feeds, one after the other."""

    name = "hashrange-kinesis"
    pause_seconds = 0.2

    def __init__(self, runtime: RunsUpkeep, sink: Sink) -> None:
        self._sink = sink
        self._trouble: dict[str, str] = {}
        """The last message logged for each data stream to which records could not be sent."""
        super().__init__(runtime, "kinesis")

    def step(self, is_ours: Callable[[], bool]) -> bool:
        feeds = ask(self.runtime, "upkeep.Feeds", {})["Feeds"]
        if not feeds or not is_ours():
            return False
        more = False
        unfinished: set[str] = set()
        for feed in feeds:  # the feeds of a table are in the order in which they were enabled
            if feed["TableName"] not in unfinished and not self.closing and is_ours():
                left = self._deliver(feed)
                more = more or bool(left)
                if left is not False:
                    unfinished.add(feed["TableName"])
        return more

    def _deliver(self, feed: dict[str, str]) -> bool | None:
        """Send the next records of a feed. Returns whether there are more, or None if the records
        could not be sent.

        Records accumulate while the worker pauses, so that each commit of a position covers many
        records.
        """
        place = {"TableName": feed["TableName"], "Label": feed["Label"]}
        body = msgspec.json.encode(place)
        batch = _decode_batch(self.runtime.call_upkeep("upkeep.FeedBatch", body))
        arn = feed["StreamArn"]
        try:
            self._sink.send(arn, [entry for entry in batch.records if _fits(entry, arn)])
        except (NotSent, NoStream) as error:
            if isinstance(error, NoStream) and batch.fresh:
                ask(self.runtime, "upkeep.FeedFailed", {**place, "Reason": str(error)})
            self._tell(arn, str(error))
            return None
        if batch.records and arn in self._trouble:
            del self._trouble[arn]
            _log.info("%s: sending records works again", arn)
        if batch.positions:
            ask(self.runtime, "upkeep.FeedSent", {**place, "Positions": batch.positions})
        return batch.more

    def _tell(self, arn: str, reason: str) -> None:
        if self._trouble.get(arn) != reason:
            self._trouble[arn] = reason
            _log.error("%s: no records can be sent; retrying: %s", arn, reason)


_decode_batch = msgspec.json.Decoder(Batch).decode


def _fits(entry: Entry, arn: str) -> bool:
    """Whether a record is small enough to be sent. A larger record is logged. In DynamoDB, too, a
    record may be too large for Kinesis."""
    size = len(bytes(entry.data))
    if size > RECORD_BYTES_MAX:
        start = bytes(entry.data)[:200]
        _log.error("%s: a record of %d bytes is too large, and is not sent: %s…", arn, size, start)
    return size <= RECORD_BYTES_MAX


def sink_of(place: str) -> Sink:
    """The sink for the value of `serve --kinesis`, which is a URL or the path of a file."""
    if place.startswith(("http://", "https://")):
        return ServiceSink(place)
    return FileSink(Path(place))
