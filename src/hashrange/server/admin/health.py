"""Readiness: whether the database can read and write now.

A probe reads from the store and commits to it, because only a commit shows that a sync has failed.
The small commit may succeed although the disk is nearly full. So the probe also checks the free
space, and whether requests have just failed for lack of space. Probes that arrive together, or
within a second, share one result. The probe runs in a thread of its own, so that every caller gets
an answer in time even if the store hangs.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from time import monotonic
from typing import Protocol

from hashrange.kv import StoreError
from hashrange.model.errors import InternalServerError
from hashrange.runtime.health import damage, is_full
from hashrange.server.admin.routes import Answer, Figures, Query, Route, Routes, text_answer

PROBE_SECONDS_MAX = 5.0
"""The longest time for which a caller waits for the result of a probe."""

FREE_BYTES_MIN = 8 * 1024 * 1024
"""The free disk space that a server needs to be ready. A large transaction may not fit into less
space."""

FULL_SECONDS = 10.0
"""The time for which a server is not ready after a request failed because the disk was full."""

_FRESH_SECONDS = 1.0


class Runtime(Protocol):
    """The part of a runtime that `Health` uses."""

    def probe(self) -> None:
        """Read from the store, and commit to it. Raises StoreError."""
        ...


def readiness(problem: str, remark: str = "") -> Answer:
    return text_answer(problem, 503) if problem else text_answer(f"ready{remark}")


class Health:
    """Probes a runtime, and remembers the latest errors of requests. `store_figures` returns the
    figures of the store; only `disk_free_bytes` and `archive_lag_seconds` are used. A server whose
    archive is more than `archive_lag_max` seconds behind is not ready."""

    def __init__(
        self,
        runtime: Runtime,
        store_figures: Figures = dict,
        clock: Callable[[], float] = monotonic,
        archive_lag_max: float | None = None,
        probe_seconds: float = PROBE_SECONDS_MAX,
    ) -> None:
        self._runtime = runtime
        self._store_figures = store_figures
        self._clock = clock
        self._archive_lag_max = archive_lag_max
        self._probe_seconds = probe_seconds
        self._lock = Lock()
        self._probing: Future[str] | None = None
        self._fresh_until = 0.0
        self._damage = ""
        self._full_until = 0.0

    def routes(self) -> Routes:
        return {"/readyz": Route(self.ready, open=True)}

    def figures(self) -> dict[str, int]:
        """Readiness as a figure: 1 if the server is ready, else 0."""
        return {"ready": int(not self.problem())}

    def note(self, outcome: object) -> None:
        """Remember the outcome of a request if it is an error of the store."""
        if not isinstance(outcome, InternalServerError):
            return
        if problem := damage(outcome):
            self._damage = f"{problem}; run hashrange check, and restore a backup"
        if is_full(outcome):
            self._full_until = self._clock() + FULL_SECONDS

    def ready(self, query: Query) -> Answer:
        """An answer of 200 and `ready`, or of 503 and one line with the reason.

        A cluster that has lost a node is ready, because it still serves the items of the other
        nodes.
        """
        waiting = self._store_figures().get("in_doubt", 0)
        remark = (
            f"; {waiting:,} transactions wait for a node that cannot be reached" if waiting else ""
        )
        return readiness(self.problem(), remark)

    def problem(self) -> str:
        """The reason why the server is not ready, or "" if it is ready. The call may wait for a
        disk."""
        try:
            problem = self._latest().result(self._probe_seconds)
        except TimeoutError:
            return f"the store has not answered for {self._probe_seconds:g} seconds"
        return problem or self._damage or self._lack_of_room() or self._lag_of_archive()

    def _latest(self) -> "Future[str]":
        """The result of the running probe. If no probe runs, the last result is reused for a
        second; after that, a new probe is started."""
        with self._lock:
            probe = self._probing
            if probe is None or (probe.done() and self._clock() >= self._fresh_until):
                probe = self._probing = Future()
                Thread(
                    target=self._probe, args=(probe,), name="hashrange-probe", daemon=True
                ).start()
            return probe

    def _lack_of_room(self) -> str:
        free = self._store_figures().get("disk_free_bytes", FREE_BYTES_MIN)
        if free < FREE_BYTES_MIN:
            return f"the disk is full: {free:,} bytes are free; free some space"
        if self._clock() < self._full_until:
            return "a request has just failed because the disk was full; free some space"
        return ""

    def _lag_of_archive(self) -> str:
        lag = self._store_figures().get("archive_lag_seconds", 0)
        if self._archive_lag_max is None or lag <= self._archive_lag_max:
            return ""
        return f"the archive is {lag:,} seconds behind; the log says why it cannot be written"

    def _probe(self, probe: "Future[str]") -> None:
        problem: str | BaseException = ""
        try:
            self._runtime.probe()
        except StoreError as error:
            problem = str(error)
        except BaseException as error:
            problem = error
        self._fresh_until = self._clock() + _FRESH_SECONDS
        if isinstance(problem, str):
            probe.set_result(problem)
        else:
            probe.set_exception(problem)
