"""A cache of the vectors that searches have read, with a limited size."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from hashrange import kv
from hashrange.engine.vectors.views import View

VERSIONS_MAX = 2
"""The largest number of vector views that are kept for one vector index, or for one of its HASH
values. A search whose snapshot is older than the newest view may still use the previous one. Views
share their unchanged blocks."""


class VectorViews:
    """A cache of the vector views of one database, for all of its threads.

    The cached views, and the views that are being loaded, have at most `bytes_max` together. To
    make room, the least recently used views are dropped.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = Lock()
        self._views: OrderedDict[kv.Key, list[View]] = OrderedDict()
        self._bytes: dict[kv.Key, int] = {}
        self._loading: dict[object, int] = {}
        """The present size in bytes of each view that is being loaded."""

    def kept(self, place: kv.Key, /) -> Sequence[View]:
        with self._lock:
            views = self._views.get(place)
            if views is None:
                return ()
            self._views.move_to_end(place)
            return tuple(views)

    def keep(self, place: kv.Key, view: View, /) -> None:
        with self._lock:
            views = [view, *self._views.get(place, ())][:VERSIONS_MAX]
            self._views[place], self._bytes[place] = views, _bytes_of(views)
            self._views.move_to_end(place)
            self._evict()

    @contextmanager
    def reserve(self) -> Iterator[Callable[[int], bool]]:
        load = object()

        def takes(size_bytes: int) -> bool:
            with self._lock:
                self._loading[load] = size_bytes
                if sum(self._loading.values()) >= self._bytes_max:
                    del self._loading[load]
                    return False
                self._evict()
                return True

        try:
            yield takes
        finally:
            with self._lock:
                self._loading.pop(load, None)

    def clear(self) -> None:
        """Drop all views. Call this after the rows of the database have been replaced."""
        with self._lock:
            self._views.clear()
            self._bytes.clear()

    def _evict(self) -> None:
        loading = sum(self._loading.values())
        while self._views and sum(self._bytes.values()) + loading > self._bytes_max:
            place, _ = self._views.popitem(last=False)
            del self._bytes[place]


def _bytes_of(views: Sequence[View]) -> int:
    """The size of views in memory, in bytes. Blocks that several views share are counted once."""
    blocks = {id(part.block): part.block for view in views for part in view.parts}
    return sum(block.bytes for block in blocks.values())
