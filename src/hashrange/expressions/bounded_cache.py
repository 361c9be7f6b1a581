"""A cache of limited size."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

ENTRIES_MAX = 200
CHARACTERS_MAX = 5000
"""The largest length of a key, in characters of its `repr`. With longer keys, a hostile client
could fill the memory."""

T = TypeVar("T")


class BoundedCache(Generic[T]):
    """A cache that any number of threads may use. A full cache drops its oldest entry."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self.get = self._values.get
        """`get(key)` returns None if the key is not in the cache."""

    def put(self, key: Hashable, value: T) -> None:
        if len(repr(key)) > CHARACTERS_MAX:
            return
        if len(self._values) >= ENTRIES_MAX:
            self._values.popitem(last=False)  # atomic, because other threads may do the same
        self._values[key] = value
