"""The phases of a migration, and the item of the table that stores the current one.

Programs of the old model write only old items in `old` and `expand`, and also new items from `dual`
to `new`. They read the new items in `read-new` and `new`. Programs of the new model may run from
`new` on. In `contracting`, each of their writes deletes the old item. The epoch is a number that
increases when programs begin to write differently. The term is a number that increases when a
migrator takes over.
"""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DesignError
from hashrange.model.values import Item


class Phase(StrEnum):
    """A phase of a migration. The module's documentation explains the phases."""

    OLD = "old"
    EXPAND = "expand"
    DUAL = "dual"
    BACKFILL = "backfill"
    VERIFY = "verify"
    READ_NEW = "read-new"
    NEW = "new"
    CONTRACTING = "contracting"
    DONE = "done"


ORDER = tuple(Phase)
BOTH = frozenset({Phase.DUAL, Phase.BACKFILL, Phase.VERIFY, Phase.READ_NEW, Phase.NEW})
"""The phases in which every write goes to the items of both models."""
READS_NEW = frozenset({Phase.READ_NEW, Phase.NEW})
"""The phases in which programs of the old model read the new items."""
RUNS_OLD = frozenset({Phase.OLD, Phase.EXPAND, *BOTH})
RUNS_NEW = frozenset({Phase.NEW, Phase.CONTRACTING, Phase.DONE})

STATE = "~migration"
GUARD = "~guard"
RECEIPT = "~receipt"
CANARY = "~canary"
COUNTS = "~counts"


class MigrationError(DesignError):
    """A migration cannot go on. The message says what to do."""


@dataclass(frozen=True)
class State:
    """The stored state of a migration.

    `plan` is the migration's fingerprint. `settled` is False after a change of the epoch, until no
    request of the previous epoch can still arrive. `swept_from` is the epoch in which programs
    began to write mirrors. `done` says whether the work of the phase is complete. `items` is the
    number of items written in this phase, and `position` the place at which interrupted work
    continues. `guards` is the number of guard items.
    """

    phase: Phase = Phase.OLD
    epoch: int = 0
    swept_from: int = 0
    term: int = 0
    plan: str = ""
    settled: bool = True
    done: bool = True
    paused: bool = False
    position: str = ""
    items: int = 0
    guards: int = 0

    def changed(self, **changes: Any) -> "State":
        return replace(self, **changes)

    @property
    def active(self) -> bool:
        return self.phase not in (Phase.OLD, Phase.DONE)


def own_key(model: TableModel, name: str, number: str = "") -> Item:
    """The primary key of an item in which the migration stores its own data."""
    texts = (f"{name}#{number}" if number else name, name)
    columns = zip(model.table.columns, texts, strict=False)
    return {column.attribute: {"S": text} for column, text in columns}


def own_item(model: TableModel, name: str, number: str = "") -> Item:
    """An item in which the migration stores its own data. No pattern knows its type."""
    typed = {} if model.type_attribute is None else {model.type_attribute: {"S": name}}
    return {**own_key(model, name, number), **typed}


def stored(model: TableModel, state: State) -> Item:
    values: Item = {}
    for name, value in vars(state).items():
        if isinstance(value, bool):
            values[name] = {"BOOL": value}
        elif isinstance(value, int):
            values[name] = {"N": str(value)}
        else:
            values[name] = {"S": str(value)}
    return {**own_item(model, STATE), **values}


def loaded(raw: Item | None) -> State:
    """The state in a stored item. Raises MigrationError if another version stored it."""
    if raw is None:
        return State()
    try:
        values: dict[str, Any] = {f.name: next(iter(raw[f.name].values())) for f in fields(State)}
        values["phase"] = Phase(values["phase"])
        for number in ("epoch", "swept_from", "term", "items", "guards"):
            values[number] = int(values[number])
    except (KeyError, ValueError):
        raise MigrationError(
            "another version of hashrange stored the state of the table's migration: use that "
            "version"
        ) from None
    return State(**values)
