"""The rows of the store in memory, and copies of them."""

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from hashrange.storage.sortedkeys import SortedKeys

V = TypeVar("V")


class Rows(Generic[V]):
    """Some rows of one space: a dict of their values by key, and their keys in order."""

    __slots__ = ("keys", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, V] = {}
        self.keys = SortedKeys()

    def put(self, key: bytes, value: V) -> None:
        if key not in self.values:
            self.keys.add(key)
        self.values[key] = value

    def remove(self, key: bytes) -> None:
        del self.values[key]
        self.keys.remove(key)

    def items(self, start: bytes, end: bytes | None, reverse: bool) -> Iterator[tuple[bytes, V]]:
        values = self.values
        for key in self.keys.between(start, end, reverse):
            yield key, values[key]


class Spaces(NamedTuple):
    """The rows of live and of dropped spaces, by space number. Creating or dropping a space makes
    new dicts."""

    live: dict[int, Rows[bytes]]
    dropped: dict[int, Rows[bytes]]


class State(NamedTuple):
    """The committed rows by space, and the counters. A State object is never changed."""

    spaces: dict[int, dict[bytes, bytes]]
    counters: dict[bytes, int]


def rows_of(values: dict[bytes, bytes]) -> Rows[bytes]:
    rows: Rows[bytes] = Rows()
    for key, value in values.items():
        rows.put(key, value)
    return rows
