"""Eventual consistency on request: how old a read may be."""

from typing import NamedTuple

from hashrange.model.bounds import check_number


class Eventual(NamedTuple):
    """Reads that are not strongly consistent may be old, as on DynamoDB. Times are in seconds.

    Each such read is answered by one of three replicas, drawn at random. One replica never lags.
    The lag of the others is drawn too (log-normal, with the median `lag`). A global index, or a
    vector index, has a lag of its own (`index_lag`). No lag that is drawn exceeds `lag_max`;
    entries of an index that has fallen behind come later, if throughput is enforced. With `worst`,
    every read that may be old is as old as `lag_max` allows. With the same `seed`, clock and order
    of requests, the answers are the same.

    DynamoDB publishes no distribution of lags; this one is an assumption (?).
    """

    seed: int = 0
    lag: float = 0.010
    index_lag: float = 0.020
    lag_max: float = 1.0
    worst: bool = False

    def check(self) -> None:
        """Raises ValueError for values that make no sense."""
        check_number("lag_max", self.lag_max, above_zero=True)
        for name in ("lag", "index_lag"):
            check_number(name, getattr(self, name), above_zero=True, most=self.lag_max)
