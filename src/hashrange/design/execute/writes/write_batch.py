"""A batch of writes: cheaper than a transaction, and not atomic."""

from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.errors import BadValue
from hashrange.design.execute import batches
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.transactions import PendingWrites
from hashrange.design.execute.writes.writer import Writer


def write_batch(
    writer: Writer, pending: PendingWrites, copies: bool, took: Explanation
) -> Steps[None]:
    """Send puts and deletes. Of several writes of one item, only the last is sent.

    A batch does not update copies. So with `copies`, BadValue is raised for an item that has copies
    or is copied.
    """
    requests: dict[str, dict[str, Any]] = {}
    for write in pending.writes:
        if write.verb not in ("put", "delete") or write.item is None:
            raise BadValue(f"a batch can put and delete items, not {write.verb}")
        if write.where is not None:
            raise BadValue("a batch cannot check conditions")
        entity = writer.entity(write.item)
        _expect_plain(writer, entity, copies)
        key = entity.primary_key(vars(write.item))
        if write.verb == "put":
            request: dict[str, Any] = {
                "PutRequest": {"Item": entity.dump(entity.stamped(write.item))}
            }
        else:
            request = {"DeleteRequest": {"Key": key}}
        requests[repr(sorted(key.items()))] = request
    yield from batches.write_all(writer.table, list(requests.values()), took)


def _expect_plain(writer: Writer, entity: Entity, copies: bool) -> None:
    if entity.unique or entity.version is not None:
        raise BadValue(f"{entity}: a batch cannot check unique texts or versions")
    if copies and (entity.copies or entity.name in writer.copied):
        raise BadValue(
            f"{entity}: a batch does not update copies: accept this with batch(copies=False)"
        )
