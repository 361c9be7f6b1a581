"""Hot partitions: a partition with many loaded keys is split, a partition with one hot key is not,
and a hot key among others gets a partition of its own.

Limits and load are a hundredth of DynamoDB's: a partition serves 10 write units a second.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import NamedTuple

from simulated import SMALL, Simulated

MINUTES, LOAD_UNITS = 20, 14
WINDOW_SECONDS = 10


class Window(NamedTuple):
    """The writes per second in a window of ten seconds. `written` has those of each partition, by
    its number."""

    seconds: float
    written: dict[int, float]
    refused: float


def run(key_of: Callable[[int], str]) -> list[Window]:
    """Write 14 units a second for twenty minutes; `key_of` gives the key of the nth write."""
    db = Simulated(**SMALL)
    db.create("counters", "id", read=30, write=60)
    windows, number = [], 0
    for _ in range(MINUTES * 60 // WINDOW_SECONDS):
        began, written, refused = db.seconds, Counter[str](), 0
        for _ in range(WINDOW_SECONDS):
            for _ in range(LOAD_UNITS):
                key = key_of(number)
                number += 1
                if db.put("counters", id=key) is None:
                    written[key] += 1
                else:
                    refused += 1
            db.wait(1)
        by_partition: dict[int, float] = defaultdict(float)
        for key, writes in written.items():
            by_partition[db.partition_of("counters", id=key)] += writes / WINDOW_SECONDS
        windows.append(Window(began, by_partition, refused / WINDOW_SECONDS))
    return windows


def many_keys() -> list[Window]:
    return run(lambda number: f"page#{number * 7 % 50}")


def one_key() -> list[Window]:
    return run(lambda _: "page#1")


def one_among_others() -> list[Window]:
    """A load with four of five writes to one key."""
    return run(lambda number: "page#1" if number % 5 else f"page#{number // 5 % 40 + 2}")


def main() -> None:
    runs = (("fifty keys", many_keys), ("one key", one_key), ("one among others", one_among_others))
    for name, load in runs:
        windows = load()
        print(f"\n{name}")
        for window in windows[::6]:
            parts = ", ".join(f"{part}: {units:.1f}/s" for part, units in window.written.items())
            print(f"{window.seconds:5.0f} s  partition {parts}  refused {window.refused:.1f}/s")


if __name__ == "__main__":
    main()
