"""The expected content of tables: a dict of items for each; the rest is computed when asked.

It follows the documentation and uses nothing of the package, so that the two can disagree.
"""

from base64 import b64decode
from collections.abc import Sequence
from decimal import Decimal
from math import ceil
from typing import Any, NamedTuple

Value = dict[str, Any]
Item = dict[str, Value]
Condition = tuple[Any, ...]
"""(operator, name, operands...), ("and", x, y), ("or", x, y) or ("not", x)"""


class Refused(Exception):
    """`code` is the error's; `reasons` are the codes of a cancelled transaction."""

    def __init__(self, code: str, reasons: Sequence[str] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.reasons = list(reasons)


INVALID = "ValidationException"
CONDITION = "ConditionalCheckFailedException"


# ---- values ----


def plain(value: Value) -> Any:
    """S, N and B as values that Python can order; others unchanged."""
    [(type_, content)] = value.items()
    match type_:
        case "S":
            return content.encode()
        case "N":
            return Decimal(content)
        case "B":
            return b64decode(content)
        case _:
            return content


def canonical(value: Value) -> Value:
    if "N" not in value:
        return value
    text = format(Decimal(value["N"]).normalize(), "f")
    return {"N": "0" if Decimal(text) == 0 else text}


def value_size(value: Value) -> int:
    """In bytes, of S, N, B and BOOL."""
    [(type_, content)] = value.items()
    if type_ == "BOOL":
        return 1
    if type_ != "N":
        data: bytes = plain(value)
        return len(data)
    whole, _, fraction = content.lstrip("-").partition(".")
    digits = whole.lstrip("0")
    if not fraction:
        digits = digits.rstrip("0")
    elif not digits:
        fraction = fraction.lstrip("0")
    return 1 + ceil(len(digits) / 2) + ceil(len(fraction) / 2) + bool(content[0] == "-")


def item_size(item: Item) -> int:
    return sum(len(name.encode()) + value_size(value) for name, value in item.items())


# ---- conditions ----


def holds(condition: Condition, item: Item) -> bool:
    match condition:
        case ("and", one, other):
            return holds(one, item) and holds(other, item)
        case ("or", one, other):
            return holds(one, item) or holds(other, item)
        case ("not", one):
            return not holds(one, item)
        case ("attribute_exists", name):
            return name in item
        case ("attribute_not_exists", name):
            return name not in item
        case (operator, name, *operands):
            return _compare(operator, item.get(name), operands)
    raise AssertionError(condition)


def _compare(operator: str, value: Value | None, operands: list[Value]) -> bool:
    if value is None:
        return operator == "<>"
    same = [plain(operand) for operand in operands if operand.keys() == value.keys()]
    found = plain(value)
    if operator in ("=", "IN"):
        return found in same
    if operator == "<>":
        return found not in same
    if len(same) < len(operands) or not value.keys() & {"S", "N", "B"}:
        return False
    match operator:
        case "BETWEEN":
            return bool(same[0] <= found <= same[1])
        case "begins_with":
            return isinstance(found, bytes) and found.startswith(same[0])
        case "<":
            return bool(found < same[0])
        case "<=":
            return bool(found <= same[0])
        case ">":
            return bool(found > same[0])
        case ">=":
            return bool(found >= same[0])
    raise AssertionError(operator)


# ---- tables ----


class View(NamedTuple):
    """A table or an index; `shown` are the attributes it has besides keys, None: all."""

    name: str | None
    hash: tuple[str, ...]
    range: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = None
    local: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        return self.hash + self.range


class Write(NamedTuple):
    """Exactly one of `item` (a put), `changes` (an update) and neither (a delete or a check)."""

    table: "Table"
    key: Item
    item: Item | None = None
    changes: dict[str, tuple[str, Value]] | None = None
    condition: Condition | None = None
    check: bool = False


class Table:
    def __init__(self, name: str, types: dict[str, str], views: list[View]) -> None:
        self.name = name
        self.types = types
        self.view, *self.indexes = views
        self.items: dict[tuple[Any, ...], Item] = {}

    def identity(self, item: Item) -> tuple[Any, ...]:
        return tuple(plain(item[name]) for name in self.view.key)

    def get(self, key: Item) -> Item | None:
        return self.items.get(self.identity(key))

    def rows(self, view: View) -> list[Item]:
        """The rows that a Scan of the view returns: items that have all its keys, projected."""
        return [
            self.show(view, item)
            for item in self.items.values()
            if all(self._can_be_key(name, item.get(name)) for name in view.key)
            and _is_short(view, item, view.key)
        ]

    def show(self, view: View, item: Item) -> Item:
        if view.shown is None:
            return item
        names = {*self.view.key, *view.key, *view.shown}
        return {name: value for name, value in item.items() if name in names}

    def statistics(self, view: View) -> tuple[int, int]:
        rows = self.rows(view)
        return len(rows), sum(map(item_size, rows))

    def collection_size(self, hash_value: Value) -> int:
        """Of the items and local index entries under one partition key value."""
        views = [self.view, *(index for index in self.indexes if index.local)]
        [name] = self.view.hash
        return sum(
            item_size(row)
            for view in views
            for row in self.rows(view)
            if plain(row[name]) == plain(hash_value)
        )

    def decide(self, write: Write) -> Item | None:
        """The item after the write, which is not applied."""
        old = self.get(write.key)
        if write.condition and not holds(write.condition, old or {}):
            raise Refused(CONDITION)
        if write.check:
            return old
        if write.item is not None:
            return {name: canonical(value) for name, value in write.item.items()}
        if write.changes is not None:
            if old is None and all(action == "REMOVE" for action, _ in write.changes.values()):
                return None
            return self._updated(old or write.key, write.changes)
        return None

    def apply(self, key: Item, new: Item | None) -> None:
        if new is None:
            self.items.pop(self.identity(key), None)
        else:
            self.items[self.identity(key)] = new

    def check_index_keys(self, item: Item, touched: Sequence[str]) -> None:
        """A write fails if it makes an attribute unfit to be an index key."""
        for index in self.indexes:
            for name in index.key:
                if name in touched and name in item and not self._can_be_key(name, item[name]):
                    raise Refused(INVALID)
            if not _is_short(index, item, touched):
                raise Refused(INVALID)

    def check_literals(self, changes: dict[str, tuple[str, Value]]) -> None:
        """Literals of an update are checked before all conditions: the type of an index key, and
        that it is not empty.
        """
        keys = {name for index in self.indexes for name in index.key}
        for name, (action, value) in changes.items():
            if action != "REMOVE" and name in keys and not self._can_be_key(name, value):
                raise Refused(INVALID)

    def _can_be_key(self, name: str, value: Value | None) -> bool:
        return value is not None and self.types[name] in value and plain(value) != b""

    def _updated(self, old: Item, changes: dict[str, tuple[str, Value]]) -> Item:
        new = {name: canonical(value) for name, value in old.items()}
        for name, (action, value) in changes.items():
            match action:
                case "SET":
                    new[name] = canonical(value)
                case "REMOVE":
                    new.pop(name, None)
                case "ADD" | "COUNT":
                    before = plain(new[name]) if name in new else Decimal(0)
                    new[name] = canonical({"N": str(before + plain(value))})
        self.check_index_keys(new, list(changes))
        return new


def _is_short(view: View, item: Item, touched: Sequence[str]) -> bool:
    """Whether the key attributes that are touched keep the limits of a key's length."""
    length = {
        name: len(plain(item[name])) for name in view.key if set("SB") & set(item.get(name, ()))
    }
    if any(length.get(name, 0) > 2048 for name in view.hash if name in touched):
        return False
    ranges = sum(length.get(name, 1) for name in view.range)
    return ranges <= 1024 or not set(view.range) & set(touched)


def write(write: Write) -> tuple[Item | None, Item | None]:
    """Apply one write; the item before and after."""
    old = write.table.get(write.key)
    if write.item is not None:
        write.table.check_index_keys(write.item, list(write.item))
    if write.changes is not None:
        write.table.check_literals(write.changes)
    new = write.table.decide(write)
    write.table.apply(write.key, new)
    return old, new


def batch(writes: Sequence[Write]) -> None:
    _check_distinct(writes)
    for one in writes:
        if one.item is not None:
            one.table.check_index_keys(one.item, list(one.item))
    for one in writes:
        write(one)


def transact(writes: Sequence[Write]) -> None:
    """All or nothing. An empty index key refuses the request; the first that else does not fit
    ends it before any condition.
    """
    if any(map(_has_empty_index_key, writes)):
        raise Refused(INVALID)
    given = list(map(_given_index_keys, writes))
    first = next((at for at, reason in enumerate(given) if reason != "None"), 0)
    _cancel_for([reason if at == first else "None" for at, reason in enumerate(given)])
    _check_distinct(writes)
    _cancel_for(map(_decision, writes))
    for one in writes:
        if not one.check:
            write(one)


def _check_distinct(writes: Sequence[Write]) -> None:
    if len({(one.table.name, one.table.identity(one.key)) for one in writes}) < len(writes):
        raise Refused(INVALID)


def _has_empty_index_key(one: Write) -> bool:
    keys = {name for index in one.table.indexes for name in index.key}
    changes = one.changes or {}
    sets = {name: value for name, (action, value) in changes.items() if action == "SET"}
    given = one.item or sets
    return any(plain(given[name]) == b"" for name in keys & given.keys())


def _given_index_keys(one: Write) -> str:
    try:
        if one.item is not None:
            one.table.check_index_keys(one.item, list(one.item))
        if one.changes is not None:
            one.table.check_literals(one.changes)
    except Refused:
        return "ValidationError"
    return "None"


def _decision(one: Write) -> str:
    try:
        one.table.decide(one)
    except Refused as refusal:
        return "ConditionalCheckFailed" if refusal.code == CONDITION else "ValidationError"
    return "None"


def _cancel_for(found: Any) -> None:
    reasons = list(found)
    if any(reason != "None" for reason in reasons):
        raise Refused("TransactionCanceledException", reasons)
