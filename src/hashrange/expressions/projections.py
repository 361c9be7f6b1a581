"""Projections: the parts of an item that a list of document paths selects."""

from collections.abc import Sequence

from hashrange.expressions.paths import PathTree, member, path_tree
from hashrange.expressions.tree import Path
from hashrange.model.values import AttributeValue, Item


class Projection:
    """A list of disjoint bound paths."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._tree = path_tree(paths)
        self.attributes = frozenset(map(str, self._tree))
        """The top-level attributes that the projection names."""
        self.containers = frozenset(str(path.parts[0]) for path in paths if len(path.parts) > 1)
        """The top-level attributes of which the projection selects only parts, not the whole
        value."""

    def project(self, item: Item) -> Item:
        """The parts of the item at the paths. Lists keep only the selected elements, in order."""
        picked = _pick(self._tree, {"M": item})
        return picked["M"] if picked else {}


def _pick(tree: PathTree | int, value: AttributeValue) -> AttributeValue | None:
    if isinstance(tree, int):
        return value
    picked = {}
    for part, below in tree.items():
        content = member(value, part)
        inside = None if content is None else _pick(below, content)
        if inside is not None:
            picked[part] = inside
    if not picked:
        return None
    return {"M": picked} if "M" in value else {"L": list(picked.values())}
