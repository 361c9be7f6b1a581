"""The most used keys, counted in bounded memory with the space-saving algorithm.

Source: Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in data
streams" (2005). If all places are taken, a new key replaces the key with the smallest count, and
takes over this count. So counts may be too high, by at most the smallest count, but no frequent key
is missed.
"""

from heapq import heappush, heapreplace

KEYS_MAX = 128
SHOWN_MAX = 25
"""The number of contributors in a report of CloudWatch Contributor Insights."""


class HotKeys:
    def __init__(self) -> None:
        self._counts: dict[bytes, float] = {}
        self._order: list[tuple[float, bytes]] = []
        """A heap with an entry (count, key) for each key. The count in an entry may be outdated:
        then it is too low, because counts only rise."""

    def add(self, key: bytes, amount: float) -> None:
        counts = self._counts
        if key in counts:
            counts[key] += amount
        elif len(counts) < KEYS_MAX:
            counts[key] = amount
            heappush(self._order, (amount, key))
        else:
            least, rarest = self._least()
            del counts[rarest]
            counts[key] = least + amount
            heapreplace(self._order, (least + amount, key))

    def _least(self) -> tuple[float, bytes]:
        """The smallest count and its key. Afterwards, they are at the top of the heap."""
        counts, order = self._counts, self._order
        while True:
            count, key = order[0]
            if counts[key] == count:
                return order[0]
            heapreplace(order, (counts[key], key))

    def most(self, number: int = SHOWN_MAX) -> list[tuple[bytes, float]]:
        """The keys with the highest counts, highest first."""
        hottest = sorted(self._counts.items(), key=lambda each: (-each[1], each[0]))
        return hottest[:number]
