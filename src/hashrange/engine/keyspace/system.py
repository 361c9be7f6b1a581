"""Counters by name, and the rows of the system space.

    T<table name>              a table's definition
    K<digest>                  a transaction token: fingerprint and time
    L<milliseconds><digest>    the same tokens by time, for trimming
    S<table name>/<label>      a stream

A system row's value is crc32 | weight 0 | JSON.
"""

from typing import Any, TypeVar

import msgspec
from zlib_ng.zlib_ng import crc32

from hashrange.engine.keyspace.rows import check

CATALOG_VERSION = b"catalog"
"""Changes with every change of a table's definition, in the same commit."""
SPACES = b"spaces"
"""How many spaces were ever made: the next id is one more."""
CLOCK = b"clock"
"""The highest `now`, in milliseconds, that a committed write was decided at."""

TABLES = b"T"
AFTER_TABLES = b"U"

T = TypeVar("T")


def item_count(space: int) -> bytes:
    return b"n%d" % space


def size_bytes(space: int) -> bytes:
    return b"s%d" % space


def collection_bytes(space: int, partition: bytes) -> bytes:
    """Size of one item collection of a table with local indexes: items and index entries."""
    return b"c%d:" % space + partition


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
    """Start and end of the rows of all streams, or of one table's."""
    if table_name is None:
        return b"S", b"T"
    return stream_row(table_name, ""), b"S%s0" % table_name.encode()


def encode(content: Any) -> bytes:
    body = bytes(4) + msgspec.json.encode(content)
    return crc32(body).to_bytes(4, "big") + body


def decode(value: bytes, type_: type[T]) -> T:
    check(value)
    return msgspec.json.decode(value[8:], type=type_)
