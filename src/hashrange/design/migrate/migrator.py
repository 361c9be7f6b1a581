"""Takes a table from one phase of a migration to the next, and does the work of each phase.

Before a migrator changes the phase, it takes a new term (the next number), so that a replaced
migrator can write nothing more. After each change it waits until every program has read the new
phase. If programs write differently in the new phase, it also waits until no request that was
signed in the old phase can still arrive.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hashrange.design.execute.steps import ApiCall, Pause, Steps
from hashrange.design.migrate.backfill import Backfill
from hashrange.design.migrate.comparison import Comparison
from hashrange.design.migrate.counting import counted
from hashrange.design.migrate.indexes import Indexes
from hashrange.design.migrate.ledger import Ledger
from hashrange.design.migrate.patience import patient
from hashrange.design.migrate.phases import (
    CANARY,
    COUNTS,
    GUARD,
    ORDER,
    RECEIPT,
    MigrationError,
    Phase,
    State,
    own_key,
)
from hashrange.design.migrate.requests import identity
from hashrange.design.migrate.sides import Side
from hashrange.model.values import Item

CHANGES_EPOCH = frozenset({Phase.DUAL, Phase.CONTRACTING, Phase.OLD})
"""The phases that begin with a new epoch, because programs begin to write differently."""
WAITS_FOR_SIGNATURES = frozenset({Phase.DUAL, Phase.CONTRACTING})
"""The phases whose work begins only when no request of the previous epoch can arrive any more."""
BACK_FROM = frozenset({Phase.EXPAND, Phase.DUAL, Phase.BACKFILL, Phase.VERIFY, Phase.READ_NEW})
NO_FILTER: Mapping[str, Any] = {}
PASSES_MAX = 3
SKEW_SECONDS = 1.0
"""The time added to the wait until leases end, because clocks run at different speeds."""


@dataclass(frozen=True)
class Progress:
    """The progress of a migrator. `items` is the number of items written so far in this phase."""

    phase: Phase
    text: str
    items: int = 0


Report = Callable[[Progress], object]


class Migrator:
    """The commands of one migration, each a generator of requests (`Steps`).

    The migrator writes at most `rate` items per second.
    """

    def __init__(
        self,
        side: Side,
        indexes: Indexes,
        plan: str,
        *,
        lease_seconds: float,
        signature_seconds: float,
        rate: float | None = None,
        report: Report = lambda progress: None,
    ) -> None:
        self.side = side
        self.indexes = indexes
        self.plan = plan
        self.lease_seconds = lease_seconds
        self.signature_seconds = signature_seconds
        self.rate = rate
        self.report = report
        self.ledger = Ledger(side.model)

    # ---- commands ----

    @patient
    def start(self) -> Steps[State]:
        before = yield from self.ledger.read()
        if before.active:
            raise MigrationError(
                f"the table {self.side.model.name!r} is in the phase {before.phase} of a migration "
                "already: go on with `advance` or `resume`, or undo it with `back`"
            )
        if before.phase is Phase.DONE and before.plan == self.plan:
            raise MigrationError("this migration has finished")
        yield from counted(self.side.model)
        after = State(
            phase=Phase.EXPAND,
            epoch=before.epoch,
            swept_from=before.swept_from,
            term=before.term + 1,
            plan=self.plan,
            settled=False,
            done=False,
            guards=self.side.guards,
        )
        state = yield from self.ledger.change(before, after)
        return (yield from self._work(state))

    @patient
    def advance(self) -> Steps[State]:
        """Complete the work of the phase, enter the next one, and do its work."""
        state = yield from self._taken()
        if state.phase is Phase.CONTRACTING:
            raise MigrationError("the old items are deleted: end the migration with `finish`")
        state = yield from self._work(state)
        following = ORDER[ORDER.index(state.phase) + 1]
        return (yield from self._entered(state, following))

    @patient
    def resume(self) -> Steps[State]:
        """Continue the work of the phase after a pause or an interruption."""
        return (yield from self._work((yield from self._taken())))

    @patient
    def pause(self) -> Steps[State]:
        state = yield from self._own_state()
        return (yield from self.ledger.change(state, state.changed(paused=True)))

    @patient
    def back(self) -> Steps[State]:
        """Go back to the phase `old`. Nothing is lost: programs have written old and new items."""
        state = yield from self._taken()
        if state.phase not in BACK_FROM:
            raise MigrationError(
                f"in the phase {state.phase}, a migration cannot go back, because programs of the "
                "new model may have written: plan the reverse migration instead"
            )
        if state.phase is Phase.READ_NEW:
            state = yield from self._settled(state)
            state = yield from self.ledger.change(
                state, state.changed(phase=Phase.VERIFY, settled=False, done=True)
            )
        state = yield from self._settled(state)
        return (yield from self._entered(state, Phase.OLD))

    @patient
    def verify(self) -> Steps[list[Item]]:
        """Compare all items. Returns the keys of items that differ, and changes nothing."""
        state = yield from self._own_state()
        if state.phase not in (Phase.VERIFY, Phase.READ_NEW, Phase.NEW):
            raise MigrationError(f"in the phase {state.phase} there is nothing to compare yet")
        return (yield from self._compared())

    @patient
    def finish(self) -> Steps[State]:
        """Drop the old indexes, and delete the migration's items except its state, now `done`."""
        state = yield from self._taken()
        if state.phase is not Phase.CONTRACTING:
            raise MigrationError(
                f"a migration can finish only in the phase contracting, and it is in {state.phase}"
            )
        state = yield from self._work(state)
        yield from self.indexes.drop()
        state = yield from self.ledger.change(state, state.changed(phase=Phase.DONE, guards=0))
        for number in range(self.side.guards):
            yield from self._delete(own_key(self.side.model, GUARD, str(number)))
        yield from self._delete(own_key(self.side.model, COUNTS))
        yield from self._delete_leftovers()
        return state

    # ---- phases ----

    def _own_state(self) -> Steps[State]:
        """The stored state.

        Raises MigrationError if the table is in no migration, or in another one.
        """
        state = yield from self.ledger.read()
        if not state.active:
            raise MigrationError(f"the table is in the phase {state.phase}: begin with `start`")
        if state.plan != self.plan:
            raise MigrationError(
                "the models are not those that the migration was started with: use the same ones, "
                "or go back and start again"
            )
        return state

    def _taken(self) -> Steps[State]:
        """Take a new term for this migrator. Returns the changed state."""
        state = yield from self._own_state()
        return (
            yield from self.ledger.change(state, state.changed(term=state.term + 1, paused=False))
        )

    def _entered(self, state: State, phase: Phase) -> Steps[State]:
        epoch = state.epoch + (phase in CHANGES_EPOCH)
        after = state.changed(
            phase=phase,
            epoch=epoch,
            swept_from=epoch if phase is Phase.DUAL else state.swept_from,
            settled=False,
            done=False,
            position="",
            items=0,
        )
        return (yield from self._work((yield from self.ledger.change(state, after))))

    def _settled(self, state: State) -> Steps[State]:
        if state.settled:
            return state
        seconds = self.lease_seconds + SKEW_SECONDS * (self.lease_seconds > 0)
        if state.phase in WAITS_FOR_SIGNATURES and not self.side.guards:
            seconds += self.signature_seconds
        text = f"waits {seconds:g} s, until every program follows the new phase"
        self.report(Progress(state.phase, text))
        yield Pause(seconds)
        return (yield from self.ledger.change(state, state.changed(settled=True)))

    def _work(self, state: State) -> Steps[State]:
        state = yield from self._settled(state)
        if state.done:
            return state
        match state.phase:
            case Phase.EXPAND:
                yield from self.indexes.add()
            case Phase.BACKFILL:
                state = yield from self._scan(state, "mirrored", self._sweep)
            case Phase.VERIFY:
                yield from self._verified(state)
                yield from self.indexes.try_all(state.term)
            case Phase.CONTRACTING:
                state = yield from self._scan(state, "deleted", self._contract)
        return (yield from self.ledger.change(state, state.changed(done=True)))

    # ---- scans ----

    def _scan(
        self,
        state: State,
        what: str,
        write: Callable[[Backfill, list[Item]], Steps[int]],
    ) -> Steps[State]:
        """Call `write` with each page of the table, from where an interrupted scan stopped.

        `write` returns the number of items that it wrote. `what` names the work in reports, e.g.
        "mirrored".
        """
        while True:
            backfill = Backfill(self.side, state)
            only = backfill.unswept if state.phase is Phase.BACKFILL else NO_FILTER
            after = json.loads(state.position) if state.position else None
            page = yield from self._page(after, only)
            began = time.monotonic()
            written = yield from write(backfill, page["Items"])
            if self.rate is not None:
                yield Pause(max(0.0, written / self.rate - (time.monotonic() - began)))
            after = page.get("LastEvaluatedKey")
            position = json.dumps(after) if after else ""
            items = state.items + written
            self.report(Progress(state.phase, f"{items:,} items {what}", items))
            state = yield from self.ledger.change(
                state, state.changed(items=items, position=position)
            )
            if not after:
                return state

    def _page(
        self, after: Item | None, only: Mapping[str, Any] = NO_FILTER
    ) -> Steps[dict[str, Any]]:
        name = self.side.model.name
        request: dict[str, Any] = {"TableName": name, "ConsistentRead": True, **only}
        if after is not None:
            request["ExclusiveStartKey"] = after
        if self.rate is not None:
            request["Limit"] = max(1, int(self.rate))  # so that the pauses are short
        return (yield ApiCall("Scan", request))

    def _sweep(self, backfill: Backfill, images: list[Item]) -> Steps[int]:
        jobs = [job for image in images if (job := backfill.job(image)) is not None]
        written = yield from backfill.write(jobs)
        yield from backfill.lone(images)
        return written

    def _contract(self, backfill: Backfill, images: list[Item]) -> Steps[int]:
        deleted = 0
        for image in images:
            deleted += yield from backfill.contract(image)
        return deleted

    def _compared(self) -> Steps[list[Item]]:
        comparison = Comparison(self.side)
        differing: dict[str, Item] = {}
        after: Item | None = None
        while True:
            page = yield from self._page(after)
            keys = yield from comparison.page(page["Items"])
            differing |= {identity(key): key for key in keys}
            after = page.get("LastEvaluatedKey")
            if after is None:
                return list(differing.values())

    def _verified(self, state: State) -> Steps[None]:
        """Compare all items and mend those that differ, until one pass finds no difference."""
        differing: list[Item] = []
        for number in range(PASSES_MAX):
            differing = yield from self._compared()
            self.report(Progress(state.phase, f"pass {number + 1}: {len(differing)} items differ"))
            if not differing:
                return
            yield from Backfill(self.side, state).mend(differing)
        shown = ", ".join(map(str, differing[:3]))
        raise MigrationError(
            f"{len(differing)} items still differ after {PASSES_MAX} passes, e.g. {shown}: a "
            "program that does not follow the migration writes them; keep it out, and go on with "
            "`resume`"
        )

    # ---- the end ----

    def _delete(self, key: Item) -> Steps[None]:
        yield ApiCall("DeleteItem", {"TableName": self.side.model.name, "Key": key})

    def _delete_leftovers(self) -> Steps[None]:
        after: Item | None = None
        names = [column.attribute for column in self.side.model.table.columns]
        while True:
            page = yield from self._page(after)
            for image in page["Items"]:
                if image[names[0]].get("S", "").startswith((f"{RECEIPT}#", f"{CANARY}#")):
                    yield from self._delete({name: image[name] for name in names})
            after = page.get("LastEvaluatedKey")
            if after is None:
                return
