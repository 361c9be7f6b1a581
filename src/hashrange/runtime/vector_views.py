"""Keeps what searches of vectors have read, up to a number of bytes."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from hashrange import kv
from hashrange.engine.vectors.views import View

VERSIONS_MAX = 2
"""How many views of one place are kept: a search whose snapshot is older than the newest view may
still use the one before. They share their unchanged blocks."""


class VectorViews:
    """The views of one database, for all its threads. The place that was used last goes last."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = Lock()
        self._views: OrderedDict[kv.Key, list[View]] = OrderedDict()
        self._bytes = 0
        """Those of the newest view of each place: earlier ones share nearly all their blocks."""

    def kept(self, place: kv.Key, /) -> Sequence[View]:
        with self._lock:
            views = self._views.get(place)
            if views is None:
                return ()
            self._views.move_to_end(place)
            return tuple(views)

    def keep(self, place: kv.Key, view: View, /) -> None:
        with self._lock:
            before = self._views.get(place, [])
            self._bytes += view.bytes - sum(each.bytes for each in before[:1])
            self._views[place] = [view, *before][:VERSIONS_MAX]
            self._views.move_to_end(place)
            while self._bytes > self._bytes_max:
                _, gone = self._views.popitem(last=False)
                self._bytes -= gone[0].bytes

    def clear(self) -> None:
        """Keep none, since the rows of the database have become others."""
        with self._lock:
            self._views.clear()
            self._bytes = 0

    def fits(self, size_bytes: int, /) -> bool:
        return size_bytes < self._bytes_max
