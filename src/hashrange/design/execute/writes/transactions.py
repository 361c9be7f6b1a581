"""Transactions: writes of any items, done together or not at all, and reads of one snapshot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hashrange.design.declare.amounts import Amounts, all_amounts
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item, as_read
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.declare.typed_conditions import Where
from hashrange.design.errors import BadValue, Conflict
from hashrange.design.execute import batches
from hashrange.design.execute.observation import units_of
from hashrange.design.execute.reads.pattern_calls import BoundPattern
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.design.execute.writes.atomic_updates import ATOMIC
from hashrange.design.execute.writes.commit import ACTIONS_MAX, commit, token_after
from hashrange.design.execute.writes.condition_checks import (
    condition_check,
    expect_where,
    split_values,
)
from hashrange.design.execute.writes.copies import outdated_copies
from hashrange.design.execute.writes.upserts import add_or_create
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.design.execute.writes.writer import PreparedWrite, Writer
from hashrange.model.values import Item as WireItem

ATTEMPTS = 5
"""How often a transaction with an `update` is tried before its Conflict is raised."""


@dataclass
class PendingWrite:
    """A write that a transaction or a batch has collected.

    `item` is None if only `bound`, a pattern with its arguments, tells which item it is.
    """

    method: str
    item: Item | None
    bound: BoundPattern | None = None
    change: Callable[[Any], object] | None = None
    condition: Where | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    assigned: tuple[str, Any] = ("", None)


class PendingWrites:
    """The writes that a transaction or a batch has collected, in order."""

    def __init__(self) -> None:
        self.writes: list[PendingWrite] = []

    def put(self, item: Item, /, *, where: Where | None = None, **values: Any) -> None:
        self._append("put", item, where, values)

    def create(self, item: Item, /, *, where: Where | None = None, **values: Any) -> None:
        self._append("create", item, where, values)

    def save(self, item: Item, /, *, where: Where | None = None, **values: Any) -> None:
        self._append("save", item, where, values)

    def add(
        self,
        item: Item,
        by: Amounts[Any] | None = None,
        /,
        *,
        where: Where | None = None,
        **amounts: Any,
    ) -> None:
        self.writes.append(
            PendingWrite("add", item, condition=where, values=all_amounts(item, by, amounts))
        )

    def discard(self, item: Item, /, *, where: Where | None = None, **members: Any) -> None:
        self.writes.append(PendingWrite("discard", item, condition=where, values=members))

    def append(self, item: Item, /, *, where: Where | None = None, **elements: Any) -> None:
        self.writes.append(PendingWrite("append", item, condition=where, values=elements))

    def assign(
        self,
        item: Item,
        path: str,
        value: Any,
        /,
        *,
        where: Where | None = None,
        **values: Any,
    ) -> None:
        self._append("assign", item, where, values)
        self.writes[-1].assigned = (path, value)

    def _append(
        self, method: str, item: Item, where: Where | None, values: Mapping[str, Any]
    ) -> None:
        expect_where(where, values)
        self.writes.append(PendingWrite(method, item, condition=where, values=values))

    def add_or_create(self, item: Item, by: Amounts[Any] | None = None, /, **amounts: Any) -> None:
        self.writes.append(
            PendingWrite("add_or_create", item, values=all_amounts(item, by, amounts))
        )

    def check(self, item: Item, condition: Where, /, **values: Any) -> None:
        self.writes.append(PendingWrite("check", item, condition=condition, values=values))

    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None:
        if isinstance(what, Item):
            self._append("delete", what, kwargs.pop("where", None), kwargs)
        else:
            self.writes.append(PendingWrite("delete", None, what.call.bind(args, kwargs)))

    def update(
        self, get: Any, change: Callable[[Any], object], /, *args: Any, **kwargs: Any
    ) -> None:
        self.writes.append(PendingWrite("update", None, get.call.bind(args, kwargs), change))


def transact(
    writers: Sequence[Writer],
    pending: PendingWrites,
    token: str | None,
    checks: Sequence[WriteAction] = (),
) -> Steps[list[WriteAction]]:
    """Commit the writes together, with `checks`; returns the actions.

    Updates the items to the stored ones.
    """
    repeats = any(write.method == "update" for write in pending.writes)
    for attempt in range(ATTEMPTS if repeats else 1):
        try:
            return (yield from _Transaction(writers, checks).run(pending.writes, token))
        except Conflict:
            if not repeats or attempt + 1 == ATTEMPTS:
                raise
            token = token_after(token)
    raise AssertionError("the last attempt returns or raises")


class _Transaction:
    """One attempt. `pending` are the stored items of owners after their writes, by key."""

    def __init__(self, writers: Sequence[Writer], checks: Sequence[WriteAction]) -> None:
        self.writers = writers
        self.pending: dict[str, WireItem] = {}
        self.actions: list[WriteAction] = [*checks]
        self.landed: list[tuple[Writer, Item, PreparedWrite]] = []

    def run(self, writes: Sequence[PendingWrite], token: str | None) -> Steps[list[WriteAction]]:
        for write in sorted(writes, key=lambda write: not self._is_owner(write)):
            yield from self._prepare(write)
        if self.actions:
            yield from commit(self.actions, token=token, transaction=True)
        yield from self._refresh()
        for _, item, written in self.landed:
            vars(item).update(vars(written.done()))
        return self.actions

    def _writer(self, write: PendingWrite) -> Writer:
        """The writer of the table that has the item's entity."""
        if write.bound is not None:
            model = write.bound.builder.model
            found = [writer for writer in self.writers if writer.model is model]
            if not found:
                raise BadValue(f"{write.bound.call.pattern} is not a pattern of these stores")
        else:
            found = [writer for writer in self.writers if type(write.item) in writer.model.by_model]
        return found[0] if found else self.writers[0]

    def _is_owner(self, write: PendingWrite) -> bool:
        """Owners are written first, so that new copies take their new values."""
        writer = self._writer(write)
        if write.item is None:
            assert write.bound is not None
            return write.bound.entity.name in writer.copied
        return writer.entity(write.item).name in writer.copied

    def _prepare(self, write: PendingWrite) -> Steps[None]:
        writer, item = self._writer(write), write.item
        if write.bound is not None and write.method != "update":
            key = write.bound.builder.key(write.bound.arguments)
            if write.method == "patch":
                self.actions.append(writer.patch(write.bound.entity, key, write.values))
            else:
                self.actions += yield from writer.delete(write.bound.entity, key, None)
            return
        if write.bound is not None:
            item = yield from self._read(writer, write.bound)
            assert write.change is not None
            write.change(item)
        assert item is not None
        entity = writer.entity(item)
        values, rest = dict(write.values), dict[str, Any]()
        if write.method in ATOMIC:
            values, rest = split_values(entity, write.condition, write.values)
        if write.condition is not None:
            raw = as_read(item)
            key = entity.primary_key(vars(item)) if raw is None else entity.key_of(raw)
            table, text = writer.table, write.condition
            self.actions.append(condition_check(table, entity, key, item, text, values))
        if write.method == "add_or_create":
            self.actions.append(add_or_create(writer, item, write.values))
        elif write.method in ATOMIC:
            key = entity.primary_key(vars(item))
            self.actions.append(writer.atomic(write.method, entity, key, rest))
        elif write.method == "assign":
            key = entity.primary_key(vars(item))
            self.actions.append(writer.assign(entity, key, *write.assigned))
        elif write.method == "delete":
            key = entity.primary_key(vars(item))
            self.actions += yield from writer.delete(entity, key, item)
        elif write.method != "check":
            yield from self._whole(writer, entity, item, "save" if write.bound else write.method)

    def _read(self, writer: Writer, bound: BoundPattern) -> Steps[Item]:
        raw = yield from writer.copying.read(bound.builder.key(bound.arguments))
        if raw is None:
            raise bound.not_found()
        return bound.entity.load(raw)

    def _whole(self, writer: Writer, entity: Entity, item: Item, method: str) -> Steps[None]:
        """Prepare a put, a create or a save."""
        written: PreparedWrite = yield from getattr(writer, method)(item, pending=self.pending)
        self.actions += written.actions
        if written.renamed:
            copies = yield from outdated_copies(writer, written.item)
            self.actions += [action for copy in copies for action in copy.actions]
        if entity.name in writer.copied and written.image is not None:
            self.pending[repr(entity.key_of(written.image))] = written.image
        self.landed.append((writer, item, written))

    def _refresh(self) -> Steps[None]:
        """Read the updated items, since other writes can have changed other attributes."""
        for writer in self.writers:
            changed = [written for w, _, written in self.landed if w is writer and written.actions]
            keys = [written.actions[0].key for written in changed]
            raws = yield from batches.get_all(writer.table, keys, consistent=True)
            for written, raw in zip(changed, raws, strict=True):
                if raw is not None:
                    written.item, written.image = writer.entity(written.item).load(raw), raw


# ---- reads ----


class TransactionRead:
    """An item that a read transaction gets. It is there after the end of `with`."""

    def __init__(self, bound: BoundPattern) -> None:
        self.bound = bound
        self._found: list[Any] = []

    @property
    def item(self) -> Any:
        if not self._found:
            raise LookupError("the items are there after the end of the `with` block")
        return self._found[0]

    def load(self, raw: WireItem | None) -> None:
        loader, entity = self.bound.call.loader, self.bound.entity
        self._found = [None]
        hidden = raw is not None and loader.model.hidden(raw)
        if raw is not None and not hidden and loader.recognise(raw) is entity:
            self._found = [loader.load(entity, raw)]


class PendingReads:
    """The reads that a read transaction has collected."""

    def __init__(self) -> None:
        self.reads: list[TransactionRead] = []

    def get(self, get: Any, /, *args: Any, **kwargs: Any) -> TransactionRead:
        bound = get.call.bind(args, kwargs)
        if bound.builder.plan.operation != "GetItem":
            raise BadValue(f"{bound.call.pattern}: a transaction reads by the primary key")
        self.reads.append(TransactionRead(bound))
        return self.reads[-1]


def read_together(pending: PendingReads, took: Explanation) -> Steps[None]:
    """Get the items of all reads from one snapshot. An item that is read twice is got once."""
    gets: dict[str, dict[str, Any]] = {}
    names = []
    for read in pending.reads:
        builder = read.bound.builder
        key = builder.key(read.bound.arguments)
        names.append(f"{builder.table_name} {sorted(key.items())!r}")
        gets[names[-1]] = {"Get": {"TableName": builder.table_name, "Key": key}}
    if len(gets) > ACTIONS_MAX:
        raise BadValue(f"{len(gets)} reads: a transaction has at most {ACTIONS_MAX}")
    if gets:
        request = {"TransactItems": list(gets.values()), "ReturnConsumedCapacity": "TOTAL"}
        response = yield ApiCall("TransactGetItems", request)
        took.requests.append(("TransactGetItems", request))
        took.pages, took.items, took.capacity = 1, len(gets), units_of(response)
        found = dict(zip(gets, response["Responses"], strict=True))
        for read, name in zip(pending.reads, names, strict=True):
            read.load(found[name].get("Item"))
