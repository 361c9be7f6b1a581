"""Applies changes from the index logs of tables to their global indexes, right after each commit.

Each step begins with the oldest changes in a slot, which another server may have written. If this
server ends before it has applied its changes, the upkeep applies them (`upkeep.Pending`).
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from hashrange import kv
from hashrange.engine.indexes import propagation
from hashrange.engine.keyspace import logs
from hashrange.model.caller import DEFAULT_CALLER
from hashrange.model.errors import ApiError
from hashrange.operations.upkeep import UPKEEP
from hashrange.runtime.awaited.drive import run_batch
from hashrange.runtime.back_pressure import Lag
from hashrange.runtime.batch import Batch, submission_of
from hashrange.runtime.ending import internal_error
from hashrange.runtime.environment import Environment
from hashrange.runtime.gathering import Spawn

STEPS_MAX = 2
"""The largest number of steps that are under way at once. A step applies the first records of some
slots."""
SLOTS_PER_STEP = 32
PAUSE_SECONDS = 0.05
"""The pause of a slot after a failed step. It doubles with each consecutive failure."""
PAUSE_SECONDS_MAX = 2.0

PROPAGATE = UPKEEP["upkeep.Propagate"]


class LogSlot(NamedTuple):
    """A slot of a table's index log."""

    table_name: str
    log: int
    number: int


class Propagator:
    """Applies the changes in index logs to the indexes, step by step in the background.

    Call its methods on the loop of the store, unless their description says otherwise.
    """

    def __init__(self, store: kv.AsyncStore, environment: Environment, spawn: Spawn) -> None:
        self._store = store
        self._environment = environment
        self._spawn = spawn
        self._waiting: dict[LogSlot, float] = {}
        """For each slot, the time since which its first record has waited, in epoch seconds."""
        self._under_way: dict[LogSlot, float] = {}
        self._names: dict[int | None, str] = {}
        """Maps the space of each log to the name of the table to which the log belongs."""
        self._failures: dict[LogSlot, int] = {}
        """The number of consecutive failed steps of each slot."""
        self._resting: set[LogSlot] = set()
        """The slots that pause after a failed step."""
        self._causes: dict[LogSlot, str] = {}
        """The store's error in the last failed step of each slot; empty if the error was not the
        store's."""
        self._steps = 0
        self.closing = False

    def __len__(self) -> int:
        """The number of slots with records that this process still has to apply, and of steps under
        way."""
        return 0 if self._failures and self.closing else len(self._waiting) + self._steps

    def lags(self) -> dict[str, Lag]:
        """The lag of each table, by its name. May be called in any thread."""
        now = self._environment.clock.now()
        lags: dict[str, Lag] = {}
        for slots in (dict(self._waiting), dict(self._under_way)):
            for slot, since in slots.items():
                lag = lags.setdefault(slot.table_name, Lag())
                lag.add(now - since, self._causes.get(slot, ""))
        return lags

    def committed(self, writes: Sequence[kv.Write]) -> None:
        """Begin to apply the records that a batch has appended with these writes."""
        if not self._environment.indexes_follow:
            return
        appended = {(write.space, write.slot) for write in writes if type(write) is kv.Append}
        if not appended:
            return
        now = self._environment.clock.now()
        for table in self._environment.catalog.known[1].values():
            self._names[table.index_log] = table.name
        for log, slot in appended:
            if log in self._names:
                self._waiting.setdefault(LogSlot(self._names[log], log, slot), now)
        self._start()

    def _start(self) -> None:
        while self._steps < STEPS_MAX:
            slots = self._take()
            if not slots:
                return
            self._steps += 1
            self._spawn(self._run(slots))

    def _take(self) -> dict[LogSlot, float]:
        """Take the slots for the next step. They belong to one log on one machine, and the slots
        that have waited longest come first.

        A slot that has failed gets a step of its own, because its entries may be on a machine that
        cannot be reached, which would delay the other slots.
        """
        taken: dict[LogSlot, float] = {}
        place = None
        for slot, since in self._waiting.items():
            if slot in self._under_way or slot in self._resting:
                continue
            if slot in self._failures:
                if taken:
                    continue
                taken[slot] = since
                break
            machine = self._store.machine_of(logs.index_prefix(slot.number))
            if place in (None, (slot.log, machine)):
                place = slot.log, machine
                taken[slot] = since
                if len(taken) == SLOTS_PER_STEP:
                    break
        for slot in taken:
            del self._waiting[slot]
        self._under_way |= taken
        return taken

    async def _run(self, slots: dict[LogSlot, float]) -> None:
        try:
            left = await self._carry_out(slots)
        except GeneratorExit:  # the event loop is gone
            raise
        except Exception as error:  # the records are still there
            if not isinstance(error, ApiError):  # the batch logs errors of the API
                internal_error(error)
            left = slots
            self._failed(slots, error)
        else:
            for slot in slots:
                self._failures.pop(slot, None)
                self._causes.pop(slot, None)
        for slot in slots:
            del self._under_way[slot]
        for slot, since in left.items():
            self._waiting[slot] = min(since, self._waiting.get(slot, since))
        self._steps -= 1
        if not (self._failures and self.closing):
            self._start()

    def _failed(self, slots: Iterable[LogSlot], error: Exception) -> None:
        """Remember the error, and let the slots pause before the next attempt."""
        cause = error if isinstance(error, kv.StoreError) else error.__cause__
        for slot in slots:
            failures = self._failures[slot] = self._failures.get(slot, 0) + 1
            self._causes[slot] = str(cause) if isinstance(cause, kv.StoreError) else ""
            self._resting.add(slot)
            pause = min(PAUSE_SECONDS * (1 << min(failures, 10)), PAUSE_SECONDS_MAX)
            asyncio.get_running_loop().call_later(pause, self._try_again, slot)

    def _try_again(self, slot: LogSlot) -> None:
        self._resting.discard(slot)
        if not self.closing:
            self._start()

    async def _carry_out(self, slots: dict[LogSlot, float]) -> dict[LogSlot, float]:
        """Apply the first records of these slots. Returns the slots that have records left, each
        with the time since which these records have waited."""
        name, log, _ = next(iter(slots))
        reads = propagation.first_of(log, [slot.number for slot in slots])
        pages = propagation.of_one_step(await self._store.read(reads))
        keys = [key for page in pages for key, _ in page.rows]
        if keys:
            body = msgspec.json.encode({"TableName": name, "Log": log, "Keys": keys})
            submission = submission_of(PROPAGATE, PROPAGATE.parse(body), body, DEFAULT_CALLER)
            first = [kv.Get(tuple([(log, key) for key in keys]))]
            await run_batch(Batch(self._environment, [submission]), self._store, first)
            if isinstance(submission.outcome, BaseException):
                raise submission.outcome
        left = dict(list(slots.items())[len(pages) :])
        for slot, page in zip(slots, pages, strict=False):
            if not page.exhausted:
                left[slot] = propagation.time_of(page.rows[-1][1])
        return left
