"""The cost of writes. Each write is made with example items on a metered table, and measured.

If the write updates copied fields, the metered table contains one copy. The requests and units for
this copy are multiplied by the declared number of copies.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item
from hashrange.design.declare.volumes import Writes
from hashrange.design.errors import BadValue, ConditionFailed
from hashrange.design.execute import batches
from hashrange.design.execute.steps import run
from hashrange.design.execute.writes.commit import ACTIONS_MAX
from hashrange.design.execute.writes.verbs import Write
from hashrange.design.tools.cost.examples import Examples
from hashrange.design.tools.cost.lines import CostLine, Kind
from hashrange.design.tools.cost.metered_table import Meter, MeteredTable, MeteredWrite
from hashrange.design.tools.cost.units import TABLE, added, page_units, read_units
from hashrange.design.tools.rules.rule import Context
from hashrange.model.values import Item as WireItem


class WriteCosts:
    def __init__(self, context: Context, examples: Examples) -> None:
        self.context = context
        self.examples = examples
        self.model = context.model

    def lines(self, declared: Writes) -> Iterator[CostLine]:
        entity = self.model.entity(declared.entity)
        if declared.create or not (declared.edit or declared.delete):
            yield self._line(f"create {entity}", "create", entity, declared.create)
        if declared.edit:
            name = f"edit {entity}: {', '.join(declared.edit)}"
            yield self._line(name, "edit", entity, declared.rate, declared.edit)
        if declared.delete:
            yield self._line(f"delete {entity}", "delete", entity, declared.delete)

    def _line(
        self, name: str, kind: Kind, entity: Entity, rate: float, fields: tuple[str, ...] = ()
    ) -> CostLine:
        line = CostLine(name, kind, rate=rate)
        if str(entity) not in self.examples.declared:
            line = replace(line, notes=(f"estimate: each {entity} has the size of an example",))
        for left_out in self.examples.left_out(entity):
            note = (
                f"no example of {entity} has an entry in {left_out}, so writes to {left_out} are "
                "not counted"
            )
            line = replace(line, notes=(*line.notes, note))
        for index in self.model.vectors:
            if entity in index.entities:
                note = (
                    f"writes to {index.name} consume bytes of vectors, whose price is not included"
                )
                line = replace(line, notes=(*line.notes, note))
        items = self.examples.of(entity)
        if not items:
            return replace(line, notes=(f"there is no example of {entity}",))
        item = self._with_copies(entity, items) if kind == "edit" else items[0]
        table = self.examples.filled()
        try:
            self._send(kind, table, entity, item, fields)
        except (BadValue, ConditionFailed, LookupError) as error:
            return replace(line, notes=(f"not known: {error}",))
        return self._scaled(line, entity, table.meter)

    def _send(
        self, kind: Kind, table: MeteredTable, entity: Entity, item: Item, fields: tuple[str, ...]
    ) -> None:
        core = self.examples.core
        raw = self._stored(table, item)
        if kind == "edit":
            self._leave_copies(table, entity, raw, 1)
            _get(table, raw)
            stored = entity.load(raw)
            for field in fields:
                vars(stored)[field] = self.examples.other_value(entity, stored, field)
            run(core.save_in_place(stored), table)
            if any(self._left_to_stream(entity, field) for field in fields):
                run(core.sync(stored), table)  # as a reader of the stream does
            return
        self._leave_copies(table, entity, raw, 0)
        run(core.write(Write("delete", entity.load(raw))), table)
        if kind == "create":
            table.meter = Meter()
            run(core.write(Write("create", item)), table)

    @staticmethod
    def _stored(table: MeteredTable, item: Item) -> WireItem:
        key = table.model.entity(type(item)).primary_key(vars(item))
        return table.items[table.name(key)]

    # ---- copies ----

    def _left_to_stream(self, owner: Entity, field: str) -> bool:
        return any(
            copy.sync == "stream" and copy.field == field and copy.owner is owner.model
            for entity in self.model.entities
            for copy in entity.copies.values()
        )

    def _copying(self, owner: Entity) -> list[Entity]:
        """The entities that copy fields of `owner`."""
        return [
            entity
            for entity in self.model.entities
            if any(copy.owner is owner.model for copy in entity.copies.values())
        ]

    def _with_copies(self, owner: Entity, items: list[Item]) -> Item:
        """The one of `items`, examples of `owner`, from which the most other examples copy."""
        copying = self._copying(owner)
        return max(
            items,
            key=lambda item: sum(len(self._copies_of(entity, owner, item)) for entity in copying),
        )

    def _copies_of(self, entity: Entity, owner: Entity, item: Item) -> list[Item]:
        """The examples of `entity` that copy fields of `item`, an item of `owner`."""
        references = [
            self.model.references.of_copy(entity, name)
            for name, copy in entity.copies.items()
            if copy.owner is owner.model
        ]
        return [
            other
            for other in self.examples.of(entity)
            if any(one.holds(other, item) for one in references)
        ]

    def _leave_copies(self, table: MeteredTable, owner: Entity, raw: WireItem, most: int) -> None:
        item = owner.load(raw)
        for entity in self._copying(owner):
            for other in self._copies_of(entity, owner, item)[most:]:
                table.items.pop(table.name(self._stored(table, other)), None)

    def _scaled(self, line: CostLine, entity: Entity, meter: Meter) -> CostLine:
        """The line of a write of `entity`, with the units that the meter counted.

        The units for a copy are multiplied by the declared number of copies.
        """
        notes = [*line.notes]
        number: dict[str, float] = {}
        read = {name for one in meter.reads for name in one.sizes}
        for other in self._copying(entity) if line.kind == "edit" else ():
            if str(other) in read:
                number[str(other)] = self._copies(other, entity, notes)
        written = {write.entity for write in meter.writes}
        copies = sum(count for name, count in number.items() if name in written)
        # Copies that do not fit into the owner's transaction are written later, in transactions
        # that each check the owner.
        apart = bool(copies) and any(_checks(write, entity) for write in meter.writes)
        chunks = math.ceil(copies / (ACTIONS_MAX - 1)) if apart else 1
        writes: dict[str, float] = {}
        for write in meter.writes:
            times = chunks if apart and _checks(write, entity) else number.get(write.entity, 1)
            writes = added(writes, {name: units * times for name, units in write.units.items()})
        reads, pages = _reads(meter, number)
        return replace(
            line,
            reads=reads,
            writes=writes,
            requests=len(meter.operations) + pages + chunks - 1,
            copies=copies,
            transaction="TransactWriteItems" in meter.operations,
            notes=tuple(notes),
        )

    def _copies(self, entity: Entity, owner: Entity, notes: list[str]) -> float:
        per = self.context.table.volumes.per(entity, owner)
        if per is None:
            notes.append(
                f"the number of {entity} items of a {owner} is not declared, and assumed to be 1"
            )
            return 1
        return per.mean


def _checks(write: MeteredWrite, entity: Entity) -> bool:
    """Whether the write only checks that an owner of copies, of type `entity`, has not changed."""
    return write.kind == "ConditionCheck" and write.entity == str(entity)


def _get(table: MeteredTable, raw: WireItem) -> None:
    """Read the item, as an edit does first, so that the meter counts this read too."""
    key = {column.attribute: raw[column.attribute] for column in table.model.table.columns}
    table.call("GetItem", {"Key": key, "ConsistentRead": True})


def _reads(meter: Meter, number: Mapping[str, float]) -> tuple[Mapping[str, float], int]:
    """(units by table and index, number of further requests) of the metered reads.

    `number` has the number of copies by the name of their entity.
    """
    units: dict[str, float] = {}
    further = 0
    for read in meter.reads:
        sizes = {name: size * number.get(name, 1) for name, size in read.sizes.items()}
        if read.operation == "BatchGetItem":
            times = number.get(next(iter(sizes)), 1)
            taken = times * read_units(sum(read.sizes.values()), read.consistent)
            requests = math.ceil(times / batches.READS_MAX)
        else:
            taken, requests = page_units(sum(sizes.values()), 1, read.consistent)
        units = added(units, {read.source or TABLE: taken})
        further += requests - 1
    return units, further
