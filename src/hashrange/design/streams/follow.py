"""Reading a table's stream in this process, with checkpoints in the table."""

import threading
from typing import Any

from hashrange.design.declare.protocols.stores import Store
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DesignError
from hashrange.design.execute.connection import connect, is_database
from hashrange.design.execute.steps import ApiCall, ApiFailure, Connection, Steps, run
from hashrange.design.execute.store import OpenStore
from hashrange.design.streams.dispatch import Dispatcher
from hashrange.design.streams.progress import advance, checkpoint_key, is_behind, last
from hashrange.design.streams.shards import TRIMMED, Record, Shard, Shards

POLL_SECONDS = 1.0
STREAM_OPERATIONS = ("DescribeStream", "GetShardIterator", "GetRecords")
CHECKPOINT_RECORDS = 100
"""The largest number of records between checkpoints. It also counts records without a handler."""


def follow(db: Store, *, streams: Any = None, reader: str = "main") -> "Follower":
    """A reader of the table's stream, which updates copies and calls the handlers of `st.on`.

    If the store uses a boto3 client, pass a client for "dynamodbstreams" as `streams`. Readers with
    different names each get every record. If a handler raises an error, its record is handled
    again, so handlers must be idempotent. Without a checkpoint, reading starts with the oldest
    record of the stream, which keeps records for 24 hours.
    """
    return Follower(db, streams, reader)


class Follower:
    """See `follow`."""

    def __init__(self, db: object, streams: Any, reader: str) -> None:
        if not isinstance(db, OpenStore):
            raise TypeError(f"{type(db).__name__} is not an open st.Store")
        model = db._core.model
        if not model.stream:
            raise DesignError(
                f"{model.name} has no stream: declare one with st.Table(..., stream=True)"
            )
        self._connection = _Both(db._connection, _streams(db._connection, streams))
        self._reader = _StreamReader(model, Dispatcher(db._core), reader)

    def catch_up(self) -> int:
        """Handle the records that the stream has now. Returns the number of handled changes.

        Errors of handlers are raised unchanged. The next call begins with the record that failed.
        """
        return run(self._reader.catch_up(), self._connection)

    def run(self, stop: threading.Event | None = None) -> None:
        """Handle records until `stop` is set."""
        stop = stop or threading.Event()
        while not stop.is_set():
            if not self.catch_up():
                stop.wait(POLL_SECONDS)


class _Both:
    """One connection from two: boto3 has a client for tables and another one for streams."""

    def __init__(self, table: Connection, streams: Connection) -> None:
        self.table, self.streams = table, streams

    def call(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        side = self.streams if operation in STREAM_OPERATIONS else self.table
        return side.call(operation, payload)


def _streams(connection: Connection, streams: Any) -> Connection:
    if streams is not None:
        return connect(streams, service="dynamodbstreams")
    if not is_database(connection):
        raise TypeError('a boto3 client needs streams=session.client("dynamodbstreams") as well')
    return connection


class _StreamReader:
    """Reads each shard after its parent, and keeps a checkpoint for each shard."""

    def __init__(self, model: TableModel, dispatcher: Dispatcher, name: str) -> None:
        self.model, self.dispatcher, self.name = model, dispatcher, name

    def catch_up(self) -> Steps[int]:
        shards = Shards((yield from self._arn()))
        yield from shards.find()
        handled = 0
        read: set[str] = set()
        while ready := [shard for shard in shards.readable() if shard.id not in read]:
            for shard in ready:
                handled += yield from self._read(shards, shard)
                read.add(shard.id)
        return handled

    def _arn(self) -> Steps[str]:
        response = yield ApiCall("DescribeTable", {"TableName": self.model.name})
        arn: str | None = response["Table"].get("LatestStreamArn")
        if arn is None:
            raise DesignError(
                f"the table {self.model.name!r} has no stream: enable it with NEW_AND_OLD_IMAGES"
            )
        return arn

    def _read(self, shards: Shards, shard: Shard) -> Steps[int]:
        """Handle a shard's records after its checkpoint. Returns the number of handled changes."""
        key = checkpoint_key(self.model, self.name, shard.id)
        shard.after = after = yield from last(self.model, key)
        handled = passed = 0
        while not shard.ended:
            records = yield from self._records(shards, shard)
            if not records and not shard.closed:
                break
            for record in records:
                sequence = record["dynamodb"]["SequenceNumber"]
                if not is_behind(after, sequence):
                    continue
                change = self.dispatcher.change(record)
                passed += 1
                if change is not None:
                    yield from self.dispatcher.handle(change)
                    handled += 1
                if change is not None or passed % CHECKPOINT_RECORDS == 0:
                    yield from advance(self.model, key, sequence)
        return handled

    def _records(self, shards: Shards, shard: Shard) -> Steps[list[Record]]:
        """The next records of the shard, or its oldest records if the next ones are gone."""
        try:
            return (yield from shards.read(shard))
        except ApiFailure as failure:
            if failure.code != TRIMMED:
                raise
        shard.after = shard.iterator = None
        return (yield from shards.read(shard))
