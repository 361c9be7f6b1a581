"""The parts of a model that no infrastructure format can express."""

from collections.abc import Iterator

from hashrange.design.table import Table


def omissions(
    table: Table, format: str, *, entities: bool = False, vectors: bool = False
) -> Iterator[str]:
    """The parts of a model that a description of tables leaves out, one line each.

    `entities` tells that the format can express the keys of entities. `vectors` tells that vector
    indexes are to be listed, because the format cannot express them.
    """
    model = table.model
    if not entities:
        names = ", ".join(str(entity) for entity in model.entities)
        yield f"{table.name}: {format} has no entities and key templates; left out: {names}"
    if table.plans:
        yield f"{table.name}: {format} has no access patterns; left out: {len(table.plans)}"
    if table.backups:
        yield f"{table.name}: {format} has no full backups; left out: {table.backups}"
    if vectors and model.vectors:
        names = ", ".join(index.name for index in model.vectors)
        yield f"{table.name}: {format} has no vector indexes; left out: {names}"
    unique = [f"{e}.{u.name}" for e in model.entities for u in e.unique]
    if unique:
        yield f"{table.name}: {format} has no unique texts; left out: {', '.join(unique)}"
    copies = [f"{entity}.{name}" for entity in model.entities for name in entity.copies]
    if copies:
        yield f"{table.name}: {format} has no copies; left out: {', '.join(copies)}"
