"""A cache of what one request computed, for later requests like it."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

ENTRIES_MAX = 200
CHARACTERS_MAX = 5000
"""The longest key; with longer ones, hostile clients could fill the memory."""

T = TypeVar("T")


class BoundedCache(Generic[T]):
    """Values by key, for any number of threads; a full cache drops its oldest entry."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self.get = self._values.get
        """`get(key)`: None if the cache does not have it."""

    def put(self, key: Hashable, value: T) -> None:
        if len(repr(key)) > CHARACTERS_MAX:
            return
        if len(self._values) >= ENTRIES_MAX:
            self._values.popitem(last=False)  # atomic: other threads may do the same
        self._values[key] = value
