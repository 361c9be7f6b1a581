"""`hashrange.record`: records the consumption of a boto3 client's requests, on AWS or elsewhere.

It sees the responses of the service: units by table and index. It does not see the partitions, nor
the keys of index entries that a request does not name. The units of these entries are recorded at
random places in the hash space. The trace states their share of all units.
"""

import json
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, Self

from hashrange.database.connecting import connect
from hashrange.declared.tables import creation
from hashrange.kv import PARTITION_BYTES
from hashrange.metering.trace import (
    SECOND,
    Ask,
    Event,
    Keys,
    Paid,
    TraceWriter,
    row_key,
)
from hashrange.model.settings import Settings
from hashrange.model.tables import Index, Table

_log = logging.getLogger("hashrange")

READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
WRITES = frozenset({
    "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems",
})  # fmt: skip
WHOLE = frozenset({"TransactGetItems", "TransactWriteItems"})
EVENTS = ("provide-client-params", "before-call", "after-call")
THROTTLED = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException"})
NO_MAP = "the partitions on AWS are not known; those of a new table with these settings are assumed"
PARTIQL = "PartiQL statements are not recorded"
_EQUALITY = re.compile(r"([#\w.-]+)\s*=\s*(:[\w.-]+)")
Json = dict[str, Any]


class Recording:
    """Records the requests of a client until it is closed; it is also a context manager."""

    def __init__(self, client: Any, path: str, keys: Keys) -> None:
        self._client = client
        settings = Settings(throughput="measured")
        self._writer = TraceWriter(path, keys, settings, source="boto3")
        self._lock = Lock()
        self._tables: dict[str, Table | None] = {}
        self._database = connect()  # creates copies of the service's tables, for their definitions
        self._latest = self._number = 0
        self._units = self._unplaced = 0.0
        self._retries = self._unknown = 0
        for event in EVENTS:
            handler = getattr(self, "_" + event.replace("-", "_"))
            client.meta.events.register(f"{event}.dynamodb", handler, unique_id=self._id(event))

    def close(self) -> None:
        """Stop recording, and write notes about data that could not be seen."""
        for event in EVENTS:
            self._client.meta.events.unregister(f"{event}.dynamodb", unique_id=self._id(event))
        with self._lock:
            self._writer.begin(time.time())
            for note in self._notes():
                self._writer.note(note)
            self._writer.close(time.time())
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _id(self, event: str) -> str:
        return f"hashrange-record-{event}-{id(self)}"

    def _notes(self) -> Iterator[str]:
        yield NO_MAP
        yield PARTIQL
        if self._units:
            share = self._unplaced / self._units
            yield f"{100 * share:.1f} % of the units have unknown keys, which are placed at random"
        if self._retries:
            yield f"{self._retries:,} retries of boto3 were not recorded separately"
        if self._unknown:
            yield f"{self._unknown:,} responses did not report the consumed capacity"

    # ---- events of botocore ----

    def _provide_client_params(self, params: Json, model: Any, **_: Any) -> Json | None:
        """Request the units of each index, unless the program sets ReturnConsumedCapacity
        itself."""
        members = model.input_shape.members if model.input_shape else {}
        if "ReturnConsumedCapacity" not in members or "ReturnConsumedCapacity" in params:
            return None
        return {**params, "ReturnConsumedCapacity": "INDEXES"}

    def _before_call(self, model: Any, params: Json, context: Json, **_: Any) -> None:
        context["hashrange-record"] = params.get("body", b"{}")

    def _after_call(self, parsed: Json, model: Any, context: Json, **_: Any) -> None:
        operation = model.name
        if operation not in READS and operation not in WRITES:
            return
        try:
            request = json.loads(context.get("hashrange-record") or b"{}")
            self._record(operation, request, parsed)
        except Exception:  # a mistake here must not reach the program that is recorded
            _log.exception("a request could not be recorded")

    # ---- the trace ----

    def _record(self, operation: str, request: Json, parsed: Json) -> None:
        places = list(_places(operation, request))
        tables = {name: self._table(name) for name, *_ in places}
        code = parsed.get("Error", {}).get("Code")
        if not places or None in tables.values() or (code and code not in THROTTLED):
            return
        with self._lock:
            self._retries += parsed.get("ResponseMetadata", {}).get("RetryAttempts", 0)
            now = time.time()
            self._writer.begin(now)
            assert self._writer.started is not None
            self._latest = max(self._latest, round((now - self._writer.started) * SECOND))
            self._number += 1
            written = operation in WRITES
            asks, items = [], []
            for name, index, attributes in places:
                table = tables[name]
                assert table is not None
                self._writer.define(table)
                source: Table | Index = (table.index(index) if index else None) or table
                space, key, raw, _ = self._at(source, attributes)
                asks.append(Ask(space, key, raw, written, 0.5 if not written else 1.0))
                items.append((table, attributes))
            paid = None if code else self._paid(parsed, items, asks, written)
            fields = (self._latest, self._number, "", 1, operation, operation in WHOLE)
            self._writer.add(Event(*fields, asks, paid))

    def _paid(
        self, parsed: Json, items: Sequence[tuple[Table, Json]], asks: Sequence[Ask], written: bool
    ) -> list[Paid]:
        told = parsed.get("ConsumedCapacity") or []
        payments: list[Paid] = []
        if not told:
            self._unknown += 1
        for consumed in told if isinstance(told, list) else [told]:
            name = consumed.get("TableName", "").rpartition("/")[2]
            mine = [
                (table, attributes, ask)
                for (table, attributes), ask in zip(items, asks, strict=True)
                if table.name == name
            ]
            for table, attributes, ask in mine:
                for source, units in _units(table, consumed, ask.space):
                    share = float(units) / len(mine)
                    if source.space == ask.space:
                        place = (ask.space, ask.key, ask.raw, bool(attributes))
                    else:
                        place = self._at(source, attributes)
                    space, key, raw, seen = place
                    self._units += share
                    self._unplaced += 0.0 if seen else share
                    payments.append(Paid(space, key, raw, written, share))
        return payments

    def _at(self, source: Table | Index, attributes: Json) -> tuple[int, bytes, bytes, bool]:
        """The place of an item or index entry: its space, its position, its partition key if the
        trace keeps keys, and whether the request showed the key."""
        positions = self._writer.positions
        place = row_key(source, attributes)
        if place is None:
            return source.space, os.urandom(PARTITION_BYTES), b"", False
        key = positions.key(source.space, place.key)
        return source.space, key, positions.raw(place.raw), True

    def _table(self, name: str) -> Table | None:
        """The definition of a table, from the service's description. None if the service refuses to
        describe it."""
        if name not in self._tables:
            self._tables[name] = None  # `describe_table` is itself a recorded request
            try:
                described = self._client.describe_table(TableName=name)["Table"]
            except Exception as error:
                _log.warning("%s cannot be described, so it is not recorded: %s", name, error)
                return None
            self._tables[name] = self._defined(described)
        return self._tables[name]

    def _defined(self, described: Json) -> Table:
        """The definition that hashrange gives to a table with this description."""
        plain = json.loads(json.dumps(described, default=str))
        self._database.execute("CreateTable", creation(plain))
        tables = self._database.runtime.definitions()
        return next(table for table in tables if table.name == described["TableName"])


def _places(operation: str, request: Json) -> Iterator[tuple[str, str | None, Json]]:
    """The table, index and attributes of each item that a request names."""
    if operation in ("BatchGetItem", "BatchWriteItem"):
        for name, asked in request.get("RequestItems", {}).items():
            for each in asked.get("Keys", ()) if operation == "BatchGetItem" else asked:
                [action] = each.values() if operation == "BatchWriteItem" else [{"Key": each}]
                yield _plain(name), None, action.get("Item") or action["Key"]
        return
    if "TransactItems" in request:
        for each in request["TransactItems"]:
            [action] = each.values()
            yield _plain(action["TableName"]), None, action.get("Item") or action["Key"]
        return
    attributes = request.get("Item") or request.get("Key") or _asked(request)
    yield _plain(request["TableName"]), request.get("IndexName"), attributes


def _plain(name: str) -> str:
    return name.rpartition("/")[2]


def _asked(request: Json) -> Json:
    """The attributes that the key condition of a Query compares with =, and their values."""
    names: Mapping[str, str] = request.get("ExpressionAttributeNames") or {}
    values: Json = request.get("ExpressionAttributeValues") or {}
    conditions = {
        names.get(name, name): values[value]
        for name, value in _EQUALITY.findall(request.get("KeyConditionExpression") or "")
        if value in values
    }
    for name, condition in (request.get("KeyConditions") or {}).items():
        if condition.get("ComparisonOperator") == "EQ":
            [conditions[name]] = condition["AttributeValueList"]
    return conditions


def _units(table: Table, consumed: Json, space: int) -> Iterator[tuple[Table | Index, float]]:
    """The units of the table and of its global indexes, from a response's ConsumedCapacity.

    The units of local indexes count for the table. A total without details counts for the index in
    `space` or, if there is none, for the table.
    """
    if "Table" not in consumed:
        asked = next((index for index in table.indexes if index.space == space), table)
        yield asked, float(consumed.get("CapacityUnits", 0))
        return
    for part in (consumed["Table"], *consumed.get("LocalSecondaryIndexes", {}).values()):
        if part["CapacityUnits"]:
            yield table, float(part["CapacityUnits"])
    for name, part in consumed.get("GlobalSecondaryIndexes", {}).items():
        index = table.index(name)
        if index is not None:
            yield index, float(part["CapacityUnits"])


def record(client: Any, path: str | os.PathLike[str], *, keys: Keys = "hmac") -> Recording:
    """Record the consumption of a boto3 client's requests in a new file, for `hashrange predict`.

    `keys="exact"` records partition keys; `keys="hmac"` records only positions from a keyed hash.
    Close the result to end the trace. Raises StoreError if the file cannot be created.
    """
    return Recording(client, os.fspath(path), keys)
