"""Writes of single items: PutItem, UpdateItem, DeleteItem, and the actions of a transaction.

Each of them is turned into an `ItemWrite`, and the function `decide` decides them all.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from hashrange import kv
from hashrange.engine import fetch, keys, throughput
from hashrange.engine.capacity import Receipt, write_units
from hashrange.engine.decision import ItemChange
from hashrange.engine.indexes.secondary import local_size
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row, row_at
from hashrange.engine.vectors import written
from hashrange.expressions import Condition, Update
from hashrange.expressions.updates import TOO_LARGE
from hashrange.model.errors import (
    ApiError,
    ConditionalCheckFailedException,
    DuplicateItemException,
    ItemCollectionSizeLimitExceededException,
    ValidationException,
)
from hashrange.model.limits import ITEM_BYTES_MAX
from hashrange.model.tables import Table
from hashrange.model.values import Item, item_size


class Old(Struct, gc=False):
    """An item before a write: its row, and the size of its item collection in bytes.

    The row is None if there is no item. The size is None for a table without local indexes.
    """

    row: Row | None
    collection_size: int | None


PUT_TOO_LARGE = "Item size has exceeded the maximum allowed size"
CONDITION_FAILED = "The conditional request failed"
DUPLICATE = "Duplicate primary key exists in table"


class ItemWrite(Struct, gc=False):
    """A write whose old row has not been read yet. `edit` turns the old image into the new one.

    `size` is the size of the new image in bytes; None if it depends on the old image. A `check`
    only tests its condition. A `new_only` write fails if the item exists. A `failed_if_absent`
    write succeeds even if there is no item. But if its transaction is cancelled, the absence of the
    item is reported as a failed condition.
    """

    table: Table
    key: RowKey
    edit: Callable[[Item | None], Item | None]
    condition: Condition | None = None
    return_old_on_failure: bool = False
    size: int | None = None
    check: bool = False
    new_only: bool = False
    failed_if_absent: bool = False


def put(
    table: Table, item: Item, size: int, condition: Condition | None, return_old: bool
) -> ItemWrite:
    key = keys.of_item(table, item)
    if condition is not None:
        _check_condition(table, condition)
    return ItemWrite(table, key, lambda old: item, condition, return_old, size)


def insert(table: Table, item: Item, size: int) -> ItemWrite:
    write = put(table, item, size, None, return_old=False)
    write.new_only = True
    return write


def delete(table: Table, key: Item, condition: Condition | None, return_old: bool) -> ItemWrite:
    row_key = keys.of_key(table, key)
    if condition is not None:
        _check_condition(table, condition)
    return ItemWrite(table, row_key, lambda old: None, condition, return_old, size=0)


def condition_check(table: Table, key: Item, condition: Condition, return_old: bool) -> ItemWrite:
    row_key = keys.of_key(table, key)
    _check_condition(table, condition)
    return ItemWrite(table, row_key, lambda old: old, condition, return_old, check=True)


def update(
    table: Table, key: Item, change: Update | None, condition: Condition | None, return_old: bool
) -> ItemWrite:
    row_key = keys.of_key(table, key)
    if change is None:
        if condition is not None:
            _check_condition(table, condition)
        return ItemWrite(table, row_key, lambda old: old or key, condition, return_old)
    attributes = change.attributes
    for name in table.key:
        if name in attributes:
            raise ValidationException(
                f"{keys.INVALID}Cannot update attribute {name}. This attribute is part of the key"
            )
    if not table.index_keys.isdisjoint(attributes):
        keys.check_index_types(table, change.literal_types)
        keys.check_none_emptied(table, change.literals())
    if change.containers:
        keys.check_scalar(table, change.containers)
    if condition is not None:
        _check_condition(table, condition)

    def edit(old: Item | None) -> Item | None:
        if old is None and change.only_removes:
            # Paths that do not exist are not an error here (seen on AWS by ScyllaDB's tests).
            return None
        # The operands of an update see the key of a new item; those of a condition do not.
        new = change.apply(key if old is None else old)
        if old is None and attributes and len(new) == len(key):
            return None  # an update that only removes attributes creates no item
        if not table.index_keys.isdisjoint(attributes):
            keys.check_index_keys(table, new, attributes, change.computed)
        if table.vector_indexes:
            written.check(table, new, attributes)
        return new

    return ItemWrite(table, row_key, edit, condition, return_old)


def _check_condition(table: Table, condition: Condition) -> None:
    """Raises ValidationException if a condition has a path into a key attribute."""
    if condition.containers:
        keys.check_scalar(table, condition.containers)


def read_one(write: ItemWrite, moment: fetch.Moment) -> fetch.Fetch[Old]:
    """Read the item that a write will change, for `decide`.

    Raises a throttling error if the write is not admitted.
    """
    table, key = write.table, write.key
    if moment.asks_admission:
        limits = yield admission(write)
        if limits:
            raise throughput.error(limits)
    if table.has_local_indexes:
        return Old(*(yield from fetch.item_and_collection(table, key)))
    [value] = yield kv.Get(((table.space, key.key),))
    return Old(row_at(key, value), None)


def admission(write: ItemWrite) -> fetch.Admit:
    """The question whether a write is admitted. Its units are the least that the write consumes."""
    table, units = write.table, write_units(write.size or 0)
    return fetch.Admit(table, table, write.key.key, True, units, write.key.raw)


def read(
    writes: Sequence[ItemWrite], check: Callable[[int], None] = lambda size: None
) -> fetch.Fetch[list[Old]]:
    """Like `read_one`, for several writes that have been admitted.

    See `fetch.items_and_collections` for `check`.
    """
    wanted = [(write.table, write.key) for write in writes]
    return [Old(*row) for row in (yield from fetch.items_and_collections(wanted, check))]


def decide(write: ItemWrite, before: Old, moment: fetch.Moment) -> ItemChange:
    """The change that a write makes to an item.

    Raises ConditionalCheckFailedException, DuplicateItemException, or ValidationException if the
    old image does not allow the update.
    """
    condition, old = write.condition, before.row
    if write.new_only and old is not None:
        raise _refused(DuplicateItemException(DUPLICATE), write, old)
    if condition is not None and not condition.matches(None if old is None else old.item):
        raise _refused(_condition_failed(write, old), write, old)
    if write.check:
        size = 0 if old is None else old.size
        return ItemChange(write.table, write.key, old, None, size, check=True)
    needs_old = write.size is None and old is not None
    new = write.edit(old.item if needs_old and old else None)
    size = item_size(new) if write.size is None and new is not None else write.size or 0
    if before.collection_size is not None and new is not None:
        _check_local_size(write, before, new, size, moment)
    elif size > ITEM_BYTES_MAX:
        raise _too_large(write)
    return ItemChange(write.table, write.key, old, new, size, False, before.collection_size)


def _check_local_size(
    write: ItemWrite, before: Old, new: Item, size: int, moment: fetch.Moment
) -> None:
    """Raises an error if the item with its index entries, or its collection, would be too large.

    The table must have local indexes.
    """
    table, old, collection_size = write.table, before.row, before.collection_size
    assert collection_size is not None
    most = size * (1 + len(table.indexes))  # no entry is larger than its item
    collection_bytes_max = moment.settings.collection_bytes_max
    if most <= ITEM_BYTES_MAX and collection_size + most <= collection_bytes_max:
        return
    with_entries = growth = size + local_size(table, write.key, new, size)
    if old is not None:
        growth -= old.size + local_size(table, write.key, old.item, old.size)
    if growth > 0 and collection_size + growth > collection_bytes_max:
        raise ItemCollectionSizeLimitExceededException("Collection size exceeded.")
    if with_entries > ITEM_BYTES_MAX:
        raise _too_large(write)


def _too_large(write: ItemWrite) -> ValidationException:
    return ValidationException(TOO_LARGE if write.size is None else PUT_TOO_LARGE)


def condition_failed() -> ConditionalCheckFailedException:
    return ConditionalCheckFailedException(CONDITION_FAILED)


def _refused(error: ApiError, write: ItemWrite, old: Row | None) -> ApiError:
    """The error, with a receipt for the units that the refused write consumes."""
    error.receipt = Receipt()
    error.receipt.add_refused(write.table, write.key, old.size if old else 0)
    return error


def _condition_failed(write: ItemWrite, old: Row | None) -> ConditionalCheckFailedException:
    if write.return_old_on_failure and old is not None:
        return ConditionalCheckFailedException(CONDITION_FAILED, Item=old.item)
    return condition_failed()
