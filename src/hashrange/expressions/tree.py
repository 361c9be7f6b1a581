"""The tree of an expression, from the parser to the evaluation.

A parsed tree has aliases of names and placeholders of values. Binding (`binding.py`) replaces them
by attribute names and by arguments. Legacy parameters and PartiQL are turned into bound trees
directly. Operators and functions have the same class, because DynamoDB's messages do not
distinguish them.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from hashrange.model.errors import ValidationException
from hashrange.model.values import AttributeValue

Parameter = Literal[
    "ConditionExpression",
    "FilterExpression",
    "KeyConditionExpression",
    "ProjectionExpression",
    "SearchConditionExpression",
    "UpdateExpression",
    "Statement",
]
"""The request parameter that contains the text. Messages begin with its name, except for
PartiQL."""

Section = Literal["SET", "REMOVE", "ADD", "DELETE"]


Parts: TypeAlias = tuple[str | int, ...]


class Path(NamedTuple):
    """A document path: names of attributes and list indexes."""

    parts: Parts

    def __str__(self) -> str:
        """The path as messages write it: `[a, [1], b]`."""
        parts = (part if isinstance(part, str) else f"[{part}]" for part in self.parts)
        return f"[{', '.join(parts)}]"


class AliasedPath(NamedTuple):
    """A document path that contains aliases of names, such as `#n`. Not in a bound tree."""

    parts: Parts


class Placeholder(NamedTuple):
    """The name of an expression attribute value, such as `:v`. Not in a bound tree."""

    name: str


class Argument(NamedTuple):
    """Stands for an expression attribute value of this type in a bound tree, so that requests which
    differ only in their values can share the tree."""

    name: str
    type: str


class Value(NamedTuple):
    """A canonical attribute value. Only in a bound tree."""

    value: AttributeValue


class Operation(NamedTuple):
    """An operator or function with its operands. AND and OR have two or more operands."""

    operator: str
    operands: "tuple[Node, ...]"


Node: TypeAlias = Path | AliasedPath | Placeholder | Argument | Value | Operation

Values: TypeAlias = Mapping[str, AttributeValue]
"""The values of the arguments, by placeholder."""

NO_VALUES: Values = {}


class ParsedAction(NamedTuple):
    """One action of a parsed update. REMOVE has no operand."""

    section: Section
    target: Path | AliasedPath
    operand: Node | None


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, in the order of the text. Each node precedes its
    operands."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Operation):
            waiting.extend(reversed(node.operands))


def attributes_of(node: Node) -> frozenset[str]:
    """The top-level attributes that a bound tree names."""
    return frozenset(str(each.parts[0]) for each in walk(node) if isinstance(each, Path))


def postorder(node: Node) -> list[Node]:
    """All nodes of a tree, each after its operands, which are in the order of the text."""
    nodes = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if isinstance(node, Operation):
            waiting.extend(node.operands)
    return nodes[::-1]


def invalid(parameter: Parameter, reason: str, added_by_legacy: str = "") -> ValidationException:
    """The error for an invalid expression. Under legacy validation, `added_by_legacy` is appended
    to the message."""
    if parameter == "Statement":
        return ValidationException(reason)
    message = f"Invalid {parameter}: {reason}"
    return ValidationException(message, legacy=message + added_by_legacy)
