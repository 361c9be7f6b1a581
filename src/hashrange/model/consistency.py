"""Optional eventual consistency: how old a read may be."""

from typing import NamedTuple

from hashrange.model.bounds import check_number


class Eventual(NamedTuple):
    """Lets eventually consistent reads return old values, as on DynamoDB. Times are in seconds.

    A read draws one of three replicas at random for each item. One replica never lags. The lag of
    the other two is drawn too (log-normal, with the median `lag`). Entries of a global index, and
    searches of a vector index, have a lag of their own (`index_lag`). No drawn lag exceeds
    `lag_max`. Entries may still be older if throughput is enforced and their index has fallen
    behind its table.

    With `worst`, a read of one item is as old as `lag_max` allows. In a read of several items, at
    least one item is that old, and each other item is either that old or current. So a batch can
    mix old and current items, and a query can miss an entry whose key changes, or return it twice.

    With the same `seed`, clock and order of requests, the answers are the same. DynamoDB publishes
    no distribution of lags, so this one is an assumption.
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
