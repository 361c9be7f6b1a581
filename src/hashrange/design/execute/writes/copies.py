"""Finding the copies of an owner's fields by the keys of the entities that hold them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Copy, Item
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import BadValue
from hashrange.design.execute.batches import get_all
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.design.execute.writes.writer import PreparedWrite, Writer
from hashrange.design.plan.routes import KeyRefusal, Route, find_route
from hashrange.model.values import Item as WireItem


@dataclass(frozen=True)
class Copies:
    """An entity's copied fields of one owner, and the route that finds them by the owner's key."""

    model: TableModel
    entity: Entity
    fields: Mapping[str, Copy]
    route: Route

    def read(self, owner: Item) -> Steps[list[Any]]:
        """All items with copies from this owner."""
        source = self.route.key.source
        names: dict[str, str] = {}
        values: WireItem = {}
        for n, column in enumerate(self.route.key.hash):
            value = column.value(vars(owner))
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
            found = yield from get_all(self.model.name, keys)
            mine = [raw for raw in found if raw is not None]
        return [self.entity.load(raw) for raw in mine]

    def _is_mine(self, raw: WireItem) -> bool:
        attribute = self.model.type_attribute
        if attribute is not None and attribute in raw:
            return raw[attribute] == {"S": self.entity.name}
        return self.entity.recognises(raw)


def copies_of(model: TableModel, owner: Entity) -> Iterator[Copies]:
    """Raises BadValue if an entity's copies cannot be found from their owner."""
    for entity in model.entities:
        fields = {n: c for n, c in entity.copies.items() if c.owner is owner.model}
        if fields:
            route = copy_route(entity, owner)
            if route is None:
                raise BadValue(
                    f"the copies in {entity} cannot be found from {owner}: no partition key of "
                    f"{entity} consists of {', '.join(sorted(owner.key_fields))}"
                )
            yield Copies(model, entity, fields, route)


def copied_from(model: TableModel, owner: Entity) -> set[str]:
    """The owner's fields that other items copy."""
    copies = (copy for entity in model.entities for copy in entity.copies.values())
    return {copy.field for copy in copies if copy.owner is owner.model}


def outdated_copies(writer: Writer, owner: Item) -> Steps[list[PreparedWrite]]:
    """Writes for the copies that differ from the owner's fields."""
    found = []
    for copies in copies_of(writer.model, writer.entity(owner)):
        items = yield from copies.read(owner)
        for item in items:
            values = {n: getattr(owner, copy.field) for n, copy in copies.fields.items()}
            if any(getattr(item, n) != value for n, value in values.items()):
                changed = yield from writer.save(item.replace(**values), trusted=True)
                found.append(changed)
    return found


def copy_route(entity: Entity, owner: Entity) -> Route | None:
    """The copying entity's key whose partition key consists of the owner's key fields."""
    given = [Argument(n, n, "=", owner.fields[n].python, False) for n in sorted(owner.key_fields)]
    for key in (entity.key, *entity.indexes):
        try:
            route = find_route(entity, key, given)
        except KeyRefusal:
            continue
        if route.shards is None and not route.equals and route.test is None:
            return route
        if route.shards is None and {f for c in key.hash for f in c.template.fields} == set(
            owner.key_fields
        ):
            return route
    return None


def chunks(found: Sequence[PreparedWrite], most: int) -> Iterable[list[PreparedWrite]]:
    """Chunks of writes with at most `most` actions each."""
    chunk: list[PreparedWrite] = []
    for written in found:
        if chunk and sum(len(w.actions) for w in [*chunk, written]) > most:
            yield chunk
            chunk = []
        chunk.append(written)
    if chunk:
        yield chunk
