"""Eventual consistency on request: how old a read may be."""

from typing import NamedTuple


class Eventual(NamedTuple):
    """Reads that are not strongly consistent may be old, as on DynamoDB. Times are in seconds.

    Each such read is answered by one of three replicas, which is drawn: one is never behind, and
    two lag by a time that is drawn too (log-normal, with the median `lag`). A global index lags by
    itself (`index_lag`), and further if its writes have fallen behind. No lag is longer than
    `lag_max`. With `worst`, every read that may be old is as old as `lag_max` allows. With the same
    `seed`, clock and order of requests, the answers are the same.

    DynamoDB publishes no distribution of lags; these are assumptions (?).
    """

    seed: int = 0
    lag: float = 0.010
    index_lag: float = 0.020
    lag_max: float = 1.0
    worst: bool = False

    def check(self) -> None:
        """Raises ValueError for values that make no sense."""
        for name in ("lag", "index_lag", "lag_max"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(
                    f"{name} is a number of seconds above 0, not {getattr(self, name)!r}"
                )
        if self.lag > self.lag_max or self.index_lag > self.lag_max:
            raise ValueError("lag and index_lag are at most lag_max")
