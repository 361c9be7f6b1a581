"""Transactions: writes of several items, and reads of several items from one snapshot."""

from collections.abc import Sequence
from typing import Any

from hashrange.design.declare.item import Item
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.declare.typed_conditions import Where
from hashrange.design.errors import BadValue, Conflict
from hashrange.design.execute import batches
from hashrange.design.execute.observation import units_of
from hashrange.design.execute.reads.pattern_calls import BoundPattern, bind
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.design.execute.writes.commit import ACTIONS_MAX, commit, token_after
from hashrange.design.execute.writes.copies import outdated_copies
from hashrange.design.execute.writes.preparation import by_pattern, prepared
from hashrange.design.execute.writes.verbs import Verbs, Write
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.design.execute.writes.writer import PreparedWrite, Writer
from hashrange.model.values import Item as WireItem

ATTEMPTS = 5
"""How often a transaction with an `update` is tried before Conflict is raised."""


class PendingWrites(Verbs):
    """The writes that a transaction or a batch has collected, in order."""

    def __init__(self) -> None:
        self.writes: list[Write] = []

    def _take(self, write: Write) -> None:
        self.writes.append(write)

    def check(self, item: Item, condition: Where, /, **values: Any) -> None:
        self._take(Write("check", item, condition, values))


def transact(
    writers: Sequence[Writer],
    pending: PendingWrites,
    token: str | None,
    checks: Sequence[WriteAction] = (),
) -> Steps[list[WriteAction]]:
    """Commit the writes and `checks` in one transaction; returns its actions.

    Sets the fields of the written items to their stored values.
    """
    repeats = any(write.change is not None for write in pending.writes)
    for attempt in range(ATTEMPTS if repeats else 1):
        try:
            return (yield from _Transaction(writers, checks).run(pending.writes, token))
        except Conflict:
            if not repeats or attempt + 1 == ATTEMPTS:
                raise
            token = token_after(token)
    raise AssertionError("the last attempt neither returned nor raised an error")


class _Transaction:
    """One attempt to commit.

    `pending` has, by key, the stored form of each written item from which other items copy.
    """

    def __init__(self, writers: Sequence[Writer], checks: Sequence[WriteAction]) -> None:
        self.writers = writers
        self.pending: dict[str, WireItem] = {}
        self.actions: list[WriteAction] = [*checks]
        self.landed: list[tuple[Writer, Item, PreparedWrite]] = []

    def run(self, writes: Sequence[Write], token: str | None) -> Steps[list[WriteAction]]:
        for write in sorted(writes, key=lambda write: not self._is_owner(write)):
            yield from self._prepare(write)
        if self.actions:
            yield from commit(self.actions, token=token, transaction=True)
        yield from self._refresh()
        for _, item, written in self.landed:
            vars(item).update(vars(written.done()))
        return self.actions

    def _writer(self, write: Write) -> Writer:
        """The writer of the table to which the item belongs."""
        if write.bound is not None:
            model = write.bound.builder.model
            writers = [writer for writer in self.writers if writer.model is model]
            if not writers:
                raise BadValue(
                    f"{write.bound.call.pattern} is not a pattern of any store in this transaction"
                )
        else:
            writers = [
                writer for writer in self.writers if type(write.item) in writer.model.by_model
            ]
        return writers[0] if writers else self.writers[0]

    def _is_owner(self, write: Write) -> bool:
        """Whether other items copy the written item, so that it is prepared first."""
        writer = self._writer(write)
        if write.item is None:
            assert write.bound is not None
            return write.bound.entity.name in writer.copied
        return writer.entity(write.item).name in writer.copied

    def _prepare(self, write: Write) -> Steps[None]:
        writer = self._writer(write)
        if write.change is not None:
            assert write.bound is not None
            item = yield from self._read(writer, write.bound)
            write.change(item)
            write = Write("save", item)
        if write.item is None:
            self.actions += yield from by_pattern(writer, write)
            return
        written = yield from prepared(writer, write, self.pending)
        self.actions += [*written.checks, *written.actions]
        if written.image is not None:
            yield from self._landing(writer, write.item, written, written.image)

    def _read(self, writer: Writer, bound: BoundPattern) -> Steps[Item]:
        raw = yield from writer.copying.read(bound.builder.key(bound.arguments))
        if raw is None:
            raise bound.not_found()
        return bound.entity.load(raw)

    def _landing(
        self, writer: Writer, item: Item, written: PreparedWrite, image: WireItem
    ) -> Steps[None]:
        """Record that an item is written, and add updates of the copies of its changed fields.

        `image`, the item's stored form, is kept for the items that copy from it.
        """
        if written.renamed:
            copies = yield from outdated_copies(writer, written.item)
            self.actions += [action for copy in copies for action in copy.actions]
        entity = writer.entity(item)
        if entity.name in writer.copied:
            self.pending[repr(entity.key_of(image))] = image
        self.landed.append((writer, item, written))

    def _refresh(self) -> Steps[None]:
        """Read the updated items: other programs may have changed other attributes."""
        for writer in self.writers:
            changed = [written for w, _, written in self.landed if w is writer and written.actions]
            keys = [written.actions[0].key for written in changed]
            raws = yield from batches.get_all(writer.table, keys, consistent=True)
            for written, raw in zip(changed, raws, strict=True):
                if raw is not None:
                    written.item, written.image = writer.entity(written.item).load(raw), raw


# ---- reads ----


class TransactionRead:
    """A read in a read transaction. Its `item` is available after the `with` block."""

    def __init__(self, bound: BoundPattern) -> None:
        self.bound = bound
        self._found: list[Any] = []

    @property
    def item(self) -> Any:
        if not self._found:
            raise LookupError("the items are available after the end of the `with` block")
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
        bound = bind(get, args, kwargs)
        if bound.builder.plan.operation != "GetItem":
            raise BadValue(
                f"{bound.call.pattern}: a read transaction can only read by the primary key"
            )
        self.reads.append(TransactionRead(bound))
        return self.reads[-1]


def read_together(pending: PendingReads, took: Explanation) -> Steps[None]:
    """Get the items of all reads from one snapshot. Each item is requested only once."""
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
        responses = dict(zip(gets, response["Responses"], strict=True))
        for read, name in zip(pending.reads, names, strict=True):
            read.load(responses[name].get("Item"))
