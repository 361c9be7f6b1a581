"""Sources of reads, and functions for the reads that the runtime makes itself."""

from typing import Protocol, cast

from hashrange import kv
from hashrange.storage.paging import bytes_of


class Source(Protocol):
    """A snapshot or a transaction."""

    def read(self, read: kv.Read, /) -> kv.Answer: ...


class CountedSource:
    """Counts the bytes of the values that are read."""

    def __init__(self, source: Source) -> None:
        self.read_bytes = 0
        self._source = source

    def read(self, read: kv.Read, /) -> kv.Answer:
        answer = self._source.read(read)
        if isinstance(answer, kv.Page | list):  # and not that the request is admitted
            self.read_bytes += bytes_of(answer)
        return answer


def row(source: Source, space: int, key: bytes) -> bytes | None:
    return rows(source, ((space, key),))[0]


def rows(source: Source, keys: tuple[kv.Key, ...]) -> list[bytes | None]:
    return cast(list[bytes | None], source.read(kv.Get(keys)))


def counters(source: Source, *names: bytes) -> list[int]:
    return cast(list[int], source.read(kv.Counters(names)))


def page(source: Source, range_: kv.Range) -> kv.Page:
    return cast(kv.Page, source.read(range_))
