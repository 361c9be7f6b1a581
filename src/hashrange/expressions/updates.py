"""Updates: how an item changes.

Every operand has its value from before the update, so `SET a = b, b = a` swaps the two. Then the
results are written at their paths. List indexes also refer to the item before the update.

Source: developer guide, "Expressions.UpdateExpressions". The messages were observed on the service.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

from msgspec import Struct

from hashrange.expressions.evaluation import Read, read_of
from hashrange.expressions.operators import static_type, value_of
from hashrange.expressions.paths import PathTree, path_tree, reader
from hashrange.expressions.projections import Projection
from hashrange.expressions.statement_size import Clause, statement_bytes
from hashrange.expressions.tree import (
    NO_VALUES,
    Argument,
    Node,
    Operation,
    Path,
    Section,
    Value,
    Values,
)
from hashrange.model import numbers
from hashrange.model.errors import ValidationException
from hashrange.model.limits import ITEM_BYTES_MAX
from hashrange.model.values import AttributeValue, Item, in_order, normalize, value_size

_NO_SUCH_PATH = "The document path provided in the update expression is invalid for update"
_NO_SUCH_ATTRIBUTE = (
    "The provided expression refers to an attribute that does not exist in the item"
)
_WRONG_TYPE = "An operand in the update expression has an incorrect data type"

TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
_FEW = 8
"""If an update has at most this many changes, only the size of the whole item is checked."""

Compute = Callable[[Item, Values], AttributeValue]
"""Returns the value of an operand, or raises ValidationException."""


class Change(NamedTuple):
    """A document path, and a function that returns the new value at this path, or None to remove
    the value."""

    target: Path
    result: Read


class PreparedUpdate:
    """Changes at disjoint paths. Only an update from an UpdateExpression has `clauses`."""

    def __init__(
        self,
        changes: Sequence[Change],
        clauses: Sequence[Clause] = (),
        values_may_be_too_deep: bool = False,
        read: frozenset[str] = frozenset(),
    ) -> None:
        targets = [change.target for change in changes]
        self._read = read
        self.clauses = clauses
        self.changes = changes
        levels = [len(target.parts) for target in targets]
        self.inner = [
            (at, level) for at, level in enumerate(levels) if level > 1 or values_may_be_too_deep
        ]
        """The changes whose results may be nested too deeply: the position of each in `changes`,
        and the level of its target."""
        self.tree = path_tree(targets)
        self.targets = Projection(targets)

    @cached_property
    def containers(self) -> frozenset[str]:
        paths = [node for clause in self.clauses for node in clause.nodes()]
        return frozenset(
            str(node.parts[0]) for node in paths if isinstance(node, Path) and len(node.parts) > 1
        )

    @cached_property
    def named(self) -> frozenset[str]:
        paths = (node for clause in self.clauses for node in clause.nodes())
        read = {str(node.parts[0]) for node in paths if isinstance(node, Path)}
        return self.targets.attributes | self._read | read

    @cached_property
    def operators(self) -> int:
        nodes = (node for clause in self.clauses for node in clause.nodes())
        return len(self.changes) + sum(isinstance(node, Operation) for node in nodes)

    @cached_property
    def literal_types(self) -> dict[str, str]:
        return {name: kind for name, kind in self._types() if kind is not None}

    @cached_property
    def computed(self) -> frozenset[str]:
        return frozenset(name for name, kind in self._types() if kind is None)

    def _types(self) -> Iterator[tuple[str, str | None]]:
        for clause in self.clauses:
            if len(clause.target.parts) == 1 and clause.operand is not None:
                yield str(clause.target.parts[0]), static_type(clause.operand)


class Update(Struct, gc=False, eq=False):
    """A prepared update with the values of one request."""

    _prepared: PreparedUpdate
    _values: Values = NO_VALUES

    @classmethod
    def of(
        cls,
        changes: Sequence[Change],
        values_may_be_too_deep: bool = False,
        read: frozenset[str] = frozenset(),
    ) -> Self:
        """An update made from changes that contain their values. `read` are the attributes that the
        changes read."""
        return cls(PreparedUpdate(changes, (), values_may_be_too_deep, read))

    @property
    def attributes(self) -> frozenset[str]:
        """The top-level attributes that are updated, wholly or in part."""
        return self._prepared.targets.attributes

    @property
    def named(self) -> frozenset[str]:
        """The top-level attributes that are updated or read."""
        return self._prepared.named

    @property
    def containers(self) -> frozenset[str]:
        """The top-level attributes in the UpdateExpression's nested paths, such as `a` in `SET a.b
        = :v`."""
        return self._prepared.containers

    @property
    def literal_types(self) -> dict[str, str]:
        """The new types of top-level attributes, except the `computed` ones."""
        return self._prepared.literal_types

    def literals(self) -> Iterator[tuple[str, AttributeValue]]:
        """The top-level attributes that the UpdateExpression sets to values of the request, with
        these values."""
        for clause in self._prepared.clauses:
            if len(clause.target.parts) == 1 and clause.operand is not None:
                value = value_of(clause.operand, self._values)
                if value is not None:
                    yield str(clause.target.parts[0]), value

    @property
    def computed(self) -> frozenset[str]:
        """The top-level attributes whose new type depends on the item."""
        return self._prepared.computed

    @property
    def only_removes(self) -> bool:
        """Whether this is an UpdateExpression with REMOVE actions only."""
        clauses = self._prepared.clauses
        return bool(clauses) and all(clause.operand is None for clause in clauses)

    @property
    def operators(self) -> int:
        """The number of actions, operators and functions. Each of them may process a whole item."""
        return self._prepared.operators

    @property
    def statement_bytes(self) -> int:
        """The size of the UpdateExpression in bytes (see `statement_size`)."""
        clauses = self._prepared.clauses
        return statement_bytes(clauses, self._values) if clauses else 0

    def apply(self, item: Item) -> Item:
        """Return the updated item, which shares its unchanged parts with the old one.

        Raises ValidationException if the update does not fit the item.
        """
        prepared = self._prepared
        results = self._results(item)
        for at, level in prepared.inner:
            result = results[at]
            if result is not None:
                normalize(result, level)  # checks the nesting, now that the place is known
        return _write_members(prepared.tree, item, results)

    def _results(self, item: Item) -> list[AttributeValue | None]:
        """The new value at each path.

        A short update can make hundreds of copies of a large list, so it is refused as soon as the
        values are together larger than an item may be.
        """
        changes, values = self._prepared.changes, self._values
        if len(changes) <= _FEW:
            return [change.result(item, values) for change in changes]
        results, size = [], 0
        for change in changes:
            result = change.result(item, values)
            size += 0 if result is None else value_size(result)
            if size > ITEM_BYTES_MAX:
                raise ValidationException(TOO_LARGE)
            results.append(result)
        return results

    def old_values(self, old: Item) -> Item:
        """The response of UPDATED_OLD: the old item at the updated paths."""
        return self._prepared.targets.project(old)

    def new_values(self, new: Item) -> Item:
        """The response of UPDATED_NEW: the new item at the updated paths."""
        return self._prepared.targets.project(new)


def _write_members(tree: PathTree, old: Item, results: Sequence[AttributeValue | None]) -> Item:
    members: Any = dict(old)
    for name, below in tree.items():
        new = _new(below, members.get(name), results)
        if new is None:
            members.pop(name, None)
        else:
            members[name] = new
    item: Item = members
    return item


def _write(
    tree: PathTree, container: AttributeValue | None, results: Sequence[AttributeValue | None]
) -> AttributeValue:
    """A copy of a map or list with the results in place. A result of None removes the member."""
    by_name = isinstance(next(iter(tree), ""), str)
    if container and "M" in container and by_name:
        return {"M": _write_members(tree, container["M"], results)}
    if container and "L" in container and not by_name:
        # A value that is written past the end is appended.
        elements: dict[str | int, AttributeValue | None] = dict(enumerate(container["L"]))
        for index, below in tree.items():
            elements[index] = _new(below, elements.get(index), results)
        return {"L": [element for element in elements.values() if element is not None]}
    raise ValidationException(_NO_SUCH_PATH)


def _new(
    below: PathTree | int, old: AttributeValue | None, results: Sequence[AttributeValue | None]
) -> AttributeValue | None:
    return results[below] if isinstance(below, int) else _write(below, old, results)


# ---- the result of an action on the item before the update ----


def change_of(section: Section, target: Path, operand: Node | None) -> Change:
    """The change that a bound action makes. An action without an operand is a REMOVE."""
    if operand is None:
        return Change(target, lambda item, values: None)
    if section == "SET":
        return Change(target, _read_of(operand))
    assert isinstance(operand, Argument | Value), "the operand must be a value"
    change, read, read_operand = (
        add if section == "ADD" else delete,
        reader(target),
        _read_of(operand),
    )
    return Change(
        target,
        lambda item, values: change(read(item, values), read_operand(item, values), _WRONG_TYPE),
    )


def add(old: AttributeValue | None, operand: AttributeValue, mismatch: str) -> AttributeValue:
    """The result of ADD: the sum of numbers or the union of sets. In legacy updates, also joined
    lists.

    Raises ValidationException with the message `mismatch` if the types differ.
    """
    if old is None:
        return operand
    [(kind, content)], [(operand_kind, added)] = old.items(), operand.items()
    if kind != operand_kind:
        raise ValidationException(mismatch)
    if kind == "N":
        return {"N": numbers.add(content, added)}
    if kind == "L":
        return {"L": content + added}
    return {kind: in_order(kind, {*content, *added})}


def delete(
    old: AttributeValue | None, operand: AttributeValue, mismatch: str
) -> AttributeValue | None:
    """The result of DELETE: the difference of sets, None if it is empty.

    Raises ValidationException with the message `mismatch` if the types differ.
    """
    if old is None:
        return None
    [(kind, content)], [(operand_kind, deleted)] = old.items(), operand.items()
    if kind != operand_kind:
        raise ValidationException(mismatch)
    gone = set(deleted)
    rest = [member for member in content if member not in gone]
    return {kind: rest} if rest else None


# ---- operands of SET: they must have a value ----


def _read_of(node: Node) -> Compute:
    if isinstance(node, Argument | Value):
        return cast(Compute, read_of(node))
    if isinstance(node, Path):
        return _required(reader(node))
    assert isinstance(node, Operation)
    if node.operator == "if_not_exists":
        path, default = node.operands
        assert isinstance(path, Path), "if_not_exists must have a path"
        return _if_not_exists(reader(path), _read_of(default))
    return _combined(*_COMBINE[node.operator], *map(_read_of, node.operands))


def _required(read: Read) -> Compute:
    def required(item: Item, values: Values) -> AttributeValue:
        value = read(item, values)
        if value is None:
            raise ValidationException(_NO_SUCH_ATTRIBUTE)
        return value

    return required


def _if_not_exists(path: Read, default: Compute) -> Compute:
    def read(item: Item, values: Values) -> AttributeValue:
        value = path(item, values)
        return default(item, values) if value is None else value

    return read


def _combined(
    kind: str, combine: Callable[[Any, Any], Any], left: Compute, right: Compute
) -> Compute:
    """A function that combines two operands, which must both be of the type `kind`."""

    def read(item: Item, values: Values) -> AttributeValue:
        a, b = left(item, values), right(item, values)
        if kind not in a or kind not in b:
            raise ValidationException(_WRONG_TYPE)
        return {kind: combine(a[kind], b[kind])}

    return read


_COMBINE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "+": ("N", numbers.add),
    "-": ("N", numbers.subtract),
    "list_append": ("L", operator.add),
}
