"""The methods of a store as generators of requests, which `store` and `async_store` run."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hashrange.design.declare.item import Item
from hashrange.design.declare.patterns import Pattern
from hashrange.design.declare.protocols.queries import Explanation, Page
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import BadValue, Conflict, NotFound
from hashrange.design.execute import batches
from hashrange.design.execute.observation import Call, Observer, units_of
from hashrange.design.execute.observed_calls import ObservedCalls
from hashrange.design.execute.reads import cursor
from hashrange.design.execute.reads.loading import LoadedItems
from hashrange.design.execute.reads.pattern_calls import BoundPattern, PatternCall
from hashrange.design.execute.reads.reading import FILTERED_PAGE, PlanReader
from hashrange.design.execute.reads.searching import nearest
from hashrange.design.execute.steps import ApiCall, Steps, T
from hashrange.design.execute.writes.commit import ACTIONS_MAX, commit
from hashrange.design.execute.writes.copies import (
    chunks,
    copied_from,
    in_transaction,
    outdated_copies,
)
from hashrange.design.execute.writes.merged_actions import merged
from hashrange.design.execute.writes.preparation import by_pattern, prepared
from hashrange.design.execute.writes.transactions import (
    PendingReads,
    PendingWrites,
    read_together,
    transact,
)
from hashrange.design.execute.writes.verbs import Write
from hashrange.design.execute.writes.write_batch import write_batch
from hashrange.design.execute.writes.writer import PreparedWrite, Writer

UPDATE_ATTEMPTS = 5
SYNC_ROUNDS = 5


class StoreSteps(ObservedCalls):
    """The reads and writes of one table, each a generator of requests (`Steps`)."""

    def __init__(
        self,
        model: TableModel,
        patterns: Sequence[Pattern],
        observe: Observer | None,
        cursor_key: bytes | None,
    ) -> None:
        self.model = model
        self.writer = Writer(model)
        self.calls = {pattern.name: PatternCall(pattern, model) for pattern in patterns}
        super().__init__(observe)
        self.cursor_key = cursor_key

    def follow(self, steps: Steps[T]) -> Steps[T]:
        """Return the steps unchanged. A store that follows a migration overrides this method."""
        return steps

    def known(self, bound: BoundPattern) -> BoundPattern | None:
        """The pattern, planned on the keys that are read at present.

        A store that follows a migration overrides this method: the keys depend on the phase of the
        migration. It returns None if the phase is unknown; `resolved` then reads it.
        """
        return bound

    def resolved(self, bound: BoundPattern) -> Steps[BoundPattern]:
        """Like `known`, but reads the phase of the migration if it is unknown."""
        yield from ()
        return bound

    # ---- reads ----

    def one(self, bound: BoundPattern, consistent: bool = False) -> Steps[Any]:
        """Read the item of a pattern that returns `X | None`."""
        now = self.known(bound) or (yield from self.resolved(bound))
        return (yield from self._one(now, consistent))

    def _one(self, bound: BoundPattern, consistent: bool) -> Steps[Any]:
        get = bound.builder.plan.operation == "GetItem"
        return self._get(bound, consistent) if get else self._first(bound)

    def _first(self, bound: BoundPattern) -> Steps[Any]:
        reader, items = bound.reader(), LoadedItems()
        started = time.perf_counter()
        item = None
        while item is None:
            rows = yield from reader.rows(None)
            if rows is None:
                break
            item = next(items.take(rows, bound.call.loader, False), None)
        self.read(reader.took, 0 if item is None else 1, started)
        if item is None and bound.builder.plan.open_ended:
            raise bound.empty()
        return item

    def _get(self, bound: BoundPattern, consistent: bool) -> Steps[Any]:
        request = bound.builder.get(bound.arguments)
        if consistent:
            request["ConsistentRead"] = True
        started = time.perf_counter()
        if self.observe is not None:
            request["ReturnConsumedCapacity"] = "TOTAL"
        response = yield ApiCall("GetItem", request)
        raw, item = response.get("Item"), None
        if raw is not None and not bound.call.loader.model.hidden(raw):
            entity, loader = bound.builder.plan.route.entity, bound.call.loader
            item = loader.load(entity, raw) if loader.recognise(raw) is entity else None
        if self.observe is not None:
            took = Explanation(str(bound.call.pattern), [("GetItem", request)], 0, 1)
            took.capacity = units_of(response)
            self.read(took, 0 if item is None else 1, started)
        return item

    def count(self, bound: BoundPattern) -> Steps[int]:
        total = 0
        reader = (yield from self.resolved(bound)).reader()
        started = time.perf_counter()
        for partition in reader.partitions:
            while not partition.done:
                request = dict(partition.request)
                if partition.key is not None:
                    request["ExclusiveStartKey"] = partition.key
                response = yield ApiCall(partition.operation, request)
                total += response["Count"]
                reader.took.capacity += units_of(response)
                partition.key = response.get("LastEvaluatedKey")
                partition.done = partition.key is None
                reader.took.pages += 1
        self.read(reader.took, total, started)
        return total

    def nearest(self, bound: BoundPattern) -> Steps[Any]:
        bound, started = (yield from self.resolved(bound)), time.perf_counter()
        matches, took = yield from nearest(bound.builder, bound.arguments, bound.call.loader)
        self.read(took, len(matches), started)
        return matches

    def next_items(
        self, reader: PlanReader, items: LoadedItems, bound: BoundPattern
    ) -> Steps[list[Any]]:
        """Read the next page of an iteration. The caller repeats this until `reader.done`."""
        left = limit = None
        if bound.limit is not None:
            left = limit = bound.limit - reader.took.items
            if bound.builder.may_skip:
                limit = max(limit, FILTERED_PAGE)
        results = bound.call.loader.load_all((yield from reader.raws(limit)), items)
        reader.took.items += len(results[:left])
        return results[:left]

    def page(
        self, bound: BoundPattern, size: int, at: str | None, max_read: int | None, collect: bool
    ) -> Steps[Page[Any]]:
        """Read a page of a query. Reads one item more than `size`, to know if a page follows.

        `at` is the cursor of the page before. DynamoDB reads at most `max_read` items for the page.
        With `collect`, the page's errors have the items that cannot be loaded.
        """
        if size < 1:
            raise BadValue(f"a page must have at least 1 item, not {size}")
        if bound.limit is not None:
            raise BadValue("a page has a size already: leave `limit` out")
        name, timed, items = bound.cursor_name, bound.timed, LoadedItems()
        now = bound.builder.clock()
        if at is None:
            reader = bound.reader(now=now)
        else:
            decoded = cursor.decode(at, self.cursor_key, timed=timed, present=now)
            now = decoded.now or now
            reader = bound.reader(now=now)
            place = cursor.position(decoded, name, reader.asked, reader.position_names, now)
            reader = bound.reader(place, now)
        started = time.perf_counter()
        ended = False
        while len(items.results) <= size and (max_read is None or reader.read < max_read):
            limit = size + 1 - len(items.results)
            if bound.builder.may_skip:
                limit = max(limit, FILTERED_PAGE)
            if max_read is not None:
                limit = min(limit, max_read - reader.read)
            rows = yield from reader.rows(limit)
            if rows is None:
                ended = True
                break
            for _ in items.take(rows, bound.call.loader, collect):
                pass
        after = None
        if len(items.results) > size:
            after = reader.after(items.rows[: items.results[size - 1][1]])
        elif not ended and not reader.done:
            after = reader.here(items.rows)
        bound.took = reader.took
        results = [result for result, _ in items.results[:size]]
        self.read(reader.took, len(results), started)
        key = self.cursor_key
        text = after and cursor.encode(name, reader.asked, after, key, timed=timed)
        return Page(results, text, items.skipped, items.errors)

    def get_many(self, call: PatternCall, keys: Iterable[Any]) -> Steps[list[Any]]:
        bounds = [call.bind(k if isinstance(k, tuple) else (k,), {}) for k in keys]
        if not bounds:
            return []
        if bounds[0].builder.plan.operation != "GetItem":
            raise BadValue(
                f"{call.pattern}: get_many needs a pattern that reads by the primary key"
            )
        call = (yield from self.resolved(bounds[0])).call
        asked = [call.complete.key(bound.arguments) for bound in bounds]
        started, took = time.perf_counter(), Explanation(str(call.pattern), [])
        raws = yield from batches.get_all(
            call.complete.table_name, asked, took, consistent=call.pattern.facts.consistent
        )
        self.read(took, len(raws) - raws.count(None), started)
        entity = call.complete.plan.route.entity
        shown = [None if raw is None or call.loader.model.hidden(raw) else raw for raw in raws]
        return [None if raw is None else call.loader.load(entity, raw) for raw in shown]

    # ---- writes ----

    def do(self, write: Write) -> Steps[Any]:
        """Carry out a write. Returns the item after the write, or None after a delete."""
        if write.change is not None:
            assert write.bound is not None
            return self.update(write.bound, write.change)
        return self._by_pattern(write) if write.item is None else self.write(write)

    def write(self, write: Write) -> Steps[Any]:
        """Write an item. Returns the item after the write, or None after a delete."""
        call = self.call(write.verb)
        written = yield from call.counted(prepared(self.writer, write))
        yield from self._land(call, written)
        return None if write.verb == "delete" else written.done()

    def _by_pattern(self, write: Write) -> Steps[None]:
        call = self.call(write.verb)
        actions = yield from call.counted(by_pattern(self.writer, write))
        if actions:
            yield from self.commit(call, actions)

    def _land(self, call: Call, written: PreparedWrite) -> Steps[None]:
        """Commit a write, together with copies of changed fields if they fit in one transaction.

        After an update, the stored item is loaded into `written.item`, since other writers may have
        changed other fields.
        """
        actions, together = [*written.checks, *written.actions], False
        if not actions:
            return
        if written.renamed:
            late = yield from call.counted(outdated_copies(self.writer, written.item))
            copies = [action for copy in late for action in copy.actions]
            fits = len(actions) + len(copies) <= ACTIONS_MAX
            together = fits and in_transaction(self.model, written)
            actions = actions + copies if together else actions
        actions = merged(actions) if len(actions) > 1 else actions
        response = yield from call.counted(commit(actions))
        if written.updates:
            raw = response.get("Attributes")
            if len(actions) > 1:  # a transaction does not return the new item
                key = written.actions[0].key
                raw = yield from call.counted(self.writer.copying.read(key))
            if raw is not None:
                written.item, written.image = self.writer.entity(written.item).load(raw), raw
        self.wrote(call, actions)
        if written.renamed and not together:
            yield from self.sync(written.done())

    def sync(self, owner: Item) -> Steps[int]:
        """Update outdated copies of the owner's fields. Returns the number of updated copies.

        Each transaction checks that the owner has not changed.
        """
        entity = self.writer.entity(owner)
        raw = yield from self.writer.copying.read(entity.primary_key(vars(owner)))
        if raw is None:
            raise NotFound(f"the {entity} is not stored, so its copies cannot be updated")
        current = entity.load(raw)
        check = self.writer.copying.owner_check(entity, raw, copied_from(self.model, entity))
        done = 0
        for _ in range(SYNC_ROUNDS):
            late = yield from outdated_copies(self.writer, current)
            if not late:
                break
            for chunk in chunks(late, ACTIONS_MAX - 1):
                actions = [check, *(action for copy in chunk for action in copy.actions)]
                try:
                    yield from self.commit(self.call("sync"), actions, atomic=False)
                except Conflict:
                    continue
                done += len(chunk)
        return done

    def get_for_edit(self, bound: BoundPattern) -> Steps[Item]:
        item: Item | None = yield from self._one(bound, consistent=True)
        if item is None:
            raise bound.not_found()
        return item

    def save_in_place(self, item: Item) -> Steps[Item]:
        """Save the item, and set its fields to the stored values."""
        saved: Item = yield from self.write(Write("save", item))
        vars(item).update(vars(saved))
        return item

    def update(self, bound: BoundPattern, change: Callable[[Any], object]) -> Steps[Item]:
        for attempt in range(UPDATE_ATTEMPTS):
            item = yield from self.get_for_edit(bound)
            change(item)
            try:
                return (yield from self.save_in_place(item))
            except Conflict:
                if attempt + 1 == UPDATE_ATTEMPTS:
                    raise
        raise AssertionError("the last attempt neither returned nor raised an error")

    def patch(self, bound: BoundPattern, item: Item) -> Steps[None]:
        values = bound.assigned(item)
        if values:
            yield from self._by_pattern(Write("patch", values=values, bound=bound))

    # ---- several writes ----

    def transact(
        self, others: Sequence["StoreSteps"], pending: PendingWrites, token: str | None
    ) -> Steps[None]:
        writers = [self.writer, *(other.writer for other in others)]
        call = self.call("transaction")
        self.wrote(call, (yield from call.counted(transact(writers, pending, token))))

    def read_together(self, pending: PendingReads) -> Steps[None]:
        started, took = time.perf_counter(), Explanation("read_transaction", [])
        yield from read_together(pending, took)
        self.took(took, started)

    def write_batch(self, pending: PendingWrites, copies: bool) -> Steps[None]:
        started, took = time.perf_counter(), Explanation("batch", [], len(pending.writes))
        yield from write_batch(self.writer, pending, copies, took)
        self.took(took, started)
