"""One request before the meter, if throughput is enforced."""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from hashrange.engine.capacity import Receipt
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.model.errors import ConditionalCheckFailedException
from hashrange.runtime.meter.meter import Expected, Meter

T = TypeVar("T")


class Account:
    """What a request asked, and whether it has been charged.

    A request that is run again, because it lost a race, gets the same answers and is charged once.
    """

    __slots__ = ("_answers", "_asked", "_charged", "_expected", "_meter", "_now")

    def __init__(self, meter: Meter, now: float) -> None:
        self._meter = meter
        self._now = now
        self._answers: list[Sequence[Limit]] = []
        self._asked = 0
        self._expected: Expected = {}
        self._charged = False

    def steps(self, steps: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """The steps of a request, with its questions answered."""
        reply: Any = None
        self._asked = 0
        try:
            while True:
                read = steps.send(reply)
                reply = self._limits(read) if type(read) is Admit else (yield read)
        except StopIteration as end:
            result: T = end.value
            return result
        except ConditionalCheckFailedException:  # it consumes what the write would have
            if not self._charged:
                self._charged = True
                self._meter.pay(self._expected, self._now)
            raise

    def charge(self, receipt: Receipt, now: float) -> None:
        if not self._charged:
            self._charged = True
            self._meter.charge(receipt, now)

    def _limits(self, asked: Admit) -> Sequence[Limit]:
        """The answer that the same question got before, if the request is run again."""
        answers, number = self._answers, self._asked
        self._asked = number + 1
        if number == len(answers):
            answers.append(self._meter.limits(asked, self._expected, self._now))
        return answers[number]
