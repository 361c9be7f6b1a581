"""A growing table: whenever a partition is full, it is split in the middle of its bytes."""

from typing import Any, NamedTuple

from simulated import Simulated

PARTITION_BYTES = 1024 * 1024
"""DynamoDB's partitions have 10 GB. Here they have 1 MB, so that few items fill them."""

ITEM_BYTES = 4096
STEPS = (250, 300, 600, 1000, 1500)
"""The numbers of items at which the partitions are recorded."""


class Moment(NamedTuple):
    """The partitions, as `Database.inspect` shows them, when the table has a number of items."""

    items: int
    partitions: list[dict[str, Any]]


def grow() -> list[Moment]:
    db = Simulated(partition_bytes=PARTITION_BYTES)
    db.create("orders", "customer", "order", read=100, write=100)
    moments, written = [], 0
    for items in STEPS:
        while written < items:
            customer, order = f"customer#{written % 400}", f"order#{written // 400:04d}"
            padding = "x" * (ITEM_BYTES - 60)
            refused = db.put("orders", customer=customer, order=order, padding=padding)
            db.wait(0.04)  # a write takes 4 units, and the table has 100 a second
            written += refused is None
        [table] = db.inspect("orders")
        moments.append(Moment(items, table["partitions"]))
    return moments


def main() -> None:
    for items, partitions in grow():
        print(f"\n{items} items, {len(partitions)} partitions")
        for each in partitions:
            start, end = each["from"][:8] or "0", (each["to"] or "end")[:8]
            size = each["bytes"] / 1024
            print(f"  {each['number']:2}  {start:>8} to {end:8} {each['items']:5} {size:7.0f} KB")


if __name__ == "__main__":
    main()
