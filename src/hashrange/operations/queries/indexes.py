"""Checks whether an index can serve a read. Query, Scan and SELECT share these checks."""

from collections.abc import Iterable

from hashrange.engine.keys import invalid_parameter
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Index, Table, TableOrIndex


def is_partial(source: TableOrIndex) -> bool:
    """Whether the source is an index that does not hold all attributes of its items."""
    return isinstance(source, Index) and source.projection != "ALL"


def unprojected(table: Table, source: TableOrIndex, names: Iterable[str]) -> list[str]:
    """The names of the attributes that an index does not hold, in the order of `names`. A table
    holds all attributes."""
    if not isinstance(source, Index) or source.projection == "ALL":
        return []
    held = {*table.key, *source.key, *source.include}
    return [name for name in names if name not in held]


def not_built(index: Index) -> ValidationException:
    """The error of a read of an index that is still being built."""
    return ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")


def check_projected(table: Table, source: TableOrIndex, names: Iterable[str]) -> None:
    """Raises ValidationException if a global index lacks attributes that are asked for.

    If a local index lacks attributes, they are fetched from the table.
    """
    if isinstance(source, Index) and not source.local:
        missing = unprojected(table, source, names)
        if missing:
            raise invalid_parameter(
                f"Global secondary index {source.name} does not project [{', '.join(missing)}]"
            )


def check_filter_projected(table: Table, source: TableOrIndex, names: Iterable[str]) -> None:
    """Raises ValidationException if a filter needs attributes that the index does not hold.

    A local index is refused too, even if its items are fetched from the table (ScyllaDB's tests on
    AWS). A Scan is not checked: its filter treats such attributes as absent.
    """
    missing = unprojected(table, source, names)
    if missing:
        assert isinstance(source, Index)
        raise invalid_parameter(
            f"Secondary index {source.name} does not project one or more filter "
            f"attributes: [{', '.join(missing)}]"
        )
