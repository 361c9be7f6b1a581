"""Explains how a change of an item affects each index, and what it costs."""

from collections.abc import Iterator

from hashrange.engine.decision import ItemChange
from hashrange.engine.indexes.maintainer import is_built
from hashrange.engine.indexes.secondary import entries_of
from hashrange.model.tables import Index


def reasons(change: ItemChange) -> Iterator[tuple[Index, str]]:
    """For each secondary index of the table: the index, and the effect on its entry in words."""
    for index in change.table.indexes:
        if not (is_built(index, change.key) or index in change.table.built_from_log):
            yield index, "is being built and has not reached the item yet: no write"
        else:
            yield index, _reason(index, change)


def _reason(index: Index, change: ItemChange) -> str:
    gone, come = entries_of(index, change)
    if gone is None and come is None:
        missing = " or ".join(index.key)
        return f"the item has no entry, because it lacks a key attribute ({missing}): no write"
    if gone is None:
        return "the entry is added: one write"
    if come is None:
        return "the entry is deleted: one write"
    if gone.key.key != come.key.key:
        return "the entry moves to another key: two writes"
    if gone.shown == come.shown:
        return "no attribute in the entry changes: no write"
    return "the entry is rewritten: one write"
