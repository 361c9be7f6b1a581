"""An index that falls behind: its debt grows until all writes of the table are refused.

The table has 40 write units a second, and its index has 10. The load is 20 writes a second for
three minutes. Each write consumes one unit of the table and one of the index.
"""

from collections import Counter
from typing import NamedTuple

from simulated import Simulated

BACKLOG_UNITS = 100
"""The units by which an index may fall behind. DynamoDB does not publish its limit."""

IDLE_SECONDS, LOAD_SECONDS, SECONDS, WRITES = 30, 180, 270, 20


class Second(NamedTuple):
    """The credit of the index, and how many writes were written and refused in this second."""

    seconds: float
    credit: float
    written: int
    refused: int


class Outcome(NamedTuple):
    """`reasons` counts refusals by their reason and resource."""

    seconds: list[Second]
    reasons: Counter[tuple[str, str]]


def run() -> Outcome:
    db = Simulated(index_backlog_units=BACKLOG_UNITS)
    indexes = {"by_customer": ("customer",)}
    db.create("orders", "id", indexes=indexes, read=10, write=40, index_write=10)
    seconds, reasons, number = [], Counter[tuple[str, str]](), 0
    for second in range(SECONDS):
        written = refused = 0
        loaded = IDLE_SECONDS <= second < IDLE_SECONDS + LOAD_SECONDS
        for _ in range(WRITES if loaded else 0):
            number += 1
            refusal = db.put("orders", id=f"order#{number}", customer=f"customer#{number % 500}")
            if refusal is None:
                written += 1
            else:
                refused += 1
                reasons[refusal["reason"], refusal["resource"]] += 1
        [table] = db.inspect("orders")
        [index] = table["indexes"]
        seconds.append(Second(second, index["load"]["write_credit"], written, refused))
        db.wait(1)
    return Outcome(seconds, reasons)


def main() -> None:
    outcome = run()
    for second in outcome.seconds[::10]:
        print("{:4.0f} s  credit {:6.0f}  written {:3}  refused {:3}".format(*second))
    for (reason, resource), count in outcome.reasons.items():
        print(f"{count} x {reason} of {resource}")


if __name__ == "__main__":
    main()
