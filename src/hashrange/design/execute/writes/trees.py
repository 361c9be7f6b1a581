"""Deleting an item together with the items below it.

Children are deleted before their parents, so that the rest of an interrupted deletion can still be
found from the root, and a second call continues it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item
from hashrange.design.errors import BadValue
from hashrange.design.execute import batches
from hashrange.design.execute.reads.loading import Loader
from hashrange.design.execute.reads.reading import PlanReader
from hashrange.design.execute.reads.request_builder import RequestBuilder
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.commit import commit
from hashrange.design.execute.writes.writer import Writer
from hashrange.design.plan.children import Children, children_of, orphans_of
from hashrange.model.values import Item as WireItem


def delete_tree(writer: Writer, root: Item, *, preview: bool) -> Steps[dict[str, int]]:
    """Delete the item and all items below it, or only count them; returns numbers by entity.

    Raises BadValue, before anything is deleted, if some of the items cannot be found.
    """
    entity = writer.entity(root)
    for child in orphans_of(writer.model, entity):
        raise BadValue(
            f"deleting a {entity} would leave {child.entity} items behind, since no key finds "
            f"them by {', '.join(child.held.values())}"
        )
    tree = _Tree(writer, preview)
    yield from tree.below(entity, vars(root), frozenset({entity.name}))
    raw = yield from writer.copying.read(entity.primary_key(vars(root)))
    if raw is not None:
        yield from tree.delete(entity, [raw])
    return dict(tree.counts)


class _Tree:
    def __init__(self, writer: Writer, preview: bool) -> None:
        self.writer = writer
        self.model = writer.model
        self.preview = preview
        self.counts: Counter[str] = Counter()
        self.seen: set[int] = set()
        self.children: dict[str, list[Children]] = {}

    def _children(self, entity: Entity) -> list[Children]:
        if entity.name not in self.children:
            self.children[entity.name] = children_of(self.model, entity)
        return self.children[entity.name]

    def below(
        self, entity: Entity, values: Mapping[str, Any], covered: frozenset[str]
    ) -> Steps[None]:
        """Delete the items below an item, without entities whose items an ancestor finds."""
        found = [c for c in self._children(entity) if c.plan and c.entity.name not in covered]
        covered |= {child.entity.name for child in found}
        for child in found:
            deeper = any(c.entity.name not in covered for c in self._children(child.entity))
            assert child.plan is not None
            builder = RequestBuilder(child.plan, self.model)
            reader = PlanReader(builder, {name: values[name] for name in child.held}, None)
            loader = Loader(self.model, [child.entity.model])
            while not reader.done:
                raws = yield from reader.raws()
                mine = [raw for raw in raws if loader.recognise(raw) is child.entity]
                if deeper:
                    for item in (yield from self._whole(child, mine)):
                        yield from self.below(child.entity, vars(item), covered)
                yield from self.delete(child.entity, mine)

    def _whole(self, child: Children, raws: Sequence[WireItem]) -> Steps[list[Item]]:
        """The items, read from the table if the index does not hold all of their fields."""
        assert child.plan is not None
        found: Sequence[WireItem | None] = raws
        if child.plan.source.project != "ALL":
            keys = [child.entity.key_of(raw) for raw in raws]
            found = yield from batches.get_all(self.model.name, keys)
        return [child.entity.load(raw) for raw in found if raw is not None]

    def delete(self, entity: Entity, raws: Sequence[WireItem]) -> Steps[None]:
        keys = [entity.key_of(raw) for raw in raws]
        new = [key for key in keys if hash(repr(key)) not in self.seen]
        self.seen |= {hash(repr(key)) for key in new}
        if new:
            self.counts[str(entity)] += len(new)
        if self.preview:
            return
        if entity.unique:
            for key in keys:
                actions = yield from self.writer.delete(entity, key, None)
                if actions:
                    yield from commit(actions)
        else:
            requests = [{"DeleteRequest": {"Key": key}} for key in keys]
            yield from batches.write_all(self.model.name, requests)
