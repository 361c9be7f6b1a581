"""The progress of a reader of a stream: checkpoints and receipts, which are items of the table.

A checkpoint `checkpoint#reader#shard` has the sequence number of the last handled record of a
shard. A receipt `handled#reader#digest` has the sequence number of the last handled change of an
item. Readers that can get a record twice, and do not know its shard, use receipts. Patterns never
return checkpoints or receipts, because their type is not that of an entity.
"""

import hashlib
from typing import Any

from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DesignError
from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps
from hashrange.model.values import Item

PROGRESS_TYPE = "stream-progress"
SEQUENCE_ATTRIBUTE = "after"
SEQUENCE_DIGITS = 40
"""The largest number of digits of a sequence number. Padded to it, the numbers sort as texts."""


def checkpoint_key(model: TableModel, reader: str, shard: str) -> Item:
    return _key(model, f"checkpoint#{reader}#{shard}")


def receipt_key(model: TableModel, reader: str, key: Item) -> Item:
    text = repr(sorted(key.items()))
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return _key(model, f"handled#{reader}#{digest}")


def _key(model: TableModel, text: str) -> Item:
    for column in model.table.columns:
        if column.tag != "S":
            raise DesignError(
                f"{model.name}: its key attribute {column.attribute} is not a text, so it cannot "
                "hold the progress of a stream's reader"
            )
    texts = (text, PROGRESS_TYPE)
    pairs = zip(model.table.columns, texts, strict=False)
    return {column.attribute: {"S": part} for column, part in pairs}


def last(model: TableModel, key: Item) -> Steps[str | None]:
    """The sequence number in a checkpoint or a receipt; None if it does not exist."""
    response = yield ApiCall(
        "GetItem", {"TableName": model.name, "Key": key, "ConsistentRead": True}
    )
    sequence = response.get("Item", {}).get(SEQUENCE_ATTRIBUTE)
    return None if sequence is None else str(sequence["S"]).lstrip("0")


def advance(model: TableModel, key: Item, sequence: str) -> Steps[None]:
    """Store a sequence number in a checkpoint or a receipt, unless it already has a later one."""
    item: dict[str, Any] = {**key, SEQUENCE_ATTRIBUTE: {"S": sequence.zfill(SEQUENCE_DIGITS)}}
    if model.type_attribute is not None:
        item[model.type_attribute] = {"S": PROGRESS_TYPE}
    request = {
        "TableName": model.name,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#a) OR #a < :a",
        "ExpressionAttributeNames": {"#a": SEQUENCE_ATTRIBUTE},
        "ExpressionAttributeValues": {":a": item[SEQUENCE_ATTRIBUTE]},
    }
    try:
        yield ApiCall("PutItem", request)
    except ApiFailure as failure:
        if failure.code != "ConditionalCheckFailedException":
            raise


def is_behind(handled: str | None, sequence: str) -> bool:
    """Whether the record `sequence` comes after `handled`, the last handled record."""
    return handled is None or int(sequence) > int(handled)
