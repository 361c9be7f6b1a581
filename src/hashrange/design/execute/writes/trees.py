"""Deletes an item together with the items below it.

Children are deleted before their parents. So if a deletion is interrupted, a second call still
finds the remaining items from the root.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from hashrange.design.plan.children import Children, children_of, tree_of
from hashrange.model.values import Item as WireItem


def delete_tree(writer: Writer, root: Item, *, preview: bool) -> Steps[dict[str, int]]:
    """Delete the item and all items below it; with `preview`, only count them.

    Returns the number of items by the name of their entity. Raises BadValue, before anything is
    deleted, if no key finds some of the items, or if the model does not say which items are below
    it.
    """
    entity = writer.entity(root)
    tree = tree_of(writer.model, entity)
    for other, doubt in tree.doubts:
        raise BadValue(
            f"deleting a {entity}: it is unclear which items are below it. {other}: {doubt}; "
            "declare with st.ref what its key fields refer to, or with st.ref(None) that they "
            "refer to nothing"
        )
    for child in tree.lost:
        raise BadValue(
            f"deleting a {entity} would leave {child.entity} items behind, since no key finds "
            f"them by {', '.join(child.held.values())}"
        )
    deletion = _Deletion(writer, preview)
    key = {name: getattr(root, name) for name in entity.key_fields}
    yield from deletion.below(entity, entity.complete(vars(root)), (_Known(entity, key),))
    raw = yield from writer.copying.read(entity.primary_key(vars(root)))
    if raw is not None:
        yield from deletion.delete(entity, [raw])
    return dict(deletion.counts)


@dataclass(frozen=True)
class _Known:
    """All items of an entity whose fields have these values."""

    entity: Entity
    values: Mapping[str, Any]

    def contains(self, other: "_Known") -> bool:
        return self.entity is other.entity and self.values.items() <= other.values.items()


class _Deletion:
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
        self, entity: Entity, values: Mapping[str, Any], covered: tuple[_Known, ...]
    ) -> Steps[None]:
        """Delete the items below an item, except those that an entry of `covered` describes.

        A query for an item further up finds the excepted items too.
        """
        children = list(self._uncovered(entity, values, covered))
        covered += tuple(known for _, known in children)
        for child, known in children:
            deeper = any(self._uncovered(child.entity, known.values, covered))
            assert child.plan is not None
            builder = RequestBuilder(child.plan, self.model)
            reader = PlanReader(builder, {name: values[name] for name in child.held}, None)
            loader = Loader(self.model, [child.entity.model])
            while not reader.done:
                raws = yield from reader.raws()
                mine = [raw for raw in raws if loader.recognise(raw) is child.entity]
                if deeper:
                    for item in (yield from self._whole(child, mine)):
                        yield from self.below(
                            child.entity, child.entity.complete(vars(item)), covered
                        )
                yield from self.delete(child.entity, mine)

    def _uncovered(
        self, entity: Entity, values: Mapping[str, Any], covered: Sequence[_Known]
    ) -> Iterator[tuple[Children, _Known]]:
        """The kinds of children of an item, each with the field values that its items share.

        Children that an entry of `covered` describes are left out. `values` may lack some of the
        item's fields.
        """
        for child in self._children(entity):
            held = {field: values[name] for name, field in child.held.items() if name in values}
            known = _Known(child.entity, held)
            if child.plan is not None and not any(one.contains(known) for one in covered):
                yield child, known

    def _whole(self, child: Children, raws: Sequence[WireItem]) -> Steps[list[Item]]:
        """The complete items, from the table if the index does not have all fields."""
        assert child.plan is not None
        whole: Sequence[WireItem | None] = raws
        if child.plan.source.project != "ALL":
            keys = [child.entity.key_of(raw) for raw in raws]
            whole = yield from batches.get_all(self.model.name, keys)
        return [child.entity.load(raw) for raw in whole if raw is not None]

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
