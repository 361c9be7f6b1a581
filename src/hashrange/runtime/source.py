"""The interface of objects that answer reads, and functions for the runtime's own reads."""

from typing import Protocol, cast

from hashrange import kv


class Source(Protocol):
    """A snapshot or a transaction."""

    def read(self, read: kv.Read, /) -> kv.Answer: ...


LARGE_BYTES = 32 * 1024
"""The largest answer that is given together with other answers. A larger answer gets a turn of the
event loop of its own, if other requests wait."""


def small_only(read: kv.Read) -> kv.Get:
    """The same read of a row by key, but a large row is answered with `kv.TOO_LARGE`."""
    assert isinstance(read, kv.Get), "a single row must be read by its key"
    return kv.Get(read.keys, bytes_max=LARGE_BYTES)


class LargeRow(Exception):
    """A row is larger than `LARGE_BYTES`."""


class SmallRows:
    """A source that raises LargeRow instead of reading a large row. It only reads rows by key."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def read(self, read: kv.Read, /) -> kv.Answer:
        if type(read) is not kv.Get:  # it is `Admit`
            return self._source.read(read)
        answer = self._source.read(small_only(read))
        if kv.TOO_LARGE in cast(list[bytes | None], answer):
            raise LargeRow
        return answer


def row(source: Source, space: int, key: bytes) -> bytes | None:
    return rows(source, ((space, key),))[0]


def rows(source: Source, keys: tuple[kv.Key, ...]) -> list[bytes | None]:
    return cast(list[bytes | None], source.read(kv.Get(keys)))


def counters(source: Source, *names: bytes) -> list[int]:
    return cast(list[int], source.read(kv.Counters(names)))


def page(source: Source, range_: kv.Range) -> kv.Page:
    return cast(kv.Page, source.read(range_))
