"""The trace of a load, as lines of JSON: requests' questions to the meter, and their units.

    {"hashrange_trace":1,"keys":…}        the head: what the keys are, when it began, the settings
    {"table":…}                           a table as it is from here on, with its partitions
    {"gone":[…]}                          spaces that no longer exist
    {"note":…}                            something that could not be recorded
    [time,id,invocation,attempt,operation,whole,asks,paid]     an attempt of a request

Times are microseconds since the beginning, and never decrease. An attempt has one line, or several
with the same id if other attempts came between its first question and its charge. So the lines are
in the order of questions and charges, and a replay gives the same answers.

A trace has no values of items. If its keys are `hmac`, it has no keys either: then the positions of
keys come from a keyed hash, whose secret is not kept.
"""

import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hashrange import kv
from hashrange.engine.keyspace.keys import RowKey, digest, raw_key
from hashrange.kv import PARTITION_BYTES
from hashrange.metering.meter import SEED
from hashrange.model.partitions import Partition
from hashrange.model.settings import Settings
from hashrange.model.tables import Index, Table
from hashrange.model.values import AttributeValue

VERSION = 1
Keys = Literal["hmac", "exact"]
POSITION_BYTES = 8
"""The length of a position, which represents a key in a trace."""
BOUNDARY_BYTES = 2
"""The number of bytes of a partition's start in a trace. They are too few to reveal a part of a
key."""
SECOND = 1_000_000
LIMITS = (
    *("partition_read_units", "partition_write_units", "burst_seconds", "index_backlog_units"),
    *("initial_burst_seconds", "heat_share", "heat_seconds", "growth_seconds"),
)
"""The names of the settings on which the meter's answers depend."""


class Head(Struct, kw_only=True):
    """The head of a trace. `started` is in epoch seconds. `throughput` is the setting during the
    recording: if throughput was only measured, nothing was refused. `seed` is the seed of the
    meter's random choices. `source` names the recorder."""

    hashrange_trace: int = VERSION
    keys: Keys
    started: float
    throughput: str
    settings: dict[str, float]
    seed: int = SEED
    source: str = "serve"


class Ask(Struct, array_like=True, gc=False):
    """The question whether a read or write is admitted. If it is refused, `refused` has the space
    and the kind of each limit that was reached."""

    space: int
    key: bytes
    raw: bytes
    written: bool
    units: float
    refused: list[tuple[int, str]] = []


class Paid(Struct, array_like=True, gc=False):
    space: int
    key: bytes
    raw: bytes
    written: bool
    units: float


class Event(Struct, array_like=True, gc=False):
    """An attempt of a request, or a part of an attempt.

    `whole` says whether the request is refused as a whole if one of its reads or writes is refused.
    `paid` is None if the request has not been charged, or not yet.
    """

    time: int
    id: int
    invocation: str
    attempt: int
    operation: str
    whole: bool
    asks: list[Ask]
    paid: list[Paid] | None = None


class Definition(Struct):
    table: Table


class Gone(Struct):
    gone: list[int]


class Note(Struct):
    """Something that the recorder could not see."""

    note: str


_encode = msgspec.json.Encoder().encode


class Positions:
    """The representation of keys in a trace: exact, or positions from a keyed hash."""

    def __init__(self, keys: Keys) -> None:
        self._secret = os.urandom(32) if keys == "hmac" else b""

    def key(self, space: int, key: bytes) -> bytes:
        if not self._secret:
            return key
        if len(key) < PARTITION_BYTES:  # where a partition begins
            return key[:BOUNDARY_BYTES]
        named = space.to_bytes(8, "big") + key[:PARTITION_BYTES]
        return blake2b(named, key=self._secret, digest_size=POSITION_BYTES).digest()

    def raw(self, raw: bytes) -> bytes:
        return b"" if self._secret else raw

    def table(self, table: Table) -> Table:
        """The part of a table's definition that a replay needs."""
        bare = replace(
            table, tags={}, resource_policy=None, stream_policies={}, kms_key_arn=None,
            recovery=None, history=None, restored=None, former_vectors=(), vector_indexes=(),
        )  # fmt: skip
        if not self._secret:
            return bare
        indexes = tuple(replace(each, partitions=_rough(each.partitions)) for each in bare.indexes)
        return replace(bare, partitions=_rough(bare.partitions), indexes=indexes)


def _rough(partitions: Sequence[Partition]) -> tuple[Partition, ...]:
    starts: dict[bytes, Partition] = {}
    for each in partitions:
        start = each.start[:BOUNDARY_BYTES].ljust(BOUNDARY_BYTES, b"\0") if each.start else b""
        starts.setdefault(start, Partition(each.number, start))
    return tuple(starts.values())


class TraceWriter:
    """Writes a trace to a new file, which only its owner may read. Raises StoreError if the file
    exists, or if it cannot be created.

    If a later write fails, the trace ends; requests are not affected.
    """

    def __init__(self, path: str, keys: Keys, settings: Settings, source: str = "serve") -> None:
        self.positions = Positions(keys)
        self._path = path
        self._head: Any = {
            "keys": keys,
            "throughput": settings.throughput,
            "settings": {name: getattr(settings, name) for name in LIMITS},
            "source": source,
        }
        self.started: float | None = None
        self._tables: dict[int, Table] = {}
        self._flushed = 0
        self.problem: str | None = None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            self._file = os.fdopen(os.open(path, flags, 0o600), "wb", buffering=1 << 20)
        except FileExistsError:
            raise kv.StoreError(f"{path}: exists already; name a new file for the trace") from None
        except OSError as error:
            raise kv.StoreError(f"{path}: {error.strerror}") from None

    def begin(self, now: float) -> None:
        if self.started is None:
            self.started = now
            self._write(_encode(Head(started=now, **self._head)))

    def define(self, table: Table) -> None:
        """Write the definition of a table if it is new or has changed since the last call."""
        if self._tables.get(table.space) != table:
            self._write(_encode(Definition(self.positions.table(table))))
        self._tables[table.space] = table

    def knows(self, table: Table) -> bool:
        return self._tables.get(table.space) is table

    def forget(self, spaces: Sequence[int]) -> None:
        if spaces and self.started is not None:
            for space in spaces:
                self._tables.pop(space, None)
            self._write(_encode(Gone(list(spaces))))

    def note(self, text: str) -> None:
        self._write(_encode(Note(text)))

    def add(self, event: Event) -> None:
        self._write(_encode(event))
        if event.time >= self._flushed + SECOND:
            self._flushed = event.time
            self._guarded(self._file.flush)

    def close(self, now: float) -> None:
        self.begin(now)
        self._guarded(self._file.close)

    def _write(self, line: bytes) -> None:
        if self.problem is None:
            self._guarded(lambda: self._file.write(line + b"\n"))

    def _guarded(self, write: Any) -> None:
        try:
            write()
        except OSError as error:
            self.problem = f"{self._path}: {error.strerror}"


def limit_places(limits: Sequence[Any]) -> list[tuple[int, str]]:
    """The space and the kind of each of these limits."""
    return [((limit.index or limit.table).space, limit.kind) for limit in limits]


def row_key(source: Table | Index, attributes: Mapping[str, AttributeValue]) -> RowKey | None:
    """The row key at which the item collection of an item or index entry begins.

    None if `attributes` lacks an attribute of the partition key.
    """
    if not all(name in attributes for name in source.hash):
        return None
    raw = raw_key([attributes[name] for name in source.hash])
    return RowKey(digest(raw), raw)
