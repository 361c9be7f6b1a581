"""A stale index: entries wait in a queue, and are shown when the index has units for them.

An index of one write unit gets 800 entries at once. No write is refused, because the debt of the
index stays below the limit.
"""

from typing import NamedTuple

from simulated import Simulated

ENTRIES, INDEX_UNITS, SECONDS, STEP = 800, 1, 840, 20


class Moment(NamedTuple):
    """The number of items in the table at a time, and the number that the index shows."""

    seconds: float
    written: int
    shown: int


def run() -> list[Moment]:
    db = Simulated()
    indexes = {"by_customer": ("customer",)}
    db.create("orders", "id", indexes=indexes, read=100, write=1000, index_write=INDEX_UNITS)
    for number in range(ENTRIES):
        assert db.put("orders", id=f"order#{number}", customer=f"customer#{number % 50}") is None
    count = {"TableName": "orders", "Select": "COUNT"}
    moments = []
    for seconds in range(0, SECONDS + 1, STEP):
        written = db.execute("Scan", count)["Count"]
        shown = db.execute("Scan", {**count, "IndexName": "by_customer"})["Count"]
        moments.append(Moment(seconds, written, shown))
        db.wait(STEP)
    return moments


def main() -> None:
    for moment in run()[::5]:
        print("{:4.0f} s  written {:4}  shown {:4}".format(*moment))


if __name__ == "__main__":
    main()
