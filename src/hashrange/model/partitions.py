"""The partitions of a table or a global index, as the catalog stores them.

A partition is a range of row keys: a range of hashes, or of sort keys within one large item
collection. Partitions determine the throughput that a key can have, how a Scan rounds units, and
the shards of a stream. Source: developer guide, Partitions and data distribution.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

WRITE_UNITS_PER_PARTITION = 1000
READ_UNITS_PER_PARTITION = 3000
"""The read units per second that a partition of DynamoDB serves."""

HASH_BYTES = 8
"""The length of the keys at which the partitions of a new table begin. Each is the beginning of a
hash."""


class Partition(Struct, frozen=True, omit_defaults=True):
    """The rows from the key `start` to the start of the next partition.

    `number` is unique within the table or index, and is never used again. After a split, the rows
    of the new partition must be counted. Until that is done, its rows from `counted_to` on still
    belong to the counters of the partition `counted_in`, from which it was split.
    """

    number: int = 0
    start: bytes = b""
    counted_in: int | None = None
    counted_to: bytes = b""


WHOLE = (Partition(),)


def counted_ranges(partitions: Sequence[Partition]) -> Iterator[tuple[bytes, int]]:
    """The start of each range of rows, and the partition whose counters include the range."""
    for partition in partitions:
        if partition.counted_in is None:
            yield partition.start, partition.number
            continue
        if partition.counted_to > partition.start:
            yield partition.start, partition.number
        yield partition.counted_to, partition.counted_in


def equal_parts(count: int) -> tuple[Partition, ...]:
    """The partitions of a new table or index: equal ranges of hashes."""
    whole = 1 << 8 * HASH_BYTES
    starts = ((number * whole // count).to_bytes(HASH_BYTES, "big") for number in range(1, count))
    return (Partition(), *(Partition(number, start) for number, start in enumerate(starts, 1)))


def needed(read: float, write: float, on_demand: bool) -> int:
    """The number of partitions that serve `read` and `write` units per second.

    With provisioned throughput, the partitions for reads and for writes add up. On demand, the
    larger of these two numbers counts.
    """
    reads, writes = read / READ_UNITS_PER_PARTITION, write / WRITE_UNITS_PER_PARTITION
    parts = max(reads, writes) if on_demand else reads + writes
    return max(1, -int(-parts // 1))
