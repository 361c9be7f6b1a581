"""Readiness: whether the database can read and write now.

A probe reads from the store and commits to it, because only a commit tells that the disk is full,
or that a sync has failed. Probes that arrive together, or within a second, share one.
"""

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Protocol

from hashrange import StoreError
from hashrange.interfaces.admin.routes import Answer, Query, Route, Routes, text_answer
from hashrange.interfaces.server.clients import Answered
from hashrange.model.errors import InternalServerError
from hashrange.runtime.health import damage

PROBE_SECONDS_MAX = 5.0
"""How long a caller waits for a probe that another caller has begun."""

_FRESH_SECONDS = 1.0


class Runtime(Protocol):
    """The part of a runtime that is probed."""

    def probe(self) -> None:
        """Read and commit. Raises StoreError."""
        ...


class Health:
    """Probes a runtime, and remembers damage that the answers of the server have met."""

    def __init__(self, runtime: Runtime, clock: Callable[[], float] = monotonic) -> None:
        self._runtime = runtime
        self._clock = clock
        self._probing = Lock()
        self._fresh_until = 0.0
        self._problem = ""
        self._damage = ""

    def routes(self) -> Routes:
        return {"/readyz": Route(self.ready, open=True)}

    def observe(self, answered: Answered) -> None:
        """An observer of the server."""
        outcome = answered.outcome
        if isinstance(outcome, InternalServerError) and (found := damage(outcome)):
            self._damage = f"{found}; run hashrange check, and restore a backup"

    def ready(self, query: Query) -> Answer:
        """200 and `ready`, or 503 and one line that says what is wrong."""
        if not self._probing.acquire(timeout=PROBE_SECONDS_MAX):
            return text_answer(f"the store has not answered for {PROBE_SECONDS_MAX:g} seconds", 503)
        try:
            if self._clock() >= self._fresh_until:
                self._problem = self._probe()
                self._fresh_until = self._clock() + _FRESH_SECONDS
            problem = self._problem or self._damage
        finally:
            self._probing.release()
        return text_answer(problem, 503) if problem else text_answer("ready")

    def _probe(self) -> str:
        try:
            self._runtime.probe()
        except StoreError as error:
            return str(error)
        return ""
