"""A thread that runs upkeep: at once when a table has changed, and at intervals.

If several processes use one file, each does the work that its own changes make at once. Work that
becomes due with time, such as the deletion of expired items, is done by the one process that the
store has elected, so that its rate does not multiply. A database on another machine elects no
process: there the upkeep takes a lease.
"""

import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Protocol

import msgspec

from hashrange import forks, kv
from hashrange.model.errors import ApiError
from hashrange.model.settings import DEFAULT_SETTINGS, Settings

PAUSE_SECONDS = 2.0
"""How often the thread looks for work that no commit of this process has announced."""

RETRY_GROWTH = 1.1
"""A partition that could not be split is tried again when it is so many times larger: finding
the middle of its bytes means reading half of it."""

LEASE_SECONDS = 10.0
"""How long a lease lasts, under which one of several processes does the upkeep. The process renews
it in time."""


class RunsUpkeep(Protocol):
    def call_upkeep(self, name: str, body: bytes, /) -> bytes: ...


class Upkeep(forks.Forkable):
    """Starts its thread when it is first woken: a database that only reads has none.

    `asked` returns steps to do besides those that are found in the database. `elected` tells
    whether this process does the work that becomes due with time. If the database is `shared`, only
    the process that has a lease works. `timer` counts seconds. As a default argument it stays the
    system's, even if a test replaces `time.monotonic` to freeze the time.
    """

    def __init__(
        self,
        runtime: RunsUpkeep,
        settings: Settings = DEFAULT_SETTINGS,
        timer: Callable[[], float] = monotonic,
        asked: Callable[[], list[dict[str, Any]]] = list,
        shared: bool = False,
        elected: Callable[[], bool] = lambda: True,
    ) -> None:
        self._elected = elected
        self._holder = os.urandom(8).hex() if shared else ""
        self._lease_ends = 0.0  # of the timer
        self._asked = asked
        self._timer = timer
        self._runtime = runtime
        self._settings = settings
        self.expired: Counter[str] = Counter()
        """How many items were deleted for their age, by table."""
        self._expire_from = 0.0  # of the timer; until then no item is deleted for its age
        self._retry_from: dict[tuple[str, str | None, int], float] = {}
        self._closing = False
        self.after_fork_in_child()
        forks.watch(self)

    def after_fork_in_child(self) -> None:
        """The thread is not there; the next `wake` starts another."""
        self._wake = Event()
        self._thread: Thread | None = None
        self._lock = Lock()

    def at_exit(self) -> None:
        self._closing = True
        self._wake.set()
        if self._thread:
            self._thread.join(forks.wait_seconds())

    def wake(self) -> None:
        with self._lock:
            if self._thread is None and not self._closing:
                self._thread = Thread(target=self._loop, name="hashrange-upkeep", daemon=True)
                self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """Returns when the step under way is done."""
        with self._lock:
            self._closing = True
        self._wake.set()
        if self._thread:
            self._thread.join()
        if self._timer() < self._lease_ends:
            with suppress(Exception):  # another process goes on when the lease has ended
                self._call("upkeep.Lease", {"Holder": self._holder, "Seconds": 0})

    def run_once(self, expire: bool = True) -> bool:
        """One step of each kind of work that is waiting. Returns whether there was any."""
        steps = self._call("upkeep.Pending", {})["Steps"]
        steps += self._asked()
        steps.append({"Operation": "upkeep.ForgetTokens", "Body": {}})
        worked, deleted = False, 0
        for step in steps:
            if self._closing or (step["Operation"] == "upkeep.ExpireItems" and not expire):
                continue
            answer = self._answer(step)
            worked |= not answer["Done"]
            if "Deleted" in answer:
                deleted += answer["Deleted"]
                self.expired[step["Body"]["TableName"]] += answer["Deleted"]
        if deleted:
            self._expire_from = self._timer() + deleted / self._settings.expirations_per_second
        return worked

    def _answer(self, step: dict[str, Any]) -> dict[str, Any]:
        if step["Operation"] != "upkeep.HalvePartition":
            return self._call(step["Operation"], step["Body"])
        return self._halve(step)

    def _halve(self, step: dict[str, Any]) -> dict[str, Any]:
        """Split a large partition. One that cannot be split is tried again when it has grown."""
        body = step["Body"]
        place = body["TableName"], body["IndexName"], body["Number"]
        if body["Size"] < self._retry_from.get(place, 0):
            return {"Done": True}
        found = self._call(step["Operation"], body)
        if found["Done"]:
            self._retry_from[place] = body["Size"] * RETRY_GROWTH
            return found
        return self._call(found["Next"]["Operation"], found["Next"]["Body"])

    def _call(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._runtime.call_upkeep(name, msgspec.json.encode(body))
        return msgspec.json.decode(answer, type=dict[str, Any])

    def _is_ours(self) -> bool:
        """Whether this process is to do the upkeep now."""
        now = self._timer()
        if not self._holder or now < self._lease_ends - LEASE_SECONDS / 2:
            return True
        asked = {"Holder": self._holder, "Seconds": LEASE_SECONDS}
        if not self._call("upkeep.Lease", asked)["Granted"]:
            self._lease_ends = 0.0
            return False
        self._lease_ends = now + LEASE_SECONDS
        return True

    def _work(self, announced: bool) -> None:
        elected = self._elected()
        if not (elected or announced):
            return
        while not self._closing and self._is_ours():
            if not self.run_once(elected and self._timer() >= self._expire_from):
                return

    def _loop(self) -> None:
        while not self._closing:
            announced = self._wake.is_set()
            self._wake.clear()
            with suppress(ApiError, kv.StoreError):  # it was logged; the next attempt may succeed
                self._work(announced)
            resting = self._expire_from - self._timer()
            self._wake.wait(resting if 0 < resting < PAUSE_SECONDS else PAUSE_SECONDS)
