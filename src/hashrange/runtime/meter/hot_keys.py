"""The keys that are used most, in bounded memory: the space-saving algorithm.

Source: Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in data
streams" (2005). When a new key finds all places taken, it takes that of the smallest count, and
begins with it: counts may be too high, by at most the smallest, but no frequent key is missed.
"""

KEYS_MAX = 128
SHOWN_MAX = 25
"""How many contributors a report of CloudWatch Contributor Insights shows."""


class HotKeys:
    def __init__(self) -> None:
        self._counts: dict[bytes, float] = {}

    def add(self, key: bytes, amount: float) -> None:
        counts = self._counts
        if key in counts:
            counts[key] += amount
        elif len(counts) < KEYS_MAX:
            counts[key] = amount
        else:
            least = min(counts, key=counts.__getitem__)
            counts[key] = counts.pop(least) + amount

    def most(self, number: int = SHOWN_MAX) -> list[tuple[bytes, float]]:
        """The keys with the highest counts, highest first."""
        found = sorted(self._counts.items(), key=lambda each: (-each[1], each[0]))
        return found[:number]
