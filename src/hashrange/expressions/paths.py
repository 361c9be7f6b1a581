"""Sets of document paths that do not overlap, as trees. Projections and updates use such trees.

    a.b, a.c[1], d      {a: {b: 0, c: {1: 1}}, d: 2}

A leaf is the position of its path in the list of paths.
"""

from collections.abc import Callable, Sequence

from hashrange.expressions.tree import Parameter, Parts, Path, Values, invalid
from hashrange.model.values import AttributeValue, Item


class PathTree(dict[str | int, "PathTree | int"]):
    """A tree of document paths. The keys of one level are all names, or all indexes in ascending
    order."""


def check_disjoint(parameter: Parameter, paths: Sequence[Path]) -> None:
    """Raises ValidationException if two paths overlap or conflict.

    Paths overlap if they are equal or one begins with the other. They conflict if one treats a
    value as a map and the other as a list.
    """
    if len(paths) == 1:
        return
    for kind, first_pair in (("overlap", _first_overlap), ("conflict", _first_conflict)):
        pair = first_pair(paths)
        if pair:
            raise invalid(
                parameter,
                f"Two document paths {kind} with each other; must remove or rewrite one of "
                f"these paths; path one: {pair[0]}, path two: {pair[1]}",
            )


def path_tree(paths: Sequence[Path]) -> PathTree:
    """The tree of some paths, which must be disjoint."""
    root = PathTree()
    # Disjoint paths have an order: where they differ, both have a name or both have an index.
    for position, path in sorted(enumerate(paths), key=lambda numbered: numbered[1].parts):
        level = root
        for part in path.parts[:-1]:
            below = level.setdefault(part, PathTree())
            assert isinstance(below, PathTree), "the paths must be disjoint"
            level = below
        level[path.parts[-1]] = position
    return root


def reader(path: Path) -> Callable[[Item, Values], AttributeValue | None]:
    """A function that returns the value at a path in an item, None if there is none."""
    first, *rest = path.parts
    assert isinstance(first, str), "a path must begin with an attribute"
    if not rest:
        return lambda item, values: item.get(first)

    def read(item: Item, values: Values) -> AttributeValue | None:
        value = item.get(first)
        for part in rest:
            if value is None:
                return None
            value = member(value, part)
        return value

    return read


def member(value: AttributeValue, part: str | int) -> AttributeValue | None:
    """The member of a map by name, or of a list by index. None if it does not exist."""
    inner: AttributeValue | None = None
    if isinstance(part, str):
        inner = value["M"].get(part) if "M" in value else None
    elif part < len(value.get("L", ())):
        inner = value["L"][part]
    return inner


# ---- linear in the number of paths: a projection may have two thousand ----


def _first_overlap(paths: Sequence[Path]) -> tuple[Path, Path] | None:
    """The first path that overlaps an earlier one, as a pair: the earlier path, then this path."""
    ends: dict[Parts, Path] = {}
    passes: dict[Parts, Path] = {}
    for path in paths:
        starts = [path.parts[:length] for length in range(1, len(path.parts) + 1)]
        for start in starts:
            if start in ends:
                return ends[start], path
        if path.parts in passes:
            return passes[path.parts], path
        ends[path.parts] = path
        for start in starts:
            passes.setdefault(start, path)
    return None


def _first_conflict(paths: Sequence[Path]) -> tuple[Path, Path] | None:
    """The first path that conflicts with an earlier one, as a pair: the earlier path, then this
    path."""
    seen: dict[tuple[Parts, bool], Path] = {}
    for path in paths:
        for length, part in enumerate(path.parts):
            start, by_name = path.parts[:length], isinstance(part, str)
            if (start, not by_name) in seen:
                return seen[(start, not by_name)], path
            seen.setdefault((start, by_name), path)
    return None
