"""A program's lease on the phase of a migration, and the clock that ends it.

A lease says how long a program can rely on the phase that it has read. The lease is tested after
each answer, and before each attempt of a request is signed, including attempts that a client
repeats by itself.
"""

import time
from collections.abc import Callable
from typing import Any

from hashrange.design.execute.steps import SIGNING, ApiCall, Steps
from hashrange.design.migrate.phases import (
    RUNS_NEW,
    RUNS_OLD,
    STATE,
    MigrationError,
    Phase,
    State,
    loaded,
)
from hashrange.design.migrate.sides import Side

Clock = Callable[[], float]


class Lease:
    """A program's lease: the state of the migration that the program has read last.

    The state is valid for `seconds` by `clock`, which must be monotonic.
    """

    def __init__(
        self, side: Side, plan: str, seconds: float, clock: Clock = time.monotonic
    ) -> None:
        self.side = side
        self.plan = plan
        self.seconds = seconds
        self.clock = clock
        self.state = State()
        self.until = float("-inf")

    def holds(self) -> bool:
        return self.clock() < self.until

    def end(self) -> None:
        self.until = float("-inf")

    def current(self) -> Steps[State]:
        """The state. If the lease has ended, the state is read again.

        Raises MigrationError, without a new lease, if the migration has other models than the
        program, or if the program must not run in the present phase.
        """
        if not self.holds():
            asked = self.clock()
            table = self.side.model.name
            request = {"TableName": table, "Key": self.side.own_key(STATE), "ConsistentRead": True}
            response = yield ApiCall("GetItem", request)
            self.state = self._of_this_plan(loaded(response.get("Item")))
            self._expect_allowed()
            self.until = asked + self.seconds
        return self.state

    def _of_this_plan(self, state: State) -> State:
        if state.plan == self.plan:
            return state
        if state.active:
            raise MigrationError(
                f"the migration of the table {self.side.model.name!r} has other models than this "
                "program: give the program the same two models as the migration"
            )
        return State(epoch=state.epoch)

    def _expect_allowed(self) -> None:
        phase, allowed = self.state.phase, RUNS_NEW if self.side.is_new else RUNS_OLD
        if phase in allowed:
            return
        name = self.side.model.name
        if self.side.is_new:
            raise MigrationError(
                f"the table {name!r} is in the phase {phase} of its migration: programs of the "
                f"new model may run from the phase {Phase.NEW} on"
            )
        raise MigrationError(
            f"the table {name!r} is in the phase {phase} of its migration, in which the old items "
            "are deleted: run the program with the new model"
        )


class LeaseOver(Exception):
    """A request was not signed because the lease had ended.

    `attempts` is the number of earlier attempts, which were signed.
    """

    def __init__(self, attempts: int) -> None:
        super().__init__("the lease ended before the request was signed")
        self.attempts = attempts


def guard_signatures(client: Any, clock: Clock) -> None:
    """Keep a boto3 client from signing an attempt of a write after the lease has ended."""
    events = getattr(getattr(client, "meta", None), "events", None)
    if events is None:
        return  # a database in this process needs no signatures

    def before_sign(**_: Any) -> None:
        signing = SIGNING.get()
        if signing is None:
            return
        if clock() >= signing.until:
            raise LeaseOver(signing.attempts)
        signing.attempts += 1

    events.register("before-sign.dynamodb", before_sign, unique_id="hashrange-migration-lease")
