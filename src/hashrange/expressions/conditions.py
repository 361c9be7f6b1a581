"""Conditions and filters: bound trees that an item matches or does not match."""

from collections.abc import Mapping
from functools import cached_property
from typing import Self

from msgspec import Struct

from hashrange.expressions.evaluation import Test, test_of
from hashrange.expressions.key_conditions import KeyCondition, PreparedKeyCondition, key_tests
from hashrange.expressions.search_conditions import equalities
from hashrange.expressions.tree import (
    NO_VALUES,
    Argument,
    Node,
    Operation,
    Path,
    Value,
    Values,
    attributes_of,
    walk,
)
from hashrange.model.values import AttributeValue, Item


class PreparedCondition:
    """A bound tree, given by its root, and its properties that do not depend on values."""

    def __init__(self, root: Node) -> None:
        self._root = root

    @cached_property
    def key_condition(self) -> PreparedKeyCondition:
        """The tree as a key condition. Raises ValidationException if it is not a key condition."""
        return PreparedKeyCondition(key_tests(self._root))

    @cached_property
    def searched(self) -> Mapping[str, Argument | Value]:
        """Maps each attribute to the value that it must have, or to the argument for this value.

        Raises ValidationException if the tree is not a search condition.
        """
        return equalities(self._root)

    @cached_property
    def attributes(self) -> frozenset[str]:
        return attributes_of(self._root)

    @cached_property
    def containers(self) -> frozenset[str]:
        return frozenset(str(path.parts[0]) for path in self._paths if len(path.parts) > 1)

    @cached_property
    def _paths(self) -> list[Path]:
        return [node for node in walk(self._root) if isinstance(node, Path)]

    @cached_property
    def operators(self) -> int:
        return sum(isinstance(node, Operation) for node in walk(self._root))

    @cached_property
    def test(self) -> Test:
        return test_of(self._root)


class Condition(Struct, gc=False, eq=False):
    """A prepared condition with the values of one request."""

    _prepared: PreparedCondition
    _values: Values = NO_VALUES

    @classmethod
    def of(cls, root: Node) -> Self:
        """A condition made from a bound tree that contains all its values."""
        return cls(PreparedCondition(root))

    def as_key_condition(self) -> KeyCondition:
        """This condition as a key condition. Raises ValidationException if it is not a key
        condition."""
        return KeyCondition(self._prepared.key_condition, self._values)

    def as_search_condition(self) -> dict[str, AttributeValue]:
        """Maps each attribute to the value that it must have.

        Raises ValidationException if this is not a search condition.
        """
        return {
            name: self._values[value.name] if isinstance(value, Argument) else value.value
            for name, value in self._prepared.searched.items()
        }

    def matches(self, item: Item | None) -> bool:
        """Whether the condition holds for an item. None stands for an item that does not exist."""
        return self._prepared.test(item or {}, self._values)

    @property
    def attributes(self) -> frozenset[str]:
        """The top-level attributes that the condition names."""
        return self._prepared.attributes

    @property
    def containers(self) -> frozenset[str]:
        """The attributes whose members the condition uses, such as `a` in `a.b = :v`."""
        return self._prepared.containers

    @property
    def operators(self) -> int:
        """The number of operators and functions. Each of them may process a whole item."""
        return self._prepared.operators
