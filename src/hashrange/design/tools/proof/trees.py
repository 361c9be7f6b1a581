"""Testing that db.delete_tree deletes an item with everything below it, and nothing else."""

from collections import Counter
from collections.abc import Iterator

from hashrange.design.errors import BadValue
from hashrange.design.execute.steps import Connection, run
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.trees import delete_tree
from hashrange.design.table import Table
from hashrange.design.tools.proof.declared import Model, Record, key_fields
from hashrange.design.tools.proof.oracle import Oracle
from hashrange.design.tools.proof.stored import differences

ROOTS, PREVIEWS = 2, 5
"""The number of each entity's trees that are deleted, and the number of further trees that are only
counted with `preview`."""


def wrong_trees(
    table: Table, connection: Connection, oracle: Oracle, asked: dict[str, int]
) -> Iterator[str]:
    """Delete some items of each entity with the items below them; yield a line for each mistake.

    Adds the number of trees of each entity to `asked`. An entity is not tested if `delete_tree`
    refuses to delete its items.
    """
    models = [entity.model for entity in table.model.entities]
    for model in sorted(models, key=lambda one: -len(key_fields(one))):
        yield from _trees_of(table, connection, oracle, model, asked)


def _trees_of(
    table: Table, connection: Connection, oracle: Oracle, model: Model, asked: dict[str, int]
) -> Iterator[str]:
    name = f"delete_tree({model.__name__})"
    writer = StoreSteps(table.model, [], None, None).writer
    others = [entity.model for entity in table.model.entities]
    if not any(oracle.relations.ownerships(other, model) for other in others):
        return
    roots = [record for record in oracle.records if record.model is model]
    trees = {id(root): [root, *oracle.relations.below(root, oracle.records)] for root in roots}
    roots = sorted(roots, key=lambda root: -len(trees[id(root)]))[: ROOTS + PREVIEWS]
    wrong = []
    for number, root in enumerate(roots):
        item = root.model.model_validate(root.values)
        try:
            preview = run(delete_tree(writer, item, preview=True), connection)
        except BadValue:
            return
        asked[name] = asked.get(name, 0) + 1
        tree = [one for one in trees[id(root)] if one in oracle.records]
        wrong += _difference(preview, tree)
        if number < ROOTS and root in oracle.records:
            wrong += _difference(run(delete_tree(writer, item, preview=False), connection), tree)
            oracle.records = [one for one in oracle.records if one not in tree]
    wrong += differences(table, connection, oracle)
    if wrong:
        yield f"{name}: {len(wrong)} differences; the first: {wrong[0]}"


def _difference(counts: dict[str, int], tree: list[Record]) -> list[str]:
    expected = dict(Counter(record.model.__name__ for record in tree))
    return [] if counts == expected else [f"{counts} instead of {expected}"]
