"""Histories of a migration on a database in memory, one request at a time, with faults.

Programs and migrators are generators of requests, and chance says whose next request is answered,
lost, refused, or arrives later than its program waits. `Truth` is what the writes that took effect
add up to.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import hashrange
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import ApiCall, ApiFailure, Pause

LEASE_SECONDS, SIGNATURE_SECONDS = 2.0, 10.0
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
Key = tuple[str, int]
Effect = Callable[["Truth"], None]


class LostAnswer(Exception):
    """The client does not know whether its request took effect."""


class Wrong(AssertionError):
    """The migration has broken a promise."""


@dataclass
class Truth:
    """What every program must see: items by key, and all states of each since the beginning."""

    items: dict[Key, dict[str, Any]] = field(default_factory=dict)
    versions: list[dict[Key, dict[str, Any]]] = field(default_factory=lambda: [{}])

    def change(self, effect: Effect) -> None:
        effect(self)
        self.versions.append({key: dict(item) for key, item in self.items.items()})

    def since(self, start: int) -> list[dict[Key, dict[str, Any]]]:
        return self.versions[start:]


@dataclass
class Actor:
    """A generator of requests. `effect` is what its operation does once it takes effect."""

    name: str
    steps: Generator[Any, Any, Any]
    effect: Effect | None = None
    request: Any = None
    ready: float = 0.0
    started: bool = False
    applied: bool = False


@dataclass
class Late:
    """A request that arrives after its program has given up waiting."""

    call: ApiCall
    effect: Effect | None
    until: float


class World:
    """Runs actors on one database. `faults` is the probability of each kind of fault."""

    def __init__(self, random: Random, faults: float) -> None:
        self.random = random
        self.faults = faults
        self.now = 0.0
        self.database = hashrange.connect()
        self.connection = connect(self.database)
        self.truth = Truth()
        self.late: list[Late] = []
        self.requests = 0

    def clock(self) -> float:
        return self.now

    def close(self) -> None:
        self.database.close()

    # ---- one step of an actor ----

    def step(self, actor: Actor) -> bool:
        """Whether the actor goes on. Raises what its generator raises."""
        self.now += self.random.random() * 0.2
        self._arrive()
        try:
            if not actor.started:
                actor.started = True
                actor.request = next(actor.steps)
            elif isinstance(actor.request, Pause):
                actor.request = actor.steps.send({})
            else:
                self._answer(actor)
        except StopIteration:
            return False
        if isinstance(actor.request, Pause):
            actor.ready = self.now + actor.request.seconds
        return True

    def _answer(self, actor: Actor) -> None:
        call = actor.request
        fate = self.random.random()
        try:
            if fate < self.faults:
                raise ApiFailure("ThrottlingException", "slow down", LostAnswer("throttled"))
            if fate < 2 * self.faults and self._may_be_late(actor, call):
                raise ApiFailure("", "no answer", LostAnswer("late"))
            response = self.send(call, actor)
            if fate < 3 * self.faults:
                raise ApiFailure("", "no answer", LostAnswer("lost"))
        except ApiFailure as failure:
            actor.request = actor.steps.throw(failure)
        else:
            actor.request = actor.steps.send(response)

    def _may_be_late(self, actor: Actor, call: ApiCall) -> bool:
        if call.operation not in WRITES or actor.applied:
            return False
        signed = self.now if call.sign_until is None else min(self.now, call.sign_until)
        self.late.append(Late(call, actor.effect, signed + SIGNATURE_SECONDS))
        return True

    def send(self, call: ApiCall, actor: Actor) -> dict[str, Any]:
        if call.sign_until is not None and self.now >= call.sign_until:
            from hashrange.design.migrate.lease import LeaseOver

            raise ApiFailure("", "over", LeaseOver(0))
        response = self._apply(call, actor.effect if not actor.applied else None)
        if call.operation in WRITES and actor.effect is not None:
            actor.applied = True
        return response

    def _apply(self, call: ApiCall, effect: Effect | None) -> dict[str, Any]:
        self.requests += 1
        response = self.connection.call(call.operation, call.payload)
        if call.operation == "UpdateTable":
            self._wait_for_indexes(call.payload["TableName"])
        if call.operation in WRITES and effect is not None:
            self.truth.change(effect)
        return response

    def _wait_for_indexes(self, table: str) -> None:
        """An index is built in real time, which must not change the history."""
        while True:
            described = self.database.execute("DescribeTable", {"TableName": table})["Table"]
            indexes = described.get("GlobalSecondaryIndexes", [])
            if all(index["IndexStatus"] == "ACTIVE" for index in indexes):
                return
            time.sleep(0.001)

    def _arrive(self) -> None:
        """Late requests take effect at any time before their signatures are too old."""
        for late in list(self.late):
            if self.now > late.until:
                self.late.remove(late)
            elif self.random.random() < 0.05:
                self.late.remove(late)
                try:
                    self._apply(late.call, late.effect)
                except ApiFailure:
                    continue
