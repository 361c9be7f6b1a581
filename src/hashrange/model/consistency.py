"""Optional eventual consistency: how old a read may be."""

from typing import NamedTuple

from hashrange.model.bounds import check_number


class Eventual(NamedTuple):
    """Lets eventually consistent reads return old values, as on DynamoDB. Times are in seconds.

    Each item of a read is answered by one of three replicas, drawn at random. One replica never
    lags. The lag of the others is drawn too (log-normal, with the median `lag`). Entries of a
    global index have a lag of their own (`index_lag`), and so has a search of a vector index. No
    drawn lag exceeds `lag_max`. But if throughput is enforced, and an index has fallen behind its
    table, its entries may be older. With `worst`, a read of one item is as old as `lag_max` allows.
    In a read of several items, at least one item is as old as this, and each of the others is
    either as old or current. So a batch can show a torn state, and an entry that moves can be seen
    twice or not at all. With the same `seed`, clock and order of requests, the answers are the
    same.

    DynamoDB publishes no distribution of lags; this one is an assumption.
    """

    seed: int = 0
    lag: float = 0.010
    index_lag: float = 0.020
    lag_max: float = 1.0
    worst: bool = False

    def check(self) -> None:
        """Raises ValueError for invalid values."""
        check_number("lag_max", self.lag_max, above_zero=True)
        for name in ("lag", "index_lag"):
            check_number(name, getattr(self, name), above_zero=True, most=self.lag_max)
