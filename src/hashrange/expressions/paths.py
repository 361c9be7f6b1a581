"""Sets of document paths: none may overlap another, and together they make a tree.

    a.b, a.c[1], d      {a: {b: 0, c: {1: 1}}, d: 2}      leaves are positions in the list

Projections pick by such a tree, updates write by it.
"""

from collections.abc import Callable, Sequence

from hashrange.expressions.tree import Parameter, Parts, Path, invalid
from hashrange.model.limits import NESTING_LEVELS_MAX
from hashrange.model.values import AttributeValue, Item


class PathTree(dict[str | int, "PathTree | int"]):
    """The keys of one level are all names, or all indexes in ascending order."""


def check_depth(parameter: Parameter, path: Path) -> None:
    """Raise ValidationException if no item could be as deep as the path."""
    levels = len(path.parts)
    if levels > NESTING_LEVELS_MAX:
        raise invalid(
            parameter,
            f"The document path has too many nesting levels; nesting levels: {levels}",
        )


def check_disjoint(parameter: Parameter, paths: Sequence[Path]) -> None:
    """Raise ValidationException if a path overlaps another (is it, or leads to it), or
    conflicts with it (takes for a map what the other takes for a list).
    """
    for kind, related in (("overlap", _overlap), ("conflict", _conflict)):
        for position, two in enumerate(paths):
            for one in paths[:position]:
                if related(one.parts, two.parts):
                    raise invalid(
                        parameter,
                        f"Two document paths {kind} with each other; must remove or rewrite "
                        f"one of these paths; path one: {one}, path two: {two}",
                    )


def path_tree(paths: Sequence[Path]) -> PathTree:
    """The tree of disjoint paths."""
    root = PathTree()
    # Disjoint paths have an order: where they part, both have a name or both an index.
    for position, path in sorted(enumerate(paths), key=lambda numbered: numbered[1].parts):
        level = root
        for part in path.parts[:-1]:
            below = level.setdefault(part, PathTree())
            assert isinstance(below, PathTree), "the paths were checked to be disjoint"
            level = below
        level[path.parts[-1]] = position
    return root


def reader(path: Path) -> Callable[[Item], AttributeValue | None]:
    """A function that finds the value at a path in an item."""
    first, *rest = path.parts
    assert isinstance(first, str), "a path begins with an attribute"
    if not rest:
        return lambda item: item.get(first)

    def read(item: Item) -> AttributeValue | None:
        value = item.get(first)
        for part in rest:
            if value is None:
                return None
            value = member(value, part)
        return value

    return read


def member(value: AttributeValue, part: str | int) -> AttributeValue | None:
    """What a map has under a name, or a list at an index."""
    found: AttributeValue | None = None
    if isinstance(part, str):
        found = value["M"].get(part) if "M" in value else None
    elif part < len(value.get("L", ())):
        found = value["L"][part]
    return found


def _overlap(one: Parts, two: Parts) -> bool:
    shared = min(len(one), len(two))
    return one[:shared] == two[:shared]


def _conflict(one: Parts, two: Parts) -> bool:
    """Whether the paths part ways at a name of the one and an index of the other."""
    for a, b in zip(one, two, strict=False):
        if a != b:
            return isinstance(a, str) != isinstance(b, str)
    return False
