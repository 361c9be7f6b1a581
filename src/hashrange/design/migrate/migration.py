"""`st.Migration`: changing the model of a live table, for programs and for the migrator."""

import hashlib
import json
import time
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any, TypeVar, cast

from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DeclarationError
from hashrange.design.execute.connection import connect, connect_async
from hashrange.design.execute.observation import Observer
from hashrange.design.execute.steps import run
from hashrange.design.execute.store import OpenStore
from hashrange.design.migrate.checks import problems
from hashrange.design.migrate.counting import Counting
from hashrange.design.migrate.estimate import MigrationPlan, estimate
from hashrange.design.migrate.following import FollowingSteps
from hashrange.design.migrate.indexes import Indexes
from hashrange.design.migrate.lease import Lease, guard_signatures
from hashrange.design.migrate.ledger import GUARDS_MAX, Ledger
from hashrange.design.migrate.migrator import Migrator, Report
from hashrange.design.migrate.phases import State
from hashrange.design.migrate.policy import kept_out
from hashrange.design.migrate.shadow import shadow_model, shadows
from hashrange.design.migrate.sides import Side
from hashrange.design.migrate.twins import Twin, replacement, twins
from hashrange.design.table import Table
from hashrange.model.values import Item

R = TypeVar("R")
LEASE_SECONDS = 5.0
SIGNATURE_SECONDS = 1800.0
"""The time for which a signed request is accepted: 15 minutes before and after its timestamp."""


class Migration:
    """The change of one live table from the model `old` to the model `new`.

    Programs of either model call `open`; their stores follow the phases by themselves. A person or
    a script takes the table through the phases with `start`, `advance` and `finish`.

    `lease_seconds` is how long a program relies on a phase that it has read. `signature_seconds` is
    how long after its signature a request can still arrive. With `guards` (1 to 99), the table has
    this number of guard items, and each write checks one of them instead of relying on a clock. All
    programs must have the same guards and lease. `accept` names patterns of the old model that may
    become less consistent.

    Raises DeclarationError with every reason why the change cannot be made.
    """

    def __init__(
        self,
        old: Table,
        new: Table,
        /,
        *,
        lease_seconds: float = LEASE_SECONDS,
        signature_seconds: float = SIGNATURE_SECONDS,
        guards: int = 0,
        accept: Collection[str] = (),
    ) -> None:
        if not 0 <= guards <= GUARDS_MAX:
            raise DeclarationError(f"guards must be from 0 to {GUARDS_MAX}, not {guards}")
        self.old, self.new = old, new
        self.lease_seconds = lease_seconds
        self.signature_seconds = signature_seconds
        self.guards = guards
        self.twins: tuple[Twin, ...] = tuple(twins(old.model, new.model))
        patterns = [pattern for group in old.patterns.values() for pattern in group]
        refusals = problems(old.model, new.model, self.twins, patterns, frozenset(accept))
        if refusals:
            raise DeclarationError("this migration is not possible:\n" + "\n".join(refusals))

    # ---- programs ----

    def open(
        self,
        protocol: Callable[[], R],
        connection: Any,
        *,
        observe: Observer | None = None,
        cursor_key: bytes | None = None,
        clock: Callable[[], float] = time.monotonic,
        count: bool = False,
    ) -> R:
        """A store with a protocol of the old or the new model, which follows the migration.

        `Table.open` explains the arguments. The store's methods raise MigrationError in a phase in
        which programs of this model must not run. With `count`, the program counts its writes
        before the start, and stores the counts once a minute. `plan` and `start` then refuse a
        table with an item that is written too often for a migration, or with transactions that
        would become too large.
        """
        table, side = self._side_of(protocol)
        patterns = table.patterns_of(protocol)
        moved = any(not twin.keeps_key for twin in self.twins)
        calls = {} if side.is_new or not moved else shadows(self._shadow, patterns)
        lease = Lease(side, self.fingerprint, self.lease_seconds, clock)
        counting = Counting(side) if count else None
        core = FollowingSteps(side, patterns, calls, lease, observe, cursor_key, counting)
        guard_signatures(connection, clock)
        opened: Any
        if any(pattern.asynchronous for pattern in patterns):
            from hashrange.design.execute.async_store import OpenAsyncStore

            opened = OpenAsyncStore(core, connect_async(connection))
        else:
            opened = OpenStore(core, connect(connection))
        return cast(R, opened)

    def _side_of(self, protocol: Any) -> tuple[Table, Side]:
        held = [table for table in (self.old, self.new) if protocol in table.patterns]
        if len(held) != 1:
            raise DeclarationError(
                f"{protocol.__name__} is in both models: declare a protocol for each model"
                if held
                else f"{protocol.__name__} is in neither model: open a protocol of one of them"
            )
        return held[0], self._new_side if held[0] is self.new else self._old_side

    @cached_property
    def _old_side(self) -> Side:
        return Side(self.old.model, self.twins, False, self.guards)

    @cached_property
    def _new_side(self) -> Side:
        reversed_twins = tuple(twin.reversed for twin in self.twins)
        return Side(self.new.model, reversed_twins, True, self.guards)

    @cached_property
    def _shadow(self) -> TableModel:
        return shadow_model(self.old.model, self.new.model, self.twins)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of both models and of the settings that all programs must share.

        The table stores the digest, so that a program with another one is noticed.
        """
        # A migrator must not wait for a shorter time than a program's lease lasts.
        settings = [self.guards, self.lease_seconds]
        shown = [_described(self.old.model), _described(self.new.model), settings]
        return hashlib.blake2b(json.dumps(shown).encode(), digest_size=12).hexdigest()

    # ---- the migrator ----

    def plan(self, connection: Any, *, rate: float | None = None) -> MigrationPlan:
        """The cost of each step, for the present number of items. Changes nothing.

        With `rate`, in items per second, the plan also has the hours that each step takes.
        """
        waits = self.lease_seconds + (0 if self.guards else self.signature_seconds)
        steps = estimate(self.old, self.twins, self._indexes, rate, self._old_side, waits)
        return run(steps, connect(connection))

    def keeps_out(self, connection: Any) -> bool:
        """Whether the table denies writes that do not follow the migration.

        For this, it needs a policy such as the one that `plan` shows. It is tested with deletes
        whose condition is never true.
        """
        return run(kept_out(self._old_side), connect(connection))

    def start(self, connection: Any, *, report: Report | None = None) -> State:
        """Add the new indexes. Programs still read and write as before."""
        return run(self.migrator(report=report).start(), connect(connection))

    def advance(
        self, connection: Any, *, rate: float | None = None, report: Report | None = None
    ) -> State:
        """Enter the next phase and do its work, at most `rate` items a second."""
        return run(self.migrator(rate, report).advance(), connect(connection))

    def resume(
        self, connection: Any, *, rate: float | None = None, report: Report | None = None
    ) -> State:
        """Continue the work of the phase after a pause or an interruption."""
        return run(self.migrator(rate, report).resume(), connect(connection))

    def pause(self, connection: Any) -> State:
        """Tell the running migrator to stop after its present page of items."""
        return run(self.migrator().pause(), connect(connection))

    def back(self, connection: Any, *, report: Report | None = None) -> State:
        """Go back to the phase `old`, without losing a write. Possible up to `read-new`."""
        return run(self.migrator(report=report).back(), connect(connection))

    def verify(self, connection: Any) -> list[Item]:
        """Compare all items. Returns the keys of the items whose old and new forms differ."""
        return run(self.migrator().verify(), connect(connection))

    def finish(self, connection: Any, *, report: Report | None = None) -> State:
        """Drop the old indexes. From then on, programs can open the new table directly."""
        return run(self.migrator(report=report).finish(), connect(connection))

    def status(self, connection: Any) -> State:
        """The state of the migration, as the table stores it."""
        return run(Ledger(self.old.model).read(), connect(connection))

    def migrator(self, rate: float | None = None, report: Report | None = None) -> Migrator:
        """The migrator. For each command, e.g. `advance`, it has a generator of requests (`Steps`).

        `run` sends the requests.
        """
        more: dict[str, Any] = {} if report is None else {"report": report}
        return Migrator(
            self._old_side,
            self._indexes,
            self.fingerprint,
            lease_seconds=self.lease_seconds,
            signature_seconds=self.signature_seconds,
            rate=rate,
            **more,
        )

    @cached_property
    def _indexes(self) -> Indexes:
        return Indexes(self.old.model, self.new.model)


def _described(model: TableModel) -> list[Any]:
    """What all programs must agree on: the table, and each entity's fields, keys and `st.pair`s."""
    return [
        model.name,
        [[str(s), s.name, s.columns, s.project] for s in model.sources],
        [
            [
                entity.name,
                sorted((n, a, entity.fields[n].tag) for n, a in entity.attributes.items()),
                [[str(c.template) for c in key.columns] for key in (entity.key, *entity.indexes)],
                sorted((u.namespace, str(u.template)) for u in entity.unique),
                sorted((n, p.field) for n, p in getattr(replacement(entity), "pairs", {}).items()),
            ]
            for entity in model.entities
        ],
    ]
