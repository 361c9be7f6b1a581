"""The cost of one call of a pattern or a write."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["pattern", "create", "edit", "delete"]
SECONDS_PER_MONTH = 730 * 60 * 60
"""The number of seconds in a month, which has 730 hours as in AWS's price calculator."""


@dataclass(frozen=True)
class CostLine:
    """The average cost of one call, and how often it is made.

    `reads` and `writes` are capacity units by table and index. `copies` is the number of items that
    the call writes because they have copied fields. `transaction` says whether the call needs a
    transaction. `rate` is in calls per second, None if it is not declared. `notes` say where
    numbers come from that are not declared.
    """

    name: str
    kind: Kind
    reads: Mapping[str, float] = field(default_factory=dict)
    writes: Mapping[str, float] = field(default_factory=dict)
    requests: float = 1
    copies: float = 0
    transaction: bool = False
    rate: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def read_units(self) -> float:
        return sum(self.reads.values())

    @property
    def write_units(self) -> float:
        return sum(self.writes.values())

    @property
    def calls(self) -> float | None:
        """The number of calls in a month; None if the rate is not declared."""
        return None if self.rate is None else self.rate * SECONDS_PER_MONTH


@dataclass(frozen=True)
class StorageLine:
    """The bytes that the items of an entity take in the table or in an index."""

    entity: str
    source: str
    size: float
    notes: tuple[str, ...] = ()
