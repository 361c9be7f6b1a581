"""The size of an UpdateExpression, which UpdateItem checks before it reads the item.

Neither the UpdateExpression nor the new item may be larger than the limit for an item. For an
attribute that a clause reads or removes, only the path counts. A value counts each time it is used.

Source: measured on the service in 2026, clause by clause. A third of the regions omit this check.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from hashrange.expressions.tree import Argument, Node, Operation, Path, Section, Values, walk
from hashrange.model.values import text_size, value_size

_STATEMENT = 3
_WRITE = 19
"""The size in bytes of one action of SET or ADD, without its target and operand."""
_REMOVAL = 1
"""The size in bytes of one action of REMOVE or DELETE, without its target."""
_FURTHER_TARGET_PART = 4
_OPERAND_PATH = 1
_OPERAND_PATH_PART = 14
_OPERATIONS = {"+": 34, "-": 37, "if_not_exists": 39, "list_append": 37}

SizeOf = Callable[[str], int]
"""Returns the size in bytes of the value of a placeholder."""


class Clause(NamedTuple):
    """A bound action. REMOVE has no operand."""

    section: Section
    target: Path
    operand: Node | None

    def nodes(self) -> list[Node]:
        return [self.target, *(walk(self.operand) if self.operand is not None else ())]


def statement_bytes(clauses: Iterable[Clause], values: Values) -> int:
    size_of = cache(lambda name: value_size(values[name]))  # a large value may be used often
    return _STATEMENT + sum(_clause(clause, size_of) for clause in clauses)


def _clause(clause: Clause, size_of: SizeOf) -> int:
    first, *further = clause.target.parts
    target = _part(first) + sum(_FURTHER_TARGET_PART + _part(part) for part in further)
    if clause.section in ("REMOVE", "DELETE") or clause.operand is None:
        return _REMOVAL + target
    return _WRITE + target + _operand(clause.operand, size_of)


def _operand(node: Node, size_of: SizeOf) -> int:
    if isinstance(node, Argument):
        return size_of(node.name)
    if isinstance(node, Path):
        return _OPERAND_PATH + sum(_OPERAND_PATH_PART + _part(part) for part in node.parts)
    assert isinstance(node, Operation)
    return _OPERATIONS[node.operator] + sum(_operand(operand, size_of) for operand in node.operands)


def _part(part: str | int) -> int:
    return text_size(str(part))
