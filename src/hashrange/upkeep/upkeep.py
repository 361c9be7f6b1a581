"""A thread that does upkeep: at once when a table has changed, and at intervals.

If several processes use one file, each does the work that its own changes cause, at once. Scheduled
work, such as the deletion of expired items, is done only by the process that the store has elected,
so that the rate does not depend on the number of processes. If the database is on another machine,
no process is elected. Instead, the upkeep takes a lease.
"""

from collections import Counter
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Any

from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.runtime.background import Background, Duty, RunsUpkeep, ask

PAUSE_SECONDS = 2.0
"""The interval at which the thread looks for work that no commit of this process has announced."""

ROUND_SECONDS = 45.0
"""The interval at which the thread looks for work in a shared database if no process has asked for
it. It is long, because the search takes several statements."""

RETRY_GROWTH = 1.1
"""The factor by which a partition must grow before a failed attempt to split it is repeated. Each
attempt reads half of the partition."""


class Upkeep(Background):
    """The thread that does the upkeep of one database.

    `asked` returns steps to do in addition to those that the database needs. `elected` tells
    whether this process does the scheduled work. If the database is `shared`, only the process with
    the lease works. `timer` returns a time in seconds: see `Duty`.
    """

    name = "hashrange-upkeep"

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
        self._duty = Duty(runtime, "upkeep", shared, timer)
        self._shared = shared
        self._next_round = 0.0  # a time of the timer
        self._seen = 0.0
        """The value that `Duty.asked` had when this thread last found no work."""
        self._asked = asked
        self._timer = timer
        self._runtime = runtime
        self._settings = settings
        self.expired: Counter[str] = Counter()
        """The number of expired items that were deleted, by table."""
        self._resume: dict[tuple[str, str], dict[str, Any]] = {}
        """The progress of index builds, by table and index: members for the body of the next
        step."""
        self._expire_from = 0.0  # a time of the timer; until then no expired item is deleted
        self._retry_from: dict[tuple[str, str | None, int], float] = {}
        super().__init__()

    def after_fork_in_child(self) -> None:
        self._stepping = Lock()
        super().after_fork_in_child()

    def close(self) -> None:
        """Stop the thread. Returns when the current step is done."""
        super().close()
        self._duty.end()

    def run_once(self, expire: bool = True) -> bool:
        """Do one step of each kind of waiting work. Returns whether there was any work.

        Only one thread does this at a time. Otherwise a thread might find no work because another
        thread was just doing it.
        """
        with self._stepping:
            return self._run_once(expire)

    def _run_once(self, expire: bool) -> bool:
        steps = self._call("upkeep.Pending", {})["Steps"]
        steps += self._asked()
        worked, deleted = False, 0
        for step in steps:
            if self.closing or (step["Operation"] == "upkeep.ExpireItems" and not expire):
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
        match step["Operation"]:
            case "upkeep.HalvePartition":
                return self._halve(step)
            case "upkeep.FindUnbuilt":
                return self._build(step)
            case operation:
                return self._call(operation, step["Body"])

    def _build(self, step: dict[str, Any]) -> dict[str, Any]:
        """Find the next items for an index that is built from the log, and append their records."""
        body = step["Body"]
        index = body["TableName"], body["IndexName"]
        found = self._call(step["Operation"], body | self._resume.pop(index, {}))
        while "Next" in found and not self.closing:
            found = self._call(found["Next"]["Operation"], found["Next"]["Body"])
        if "Resume" in found:
            self._resume[index] = found["Resume"]
        return found

    def _halve(self, step: dict[str, Any]) -> dict[str, Any]:
        """Split a large partition. If it cannot be split, try again when it has grown."""
        body = step["Body"]
        place = body["TableName"], body["IndexName"], body["Number"]
        if body["Size"] < self._retry_from.get(place, 0):
            return {"Done": True}
        answer = self._call(step["Operation"], body)
        if answer["Done"]:
            self._retry_from[place] = body["Size"] * RETRY_GROWTH
            return answer
        return self._call(answer["Next"]["Operation"], answer["Next"]["Body"])

    def _call(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        return ask(self._runtime, name, body)

    def work(self, announced: bool) -> float:
        elected = self._elected()
        if elected or announced:
            while not self.closing and self._duty.is_ours(announced) and self._is_due(announced):
                if not self.run_once(elected and self._timer() >= self._expire_from):
                    self._rest()
                    break
        return self.retry_seconds()

    def _is_due(self, announced: bool) -> bool:
        asked = announced or self._duty.asked != self._seen
        return not self._shared or asked or self._timer() >= self._next_round

    def _rest(self) -> None:
        now = self._timer()
        self._seen = self._duty.asked
        self._next_round = self._expire_from if now < self._expire_from else now + ROUND_SECONDS

    def retry_seconds(self) -> float:
        resting = self._expire_from - self._timer()
        return resting if 0 < resting < PAUSE_SECONDS else PAUSE_SECONDS
