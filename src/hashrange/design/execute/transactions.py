"""Several writes: an atomic transaction, or a cheaper batch that is not atomic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hashrange.design.declare import conditions
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item
from hashrange.design.errors import BadValue, ConditionFailed
from hashrange.design.execute import batches
from hashrange.design.execute.copies import outdated_copies
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.write_actions import WriteAction, commit
from hashrange.design.execute.writer import PreparedWrite, Writer

WRITTEN = ("put", "create", "save")


@dataclass
class PendingWrites:
    """The writes that a transaction or a batch has collected: (method, item, arguments)."""

    writes: list[tuple[str, Item, tuple[Any, ...]]] = field(default_factory=list)

    def put(self, item: Item, /) -> None:
        self.writes.append(("put", item, ()))

    def create(self, item: Item, /) -> None:
        self.writes.append(("create", item, ()))

    def save(self, item: Item, /) -> None:
        self.writes.append(("save", item, ()))

    def delete(self, item: Item, /) -> None:
        self.writes.append(("delete", item, ()))

    def check(self, item: Item, condition: str, /, **values: Any) -> None:
        self.writes.append(("check", item, (condition, values)))


def transact(writer: Writer, pending: PendingWrites, token: str | None) -> Steps[list[WriteAction]]:
    """Commit the writes together; returns the actions. Updates the items to what is stored."""
    actions: list[WriteAction] = []
    landed: list[PreparedWrite] = []
    for method, item, more in pending.writes:
        if method == "check":
            actions.append(_check(writer, item, *more))
        elif method == "delete":
            entity = writer.entity(item)
            key = entity.primary_key(vars(item))
            actions += yield from writer.delete(entity, key, item)
        else:
            written: PreparedWrite = yield from getattr(writer, method)(item)
            actions += written.actions
            if written.renamed:
                copies = yield from outdated_copies(writer, written.item)
                actions += [action for copy in copies for action in copy.actions]
            landed.append(written)
    if actions:
        yield from commit(actions, token=token, transaction=True)
    yield from _refresh(writer, landed)
    given = [item for method, item, _ in pending.writes if method in WRITTEN]
    for item, written in zip(given, landed, strict=True):
        vars(item).update(vars(written.done()))
    return actions


def _refresh(writer: Writer, landed: Sequence[PreparedWrite]) -> Steps[None]:
    """Read the updated items, since other writers can have changed other attributes."""
    updated = [written for written in landed if written.updates]
    keys = [written.actions[0].key for written in updated]
    raws = yield from batches.get_all(writer.table, keys, consistent=True)
    for written, raw in zip(updated, raws, strict=True):
        if raw is not None:
            written.item, written.image = writer.entity(written.item).load(raw), raw


def _check(writer: Writer, item: Item, text: str, values: Mapping[str, Any]) -> WriteAction:
    entity = writer.entity(item)
    at = f"check({entity})"
    parsed = conditions.parse(text, entity.fields, entity.attributes, at, "#c")
    found = conditions.bound(text, parsed, values, at)
    key = entity.primary_key(vars(item))
    parameters: dict[str, Any] = {
        "TableName": writer.table,
        "Key": key,
        "ConditionExpression": parsed.text,
        "ExpressionAttributeNames": parsed.names,
    }
    if found.values:
        parameters["ExpressionAttributeValues"] = found.values
    error = ConditionFailed(f"{entity}: {text!r} does not hold", item)
    return WriteAction("ConditionCheck", parameters, key, lambda stored: error)


def write_batch(writer: Writer, pending: PendingWrites, copies: bool) -> Steps[None]:
    """Send puts and deletes. Of several writes of an item, the last one counts."""
    requests: dict[str, dict[str, Any]] = {}
    for method, item, _ in pending.writes:
        if method not in ("put", "delete"):
            raise BadValue(f"a batch can put and delete, not {method}")
        entity = writer.entity(item)
        _expect_plain(writer, entity, copies)
        key = entity.primary_key(vars(item))
        if method == "put":
            request: dict[str, Any] = {"PutRequest": {"Item": entity.dump(item)}}
        else:
            request = {"DeleteRequest": {"Key": key}}
        requests[repr(sorted(key.items()))] = request
    yield from batches.write_all(writer.table, list(requests.values()))


def _expect_plain(writer: Writer, entity: Entity, copies: bool) -> None:
    if entity.unique or entity.version is not None:
        raise BadValue(f"{entity}: a batch cannot check unique texts or versions")
    if copies and (entity.copies or entity.name in writer.copied):
        raise BadValue(f"{entity}: a batch does not update copies: say so with batch(copies=False)")
