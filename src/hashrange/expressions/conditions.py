"""Conditions and filters: bound trees that an item matches or not."""

from functools import cached_property

from hashrange.expressions.evaluation import test_of
from hashrange.expressions.tree import Node, Path, walk
from hashrange.model.values import Item


class Condition:
    """A bound condition. Made of the root of its tree."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._test = test_of(root)

    def matches(self, item: Item | None) -> bool:
        """Whether the condition holds; None is an item that does not exist."""
        return self._test(item or {})

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The top-level attributes that the condition names."""
        return frozenset(str(path.parts[0]) for path in self._paths)

    @cached_property
    def containers(self) -> frozenset[str]:
        """Those of them that it looks into, as a map or a list."""
        return frozenset(str(path.parts[0]) for path in self._paths if len(path.parts) > 1)

    @cached_property
    def _paths(self) -> list[Path]:
        return [node for node in walk(self._root) if isinstance(node, Path)]
