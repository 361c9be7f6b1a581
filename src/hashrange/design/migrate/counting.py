"""Counts what could make a migration fail, before it starts: hot items and large transactions.

From the phase `dual` on, a program reads an item before each write of a changed item, and repeats
both if another program has written the item in between. A transaction also gets mirrors, markers
and checks. Programs that count add their counts to an item of the table once a minute, so that
`plan` knows the sums over all programs.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from typing import NamedTuple
from zlib import crc32

from hashrange.design.declare.table_model import TableModel
from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps
from hashrange.design.execute.writes.commit import ACTIONS_MAX
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.unique_markers import OWNER_ATTRIBUTE
from hashrange.design.migrate.evaluation import Member, alone, members_of
from hashrange.design.migrate.phases import COUNTS, MigrationError, own_item, own_key
from hashrange.design.migrate.requests import identity
from hashrange.design.migrate.sides import Side
from hashrange.design.migrate.twins import Twin
from hashrange.design.migrate.writing import is_changed
from hashrange.model.values import Item

WRITES_PER_SECOND_MAX = 10.0
"""The largest number of writes of one item per second that a migration allows.

Assume that a read takes 5 ms and a transaction 12 ms. In the phase `dual`, the slowest 1% of random
writes then take over 85 ms at 10 writes a second, and over 250 ms at 20 writes a second. At 40
writes a second, some writes end in a Conflict.
"""
WINDOW_SECONDS = 60
KEPT_SECONDS = 86_400
"""The age at which counts are dropped, so that a corrected program is accepted after a day."""
ITEMS_KEPT = 20
ATTEMPTS = 4


class Rate(NamedTuple):
    """How often one item was written.

    `writes` is the number in the minute `window`. `peak` is the highest number in any minute, and
    `peak_window` is that minute.
    """

    window: int
    writes: int
    peak: int
    peak_window: int


class Largest(NamedTuple):
    """The largest transaction: its number of actions, and the minute in which it was sent.

    `may_have` is the number of actions that it could have in the phase `dual`.
    """

    actions: int = 0
    may_have: int = 0
    window: int = 0


NO_TRANSACTION = Largest()


@dataclass(frozen=True)
class Counts:
    """The counts of all programs. `items` maps keys of items, as JSON, to their rates."""

    since: int = 0
    writes: int = 0
    items: dict[str, Rate] = field(default_factory=dict)
    largest: Largest = NO_TRANSACTION

    def added(self, window: int, writes: Counter[str], largest: Largest) -> "Counts":
        """These counts plus the writes of one program in the minute `window`."""
        oldest = window - KEPT_SECONDS // WINDOW_SECONDS
        items = {key: rate for key, rate in self.items.items() if rate.peak_window >= oldest}
        for key, number in writes.most_common(ITEMS_KEPT):
            before = items.get(key, Rate(window, 0, 0, window))
            total = number + (before.writes if before.window == window else 0)
            peak = max((before.peak, before.peak_window), (total, window))
            items[key] = Rate(max(window, before.window), total, *peak)
        kept = sorted(items, key=lambda key: items[key].peak, reverse=True)[:ITEMS_KEPT]
        known = self.largest if self.largest.window >= oldest else Largest()
        return replace(
            self,
            since=self.since or window * WINDOW_SECONDS,
            writes=self.writes + writes.total(),
            items={key: items[key] for key in kept},
            largest=max(known, largest, key=lambda one: one.may_have),
        )

    def problems(self, now: float) -> Iterator[str]:
        """The reasons why these counts do not allow a migration."""
        oldest = (now - KEPT_SECONDS) // WINDOW_SECONDS
        for key, rate in self.items.items():
            a_second = rate.peak / WINDOW_SECONDS
            if rate.peak_window >= oldest and a_second > WRITES_PER_SECOND_MAX:
                yield (
                    f"the item {key} was written {a_second:.1f} times a second, but a migration "
                    f"allows at most {WRITES_PER_SECOND_MAX:g}: write it less often; a "
                    "counter can be divided into several items whose numbers are added up"
                )
        if self.largest.window >= oldest and self.largest.may_have > ACTIONS_MAX:
            yield (
                f"a transaction of {self.largest.actions} actions can grow to "
                f"{self.largest.may_have} with its mirrors, markers and checks, but at most "
                f"{ACTIONS_MAX} are allowed: split it"
            )

    def __str__(self) -> str:
        if not self.since:
            return (
                "No program has counted its writes, so it is not known whether an item is too hot "
                "for a migration, or a transaction too large. For a day, let the programs open "
                "their stores with migration.open(..., count=True)."
            )
        peak = max((rate.peak for rate in self.items.values()), default=0) / WINDOW_SECONDS
        return (
            f"Since {datetime.fromtimestamp(self.since, UTC):%Y-%m-%d %H:%M} UTC, programs have "
            f"counted {self.writes:,} writes of items that the migration changes: at most "
            f"{peak:.1f} writes a second of one item, and at most {self.largest.may_have} actions "
            "in a transaction with its mirrors."
        )


def counted(model: TableModel) -> Steps[Counts]:
    """The counts of all programs. Raises MigrationError if they are too high for a migration."""
    counts = _loaded((yield from _read(model)))
    problems = list(counts.problems(time.time()))
    if problems:
        raise MigrationError("this migration is not possible:\n" + "\n".join(problems))
    return counts


class Counting:
    """Counts the writes of one program. Threads may share it. `now` returns the time in seconds."""

    def __init__(self, side: Side, now: Callable[[], float] = time.time) -> None:
        self.side = side
        self.now = now
        self._lock = Lock()
        self._due = float("-inf")
        self._writes: Counter[str] = Counter()
        self._largest = Largest()

    def note(self, call: ApiCall) -> Steps[None]:
        """Count a write. Once a minute, store the counts; if that fails, retry a minute later."""
        ours = [m for m in members_of(call) if _counts(self.side, m)]
        now = self.now()
        with self._lock:
            for member in ours:
                self._writes[json.dumps(member.key(self.side.names), sort_keys=True)] += 1
            if ours and not alone(call):
                seen = most_actions(self.side, call)._replace(window=int(now // WINDOW_SECONDS))
                self._largest = max(self._largest, seen, key=lambda one: one.may_have)
            if now < self._due:
                return
            self._due = now + WINDOW_SECONDS
            writes, self._writes = self._writes, Counter()
            largest, self._largest = self._largest, Largest()
        if not (yield from self._report(int(now // WINDOW_SECONDS), writes, largest)):
            with self._lock:
                self._writes += writes
                self._largest = max(self._largest, largest, key=lambda one: one.may_have)

    def _report(self, window: int, writes: Counter[str], largest: Largest) -> Steps[bool]:
        """Add the counts of a minute to the stored counts. Returns False if this fails."""
        model = self.side.model
        for _ in range(ATTEMPTS):
            try:
                raw = yield from _read(model)
                text = json.dumps(asdict(_loaded(raw).added(window, writes, largest)))
                item = {**own_item(model, COUNTS), COUNTS: {"S": text}}
                expression = Expression()
                condition = expression.as_read(COUNTS, None if raw is None else raw[COUNTS])
                put = {"TableName": model.name, "Item": item, "ConditionExpression": condition}
                yield ApiCall("PutItem", {**put, **expression.parameters()})
            except ApiFailure as failure:
                if failure.code != "ConditionalCheckFailedException":
                    return False
            else:
                return True
        return False


def _counts(side: Side, member: Member) -> bool:
    ours = member.table == side.model.name and member.kind != "ConditionCheck"
    return ours and is_changed(side, member)


def most_actions(side: Side, call: ApiCall) -> Largest:
    """The size of one transaction: its number of actions now, and the most that it can have in
    the phase `dual`."""
    members = members_of(call)
    total, guards = 0, set()
    owners = Counter(_owner(member) for member in members)
    for member in members:
        total += 1
        if not _counts(side, member):
            continue
        key = member.key(side.names)
        if side.guards:
            guards.add(crc32(identity(key).encode()) % side.guards)
        twin = side.twin_of(dict(member.parameters.get("Item", key)))
        if twin is None or twin.keeps_key or side.is_marker(key):
            continue
        total += 1
        if member.kind != "Delete" and (member.holds(key) or not member.holds(None)):
            # The item may exist already, so its mirror may move and markers of both models change.
            total += _may_move(twin) + max(0, len(twin.own.unique) - owners[identity(key)])
    token = call.payload.get("ClientRequestToken") is not None
    return Largest(len(members), total + len(guards) + token)


def _owner(member: Member) -> str:
    """The key of the item whose unique marker this write puts; "" if it puts no marker."""
    owner = member.parameters.get("Item", {}).get(OWNER_ATTRIBUTE, {})
    return identity(owner["M"]) if "M" in owner else ""


def _may_move(twin: Twin) -> bool:
    """Whether an update of an item can change its mirror's key.

    The former mirror is then deleted in the same transaction.
    """
    own = {twin.fields[name].name for name in twin.own.key.fields}
    return not set(twin.other.key.fields) <= own


def _read(model: TableModel) -> Steps[Item | None]:
    key = own_key(model, COUNTS)
    request = {"TableName": model.name, "Key": key, "ConsistentRead": True}
    response = yield ApiCall("GetItem", request)
    item: Item | None = response.get("Item")
    return item


def _loaded(raw: Item | None) -> Counts:
    if raw is None:
        return Counts()
    values = json.loads(raw[COUNTS]["S"])
    items = {key: Rate(*rate) for key, rate in values.pop("items").items()}
    return Counts(**{**values, "items": items, "largest": Largest(*values["largest"])})
