"""Names of counters, and the rows of the system space.

    T<table name>              a table's definition, JSON
    K<digest>                  a transaction token: fingerprint, time, sizes of its items, JSON
    L<milliseconds><digest>    the same tokens by time, for trimming
    S<table name>/<label>      a stream, JSON
    F<table name>/<label>      a Kinesis destination whose feed has this label, JSON
    P<table name>/<label>      the position of that feed: a key of the log for each slot, JSON
    J<kind>/[~]<id>            an import, an export or a bulk put, JSON; with ~ while in progress
    B<id>/<table name>         a backup, JSON
    C<table name>/<label>/<reader>/<shard id>
                               the sequence number of the last record of a shard that a reader of
                               the stream has handled, JSON. A row with an empty shard id says
                               only that the reader has begun
    upkeep                     which process does the upkeep, and until when, JSON
    kinesis, imports, exports, bulk-operations, trigger-<reader>
                               which process has this duty, and until when, JSON
    catalog                    the version of the table definitions, 8 random bytes
    spaces                     the number of spaces ever created, 8 bytes
    format                     the version of the stored rows, 8 bytes

A system row's value is crc32 | weight 0 | content. Counters are only for statistics and the clock.
If decisions rely on a number, it must be a row: a row that a transaction has read is unchanged when
the transaction commits, but a counter may have changed.
"""

from typing import Any, TypeVar

import msgspec
from zlib_ng.zlib_ng import crc32

from hashrange import kv
from hashrange.decoders import decoder
from hashrange.engine.keyspace.rows import check

CATALOG_VERSION = kv.CATALOG
"""The key of the row with the version of the table definitions. Each commit that changes a
definition changes the version.

The version is random. A counter would not do: if a store loses its last commits, the counter could
reach the same number again, with other definitions.
"""
SPACES: kv.Key = (kv.SYSTEM_SPACE, b"spaces")
"""The key of the row with the number of spaces that have ever been created. The id of the next
space is one higher than this number."""
FORMAT: kv.Key = (kv.SYSTEM_SPACE, b"format")
"""The key of the row with the version of the stored rows: see `hashrange.engine.upgrade`."""
CLOCK = kv.CLOCK
"""The name of the counter with the latest `now`, in milliseconds, at which a committed write was
decided."""
PROBES = b"probes"
"""The name of the counter of a server's tests whether the store can commit."""

TABLES = b"T"
AFTER_TABLES = b"U"

T = TypeVar("T")


def item_count(space: int, partition: int) -> bytes:
    """The name of the counter of the rows in the partition with the number `partition`."""
    return b"n%d.%d" % (space, partition) if partition else b"n%d" % space


def size_bytes(space: int, partition: int) -> bytes:
    """The name of the counter of the bytes in the partition with the number `partition`."""
    return b"s%d.%d" % (space, partition) if partition else b"s%d" % space


def table_row(name: str) -> bytes:
    return TABLES + name.encode()


def token_row(digest: bytes) -> bytes:
    return b"K" + digest


def token_by_time(milliseconds: int, digest: bytes = b"") -> bytes:
    return b"L" + milliseconds.to_bytes(8, "big") + digest


def parse_token_by_time(key: bytes) -> tuple[int, bytes]:
    return int.from_bytes(key[1:9], "big"), key[9:]


def stream_row(table_name: str, label: str) -> bytes:
    return b"S%s/%s" % (table_name.encode(), label.encode())


def stream_rows(table_name: str | None) -> tuple[bytes, bytes]:
    """Start and end of the rows of one table's streams, or of all streams if the name is None."""
    if table_name is None:
        return b"S", b"T"
    return stream_row(table_name, ""), b"S%s0" % table_name.encode()


def feed_row(table_name: str, label: str) -> bytes:
    return b"F%s/%s" % (table_name.encode(), label.encode())


FEED_ROWS = b"F", b"G"
"""Start and end of the rows of all feeds."""


def feed_position_row(table_name: str, label: str) -> bytes:
    return b"P%s/%s" % (table_name.encode(), label.encode())


def job_row(kind: str, id_: str, in_progress: bool) -> bytes:
    """The row of a job. A kind's jobs in progress come after its other jobs."""
    return b"J%s/%s%s" % (kind.encode(), b"~" if in_progress else b"", id_.encode())


def job_rows(kind: str, in_progress: bool) -> tuple[bytes, bytes]:
    """Start and end of the rows of all jobs of a kind, or only of its jobs in progress."""
    return job_row(kind, "", in_progress), b"J%s0" % kind.encode()


BACKUPS, AFTER_BACKUPS = b"B", b"C"
"""Start and end of the rows of all backups."""


def backup_row(id_: str, table_name: str) -> bytes:
    return b"%s%s/%s" % (BACKUPS, id_.encode(), table_name.encode())


def checkpoint_rows(table_name: str, label: str, reader: str | None = None) -> tuple[bytes, bytes]:
    """Start and end of the rows of a stream's checkpoints, or only of one reader's checkpoints."""
    start = b"C%s/%s/" % (table_name.encode(), label.encode())
    if reader is not None:
        start += reader.encode() + b"/"
    return start, start[:-1] + b"0"


def checkpoint_row(table_name: str, label: str, reader: str, shard_id: str) -> bytes:
    return checkpoint_rows(table_name, label, reader)[0] + shard_id.encode()


def lease(duty: str) -> kv.Key:
    """The row of a lease, which names the process that has a duty."""
    return kv.SYSTEM_SPACE, duty.encode()


def new_version(random: bytes) -> kv.Put:
    """A write that gives the catalog a new version; `random` is 8 random bytes."""
    return kv.Put(*CATALOG_VERSION, _with_head(random))


def encode_number(number: int) -> bytes:
    return _with_head(number.to_bytes(8, "big"))


def decode_number(value: bytes | None) -> int:
    """The number in a row's value; 0 if there is no row."""
    if value is None:
        return 0
    check(value)
    return int.from_bytes(value[8:], "big")


def encode(content: Any) -> bytes:
    return _with_head(msgspec.json.encode(content))


def _with_head(content: bytes) -> bytes:
    body = bytes(4) + content
    return crc32(body).to_bytes(4, "big") + body


def decode(value: bytes, type_: type[T]) -> T:
    check(value)
    return decoder(type_).decode(value[8:])
