"""Functions for the runtime's own reads of a snapshot or a transaction."""

from typing import Protocol, cast

from hashrange import kv


class Source(Protocol):
    """A snapshot or a transaction."""

    def read(self, read: kv.Read, /) -> kv.Answer: ...


def row(source: Source, space: int, key: bytes) -> bytes | None:
    return rows(source, ((space, key),))[0]


def rows(source: Source, keys: tuple[kv.Key, ...]) -> list[bytes | None]:
    return cast(list[bytes | None], source.read(kv.Get(keys)))


def counters(source: Source, *names: bytes) -> list[int]:
    return cast(list[int], source.read(kv.Counters(names)))


def page(source: Source, range_: kv.Range) -> kv.Page:
    return cast(kv.Page, source.read(range_))
