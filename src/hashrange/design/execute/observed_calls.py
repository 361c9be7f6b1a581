"""Calls of a store whose costs are reported to an observer."""

import time
from collections.abc import Sequence
from typing import Any

from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.execute.observation import UNOBSERVED, Call, Observation, Observer
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.commit import commit
from hashrange.design.execute.writes.write_actions import WriteAction


class ObservedCalls:
    def __init__(self, observe: Observer | None) -> None:
        self.observe = observe

    def call(self, name: str) -> Call:
        """Begin to observe a call of the store. `name` is the method, such as `put`."""
        return UNOBSERVED if self.observe is None else Call(name)

    def read(self, took: Explanation, items: int, started: float) -> None:
        took.items = items
        self.took(took, started)

    def took(self, took: Explanation, started: float, atomic: bool = True) -> None:
        """Report the finished call that `took` describes to the observer.

        `started` is the time of `perf_counter` at its start. `atomic` is False if copied fields
        were updated after their owner.
        """
        if self.observe is not None:
            pages, items, units = took.pages, took.items, took.capacity
            seconds = time.perf_counter() - started
            self.observe(
                Observation(took.pattern, took.requests, pages, items, units, seconds, atomic)
            )

    def commit(
        self, call: Call, actions: Sequence[WriteAction], atomic: bool = True
    ) -> Steps[dict[str, Any]]:
        response = yield from call.counted(commit(actions))
        self.wrote(call, actions, atomic)
        return response

    def wrote(self, call: Call, actions: Sequence[WriteAction], atomic: bool = True) -> None:
        if self.observe is not None:
            took = Explanation(call.name, [(a.kind, a.parameters) for a in actions])
            took.items, took.pages, took.capacity = len(actions), 1, call.units
            self.took(took, call.started, atomic)
