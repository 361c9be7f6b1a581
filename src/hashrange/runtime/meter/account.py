"""The account of one request that writes, if throughput is enforced."""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field

from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.runtime.meter.meter import Expected, Meter

T = TypeVar("T")


class Account(Struct, gc=False):
    """The answers that a request got to its questions of admission, and whether it was charged.

    A request that is run again, because it lost a race, gets the same answers and is charged once.
    """

    meter: Meter
    now: float
    answers: list[Sequence[Limit]] = field(default_factory=list)
    asked: int = 0
    expected: Expected = field(default_factory=dict)
    charged: bool = False

    def limits(self, asked: Admit) -> Sequence[Limit]:
        """The answer that the same question got before, if the request is run again."""
        number = self.asked
        self.asked = number + 1
        if number < len(self.answers):
            return self.answers[number]
        limits = self.meter.limits(asked, self.expected, self.now)
        self.answers.append(limits)
        return limits

    def steps(self, steps: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """The same steps; the question whether the request is admitted is answered here."""
        reply: Any = None
        self.asked = 0
        try:
            while True:
                read = steps.send(reply)
                reply = self.limits(read) if type(read) is Admit else (yield read)
        except StopIteration as end:
            result: T = end.value
            return result

    def charge(self, receipt: Receipt | Charge, now: float) -> None:
        if not self.charged:
            self.charged = True
            self.meter.charge(receipt, now)
