"""The observation of a store's calls: see `observe` of `table.open`."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps, T


@dataclass(frozen=True)
class Observation:
    """The requests of one call of a store, its cost, and its time in seconds.

    `capacity` is in capacity units. `atomic` is False if copied fields were updated after their
    owner, in transactions of their own.
    """

    name: str
    requests: list[tuple[str, dict[str, Any]]]
    pages: int = 0
    items: int = 0
    capacity: float = 0.0
    seconds: float = 0.0
    atomic: bool = True


class Call:
    """A call in progress: its start time, and the capacity units consumed so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.units = 0.0
        self.started = time.perf_counter()

    def counted(self, steps: Steps[T]) -> Steps[T]:
        """Run the same steps, and add the capacity units of their requests to `units`."""
        response: dict[str, Any] = {}
        try:
            request = next(steps)
            while True:
                if isinstance(request, ApiCall):
                    payload = {**request.payload, "ReturnConsumedCapacity": "TOTAL"}
                    request = request._replace(payload=payload)
                try:
                    response = yield request
                except ApiFailure as failure:
                    request = steps.throw(failure)
                else:
                    self.units += units_of(response)
                    request = steps.send(response)
        except StopIteration as stop:
            result: T = stop.value
            return result


class Unobserved(Call):
    """A call of a store that has no observer: its capacity units are not counted."""

    def counted(self, steps: Steps[T]) -> Steps[T]:
        return steps


UNOBSERVED = Unobserved("")


def units_of(response: dict[str, Any]) -> float:
    """The capacity units in a response, summed if it has several tables."""
    consumed = response.get("ConsumedCapacity") or []
    tables = consumed if isinstance(consumed, list) else [consumed]
    units: float = sum(table.get("CapacityUnits", 0.0) for table in tables)
    return units


Observer = Callable[[Observation], object]
