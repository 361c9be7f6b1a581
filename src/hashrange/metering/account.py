"""The account of one request: the meter's answers to it, and whether it has been charged."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct, field

from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.metering.buckets import Bucket

Expected = dict[Bucket, float]
"""Maps each bucket to the least number of units that the admitted members of a batch will
consume."""


class Admitting(Protocol):
    """The part of the meter that an account uses."""

    tells: bool

    def limits(self, asked: Admit, expected: Expected, now: float, /) -> Sequence[Limit]: ...
    def charge(self, receipt: Receipt | Charge, now: float, /) -> object: ...


class Account(Struct, gc=False):
    """Keeps the meter's answers to one request, and whether the request has been charged.

    The answers say whether reads and writes are admitted. A request that is run again because of a
    conflict gets the same answers, and is charged once.
    """

    meter: Admitting
    now: float
    answers: list[Sequence[Limit]] = field(default_factory=list)
    asked: int = 0
    expected: Expected = field(default_factory=dict)
    charged: bool = False

    def limits(self, asked: Admit) -> Sequence[Limit]:
        """The limits that prevent the admission of a read or write; empty if it is admitted. If the
        request is run again, the answer of the first run is repeated."""
        number = self.asked
        self.asked = number + 1
        if number < len(self.answers):
            return self.answers[number]
        limits = self._ask(asked)
        self.answers.append(limits)
        return limits

    @property
    def tells(self) -> bool:
        return self.meter.tells

    def charge(self, receipt: Receipt | Charge, now: float) -> None:
        if not self.charged:
            self.charged = True
            self._pay(receipt, now)

    def _ask(self, asked: Admit) -> Sequence[Limit]:
        return self.meter.limits(asked, self.expected, self.now)

    def _pay(self, receipt: Receipt | Charge, now: float) -> None:
        self.meter.charge(receipt, now)
