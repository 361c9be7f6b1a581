"""Tests that copies follow their owners when owners are changed, or deleted and created again."""

from collections.abc import Iterator, Sequence
from typing import Any

from hashrange.design.declare.item import Item
from hashrange.design.errors import BadValue, ConditionFailed
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import Connection, run
from hashrange.design.execute.store import OpenStore
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.verbs import Write
from hashrange.design.streams.follow import Follower
from hashrange.design.table import Table
from hashrange.design.tools.cost.examples import other_values
from hashrange.design.tools.proof.declared import Record, copies
from hashrange.design.tools.proof.oracle import Oracle
from hashrange.design.tools.proof.stored import differences

ROUNDS = 20
"""The largest number of rounds in which the stream is read. Copies that are written in one
round add records to the stream, which the next round reads."""


class StreamReader:
    """Reads the table's stream, if it updates some copies (sync="stream")."""

    def __init__(self, table: Table, database: Any) -> None:
        declared = [copy for e in table.model.entities for copy in e.copies.values()]
        self.late = {copy.sync for copy in declared} & {"stream"}
        core = StoreSteps(table.model, [], None, None)
        store = OpenStore(core, connect(database))
        self.follower = Follower(store, None, "prove") if self.late else None

    def step(self) -> int:
        return 0 if self.follower is None else self.follower.catch_up()

    def catch_up(self) -> list[str]:
        """Read the stream to its end. Returns a line if the end was not reached."""
        if any(not self.step() for _ in range(ROUNDS)):
            return []
        return [f"the end of the stream was not reached in {ROUNDS} rounds of reading"]


def unequal_copies(
    table: Table,
    connection: Connection,
    oracle: Oracle,
    reader: StreamReader,
    asked: dict[str, int],
) -> Iterator[str]:
    """Change every owner, then delete every second owner and create it again.

    Yields a line for each kind of difference between copies and their owners. Adds the number of
    owners to `asked`.
    """
    fields: dict[type[Item], list[str]] = {}
    for entity in table.model.entities:
        for copy in entity.copies.values():
            fields.setdefault(copy.owner, []).append(copy.field)
    owners = [record for record in oracle.records if record.model in fields]
    if not owners:
        return
    asked["copies"] = len(owners)
    tester = _Tester(table, connection, fields)
    lines: list[str] = []
    for number, owner in enumerate(owners):
        tester.change(owner)
        if number % 2:
            reader.step()
    lines += differences(table, connection, oracle, late=reader.late)
    lines += [*reader.catch_up(), *differences(table, connection, oracle)]
    for owner in owners[::2]:
        tester.make_again(owner)
    again = [*differences(table, connection, oracle, late=reader.late)]
    again += [*reader.catch_up(), *differences(table, connection, oracle)]
    lines += [f"{line} after its owner was deleted and created again" for line in again]
    yield from (f"copies: {line}" for line in dict.fromkeys(lines))


class _Tester:
    def __init__(
        self, table: Table, connection: Connection, fields: dict[type[Item], list[str]]
    ) -> None:
        self.core = StoreSteps(table.model, [], None, None)
        self.connection = connection
        self.fields = fields

    def change(self, owner: Record) -> None:
        """Change the copied fields of an item."""
        self._write("save", owner, self._other(self._stored(owner)))

    def make_again(self, owner: Record) -> None:
        """Delete an item, and create it again with other values of its copied fields."""
        now = self._stored(owner)
        run(self.core.write(Write("delete", now)), self.connection)
        if not self._write("create", owner, self._other(_new(owner))):
            assert self._write("create", owner, _new(owner))

    def _write(self, method: str, owner: Record, item: Item) -> bool:
        try:
            written = run(self.core.write(Write(method, item)), self.connection)
        except ConditionFailed:
            return False  # the new value is a unique text that another item has
        owner.values.update({n: getattr(written, n) for n in owner.values})
        return True

    def _stored(self, owner: Record) -> Item:
        entity = self.core.model.entity(owner.model)
        key = entity.primary_key(owner.values)
        raw = run(self.core.writer.copying.read(key), self.connection)
        assert raw is not None
        return entity.load(raw)

    def _other(self, item: Item) -> Item:
        fields: Sequence[str] = self.fields[type(item)]
        for field in fields:
            for value in other_values(item, field, []):
                try:
                    item = item.replace(**{field: value})
                except BadValue:
                    continue
                break
        return item


def _new(owner: Record) -> Item:
    names = copies(owner.model).keys()
    return owner.model.model_validate({n: v for n, v in owner.values.items() if n not in names})
