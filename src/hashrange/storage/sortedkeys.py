"""Keys in order, in memory: a list of short sorted lists.

Finding, adding or removing a key takes two binary searches and one short shift, so it hardly
matters whether there are a thousand keys or ten million.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import chain

_BUCKET_KEYS_MAX = 1024


class SortedKeys:
    __slots__ = ("_bounds", "_buckets")

    def __init__(self) -> None:
        self._buckets: list[list[bytes]] = []
        # No key of a bucket is above the bucket's bound, and every key of the next bucket is.
        self._bounds: list[bytes] = []

    def add(self, key: bytes) -> None:
        """Add a new key."""
        if not self._buckets:
            self._buckets.append([key])
            self._bounds.append(key)
            return
        index = bisect_left(self._bounds, key)
        if index == len(self._bounds):
            index -= 1
            self._bounds[index] = key
        bucket = self._buckets[index]
        insort(bucket, key)
        if len(bucket) > _BUCKET_KEYS_MAX:
            self._split(index)

    def remove(self, key: bytes) -> None:
        """Remove an existing key. An empty short list is removed, but short lists are never
        merged."""
        index = bisect_left(self._bounds, key)
        bucket = self._buckets[index]
        del bucket[bisect_left(bucket, key)]
        if not bucket:
            del self._buckets[index], self._bounds[index]

    def between(self, start: bytes, end: bytes | None, reverse: bool = False) -> Iterator[bytes]:
        """The keys with start <= key < end. Keys must not change during the iteration."""
        slices = self._slices_down if reverse else self._slices_up
        return chain.from_iterable(slices(start, end))

    def _slices_up(self, start: bytes, end: bytes | None) -> Iterator[list[bytes]]:
        for index in range(bisect_left(self._bounds, start), len(self._bounds)):
            bucket = self._buckets[index]
            low = bisect_left(bucket, start) if bucket[0] < start else 0
            if end is not None and self._bounds[index] >= end:
                yield bucket[low : bisect_left(bucket, end)]
                return
            yield bucket[low:] if low else bucket

    def _slices_down(self, start: bytes, end: bytes | None) -> Iterator[Iterator[bytes]]:
        last = len(self._bounds) - 1
        first = last if end is None else min(bisect_left(self._bounds, end), last)
        for index in range(first, -1, -1):
            bucket = self._buckets[index]
            high = len(bucket) if end is None else bisect_left(bucket, end)
            if bucket[0] < start:
                yield reversed(bucket[bisect_left(bucket, start) : high])
                return
            yield reversed(bucket[:high])

    def _split(self, index: int) -> None:
        bucket = self._buckets[index]
        half = len(bucket) // 2
        self._buckets.insert(index + 1, bucket[half:])
        del bucket[half:]
        self._bounds.insert(index, bucket[-1])
