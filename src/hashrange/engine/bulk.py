"""Decides many puts at once. Each put sees the earlier puts, which may have the same key."""

from collections.abc import Sequence

from hashrange.engine import writes
from hashrange.engine.decision import ItemChange
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.engine.writes import ItemWrite, Old
from hashrange.model.errors import ApiError

Refusal = tuple[int, ApiError]
"""A refused put: its position in the sequence of puts, counted from 0, and the error."""


def put_all(
    puts: Sequence[ItemWrite], moment: Moment
) -> Fetch[tuple[list[ItemChange], list[Refusal]]]:
    """The changes that the puts make, and the puts that are refused.

    There is one change for each item: if several puts have the same key, it is the last of them.
    The changes are in the order of the row keys.
    """
    first = {put.key.key: put for put in reversed(puts)}
    keys = sorted(first)
    olds = yield from writes.read([first[key] for key in keys])
    before = dict(zip(keys, olds, strict=True))
    now = dict(before)
    changed: dict[bytes, ItemChange] = {}
    refusals: list[Refusal] = []
    for number, put in enumerate(puts):
        key = put.key.key
        try:
            change = writes.decide(put, now[key], moment)
        except ApiError as error:
            refusals.append((number, error))
            continue
        changed[key] = change
        if len(first) < len(puts):  # several puts have the same key
            value = encode_row(put.key.raw, change.json(), change.new_size)
            now[key] = Old(Row(value), before[key].collection_size)
    for key, change in changed.items():
        change.old = before[key].row
    return [changed[key] for key in keys if key in changed], refusals
