"""Optional eventual consistency: how old a read may be."""

from typing import NamedTuple

from hashrange.model.bounds import check_number


class Eventual(NamedTuple):
    """Lets eventually consistent reads return old values, as on DynamoDB. Times are in seconds.

    Each item of a read is answered by one of three replicas, drawn at random. One replica never
    lags. The lag of the others is drawn too (log-normal, with the median `lag`). Entries of a
    global index have a lag of their own (`index_lag`), and so has a search of a vector index. No
    drawn lag exceeds `lag_max`; if throughput is enforced, entries of a lagging index may be later.
    With `worst`, a read of one item is as old as `lag_max` allows. Of several items, at least one
    is that old and each of the others is that old or new, so that a batch is torn, and an entry
    that moves is seen twice or not at all. With the same `seed`, clock and order of requests, the
    answers are the same.

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
