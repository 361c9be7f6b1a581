"""Sets of document paths, which may not overlap and together make a tree.

    a.b, a.c[1], d      {a: {b: 0, c: {1: 1}}, d: 2}      a leaf is the position of its path

Projections and updates use such a tree.
"""

from collections.abc import Callable, Sequence

from hashrange.expressions.tree import Parameter, Parts, Path, Values, invalid
from hashrange.model.values import AttributeValue, Item


class PathTree(dict[str | int, "PathTree | int"]):
    """A tree of document paths. The keys of one level are all names, or all indexes in ascending
    order."""


def check_disjoint(parameter: Parameter, paths: Sequence[Path]) -> None:
    """Raise ValidationException if a path overlaps another (is the same, or leads to it), or
    conflicts with it (treats as a map what the other treats as a list).
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
    """The tree of disjoint paths."""
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
    """A function that finds the value at a path in an item."""
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
    """The member of a map by name, or of a list by index; None if there is none."""
    inner: AttributeValue | None = None
    if isinstance(part, str):
        inner = value["M"].get(part) if "M" in value else None
    elif part < len(value.get("L", ())):
        inner = value["L"][part]
    return inner


# ---- linear in the number of paths: a projection may have two thousand ----


def _first_overlap(paths: Sequence[Path]) -> tuple[Path, Path] | None:
    """The first path that overlaps an earlier path, preceded by that earlier path."""
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
    """The first path that conflicts with an earlier one, as a pair: the earliest path that it
    conflicts with, and the path itself."""
    seen: dict[tuple[Parts, bool], Path] = {}
    for path in paths:
        for length, part in enumerate(path.parts):
            start, by_name = path.parts[:length], isinstance(part, str)
            if (start, not by_name) in seen:
                return seen[(start, not by_name)], path
            seen.setdefault((start, by_name), path)
    return None
