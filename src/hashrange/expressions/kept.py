"""What is kept of one request for later ones like it."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

KEPT_MAX = 200
CHARACTERS_MAX = 5000
"""Of one key; with longer ones the hostile could fill the memory."""

T = TypeVar("T")


class Kept(Generic[T]):
    """Values by key, used by any threads; the oldest goes when there are too many."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self.get = self._values.get
        """`get(key)`: None if it is not kept."""

    def keep(self, key: Hashable, value: T) -> None:
        if len(repr(key)) > CHARACTERS_MAX:
            return
        if len(self._values) >= KEPT_MAX:
            self._values.popitem(last=False)  # one step, in whatever thread
        self._values[key] = value
