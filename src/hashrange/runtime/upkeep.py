"""A thread that runs upkeep: at once when a table changed, and now and then for the rest."""

from threading import Event, Lock, Thread
from typing import Any, Protocol

import msgspec

from hashrange.model.errors import ApiError
from hashrange.runtime import forks

PAUSE_SECONDS = 2.0
"""Between two looks for work that no commit of this process announced."""


class Caller(Protocol):
    def call(self, name: str, body: bytes, /) -> bytes: ...


class Upkeep:
    """Starts its thread when it is first woken: a database that only reads has none."""

    def __init__(self, runtime: Caller) -> None:
        self._runtime = runtime
        self._closing = False
        self.after_fork()
        forks.watch(self)

    def after_fork(self) -> None:
        """The thread is not there; the next `wake` starts another."""
        self._wake = Event()
        self._thread: Thread | None = None
        self._lock = Lock()

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

    def run_once(self) -> bool:
        """One step of each kind of work that is waiting. Returns whether there was any."""
        steps = self._call("upkeep.Pending", {})["Steps"]
        steps.append({"Operation": "upkeep.ForgetTokens", "Body": {}})
        worked = False
        for step in steps:
            if not self._closing:
                worked |= not self._call(step["Operation"], step["Body"])["Done"]
        return worked

    def _call(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._runtime.call(name, msgspec.json.encode(body))
        return msgspec.json.decode(answer, type=dict[str, Any])

    def _loop(self) -> None:
        while not self._closing:
            self._wake.clear()
            try:
                while not self._closing and self.run_once():
                    pass
            except ApiError:
                pass  # it is in the log; the next look may find the store well again
            self._wake.wait(PAUSE_SECONDS)
