"""Finds the items that copy fields of an owner, by the keys of these items."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Copy, Item
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.references import Reference
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import BadValue
from hashrange.design.execute.batches import get_all
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.design.execute.writes.writer import PreparedWrite, Writer
from hashrange.design.plan.routes import KeyRefusal, Route, find_route
from hashrange.model.values import Item as WireItem


@dataclass(frozen=True)
class Copies:
    """The fields that an entity copies from one owner, and the route to the entity's items.

    `reference` says which of the entity's fields hold the owner's key. The route finds the items by
    these fields.
    """

    model: TableModel
    entity: Entity
    reference: Reference
    fields: Mapping[str, Copy]
    route: Route

    def read(self, owner: Item) -> Steps[list[Any]]:
        """All items with copies from this owner."""
        source = self.route.key.source
        names: dict[str, str] = {}
        values: WireItem = {}
        held = {name: getattr(owner, part) for part, name in self.reference.held.items()}
        for n, column in enumerate(self.route.key.hash):
            value = column.value(held)
            assert value is not None
            names[f"#{n}"], values[f":{n}"] = column.attribute, value
        request: dict[str, Any] = {
            "TableName": self.model.name,
            "KeyConditionExpression": " AND ".join(
                f"{name} = {value}" for name, value in zip(names, values, strict=True)
            ),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
        if source.name is not None:
            request["IndexName"] = source.name
        if source.kind != "GSI":
            request["ConsistentRead"] = True
        raws: list[WireItem] = []
        while True:
            response = yield ApiCall("Query", request)
            raws += response["Items"]
            if "LastEvaluatedKey" not in response:
                break
            request = {**request, "ExclusiveStartKey": response["LastEvaluatedKey"]}
        return (yield from self._whole(raws))

    def _whole(self, raws: list[WireItem]) -> Steps[list[Any]]:
        mine = [raw for raw in raws if self._is_mine(raw)]
        if self.route.key.source.project != "ALL":
            keys = [self.entity.key_of(raw) for raw in mine]
            read = yield from get_all(self.model.name, keys)
            mine = [raw for raw in read if raw is not None]
        return [self.entity.load(raw) for raw in mine]

    def _is_mine(self, raw: WireItem) -> bool:
        attribute = self.model.type_attribute
        if attribute is not None and attribute in raw:
            return raw[attribute] == {"S": self.entity.name}
        return self.entity.recognises(raw)


def copies_of(model: TableModel, owner: Entity) -> Iterator[Copies]:
    """The copies of an owner's fields, one entry for each entity and reference.

    Raises BadValue if no key finds the items of an entity that has copies.
    """
    for entity in model.entities:
        for reference, names in model.references.owners(entity):
            if reference.parent is not owner:
                continue
            route = copy_route(reference)
            if route is None:
                raise BadValue(
                    f"the copies in {entity} cannot be found from {owner}: no partition key of "
                    f"{entity} consists of {', '.join(sorted(reference.fields))}"
                )
            fields = {name: entity.copies[name] for name in names}
            yield Copies(model, entity, reference, fields, route)


def in_transaction(model: TableModel, written: PreparedWrite) -> bool:
    """Whether all copies of the changed fields must be written together with their owner."""
    return all(
        copy.sync == "transaction"
        for entity in model.entities
        for copy in entity.copies.values()
        if copy.owner is type(written.item) and copy.field in written.renamed
    )


def copied_from(model: TableModel, owner: Entity) -> set[str]:
    """The owner's fields that other items copy."""
    copies = (copy for entity in model.entities for copy in entity.copies.values())
    return {copy.field for copy in copies if copy.owner is owner.model}


def outdated_copies(writer: Writer, owner: Item) -> Steps[list[PreparedWrite]]:
    """Writes of the items whose copies differ from the owner's fields."""
    late: dict[str, Any] = {}  # an item can refer to the same owner twice
    for copies in copies_of(writer.model, writer.entity(owner)):
        items = yield from copies.read(owner)
        for item in items:
            values = {n: getattr(owner, copy.field) for n, copy in copies.fields.items()}
            if any(getattr(item, n) != value for n, value in values.items()):
                key = repr(copies.entity.primary_key(vars(item)))
                late[key] = late.get(key, item).replace(**values)
    writes = []
    for item in late.values():
        writes.append((yield from writer.save(item, trusted=True)))
    return writes


def copy_route(reference: Reference) -> Route | None:
    """The route that finds the copying items by the fields that refer to the owner.

    None unless these fields make up the partition key of the table or an index.
    """
    entity = reference.child
    arguments = [
        Argument(name, name, "=", entity.fields[name].python, False)
        for name in sorted(reference.fields)
    ]
    for key in (entity.key, *entity.indexes):
        try:
            route = find_route(entity, key, arguments)
        except KeyRefusal:
            continue
        if route.shards is None and not route.equals and route.test is None:
            return route
        hashed = {name for column in key.hash for name in column.template.fields}
        if route.shards is None and hashed == reference.fields:
            return route
    return None


def chunks(writes: Sequence[PreparedWrite], most: int) -> Iterable[list[PreparedWrite]]:
    """Divide the writes into chunks of at most `most` actions each."""
    chunk: list[PreparedWrite] = []
    for written in writes:
        if chunk and sum(len(w.actions) for w in [*chunk, written]) > most:
            yield chunk
            chunk = []
        chunk.append(written)
    if chunk:
        yield chunk
