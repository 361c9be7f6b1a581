"""Checks whether an index can serve a read, shared by Query, Scan and SELECT."""

from collections.abc import Iterable

from hashrange.engine.keys import invalid_parameter
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Index, Table, TableOrIndex


def is_partial(source: TableOrIndex) -> bool:
    """Whether the source is an index that does not hold all attributes of its items."""
    return isinstance(source, Index) and source.projection != "ALL"


def unprojected(table: Table, source: TableOrIndex, names: Iterable[str]) -> list[str]:
    """Those of the `names` whose attributes an index does not hold, in the same order."""
    if not isinstance(source, Index) or source.projection == "ALL":
        return []
    held = {*table.key, *source.key, *source.include}
    return [name for name in names if name not in held]


def not_built(index: Index) -> ValidationException:
    """The error of a read of an index that is still being built."""
    return ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")


def check_projected(table: Table, source: TableOrIndex, names: Iterable[str]) -> None:
    """Raises ValidationException if a global index lacks attributes that are asked for.

    A local index fetches them from the table.
    """
    if isinstance(source, Index) and not source.local:
        missing = unprojected(table, source, names)
        if missing:
            raise invalid_parameter(
                f"Global secondary index {source.name} does not project [{', '.join(missing)}]"
            )


def check_filter_projected(table: Table, source: TableOrIndex, names: Iterable[str]) -> None:
    """Raises ValidationException if a filter needs attributes that the index does not hold.

    This holds for local indexes as well, even if they fetch items (ScyllaDB's tests on AWS). For
    a Scan, such attributes are simply absent.
    """
    missing = unprojected(table, source, names)
    if missing:
        assert isinstance(source, Index)
        raise invalid_parameter(
            f"Secondary index {source.name} does not project one or more filter "
            f"attributes: [{', '.join(missing)}]"
        )
