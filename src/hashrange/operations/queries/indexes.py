"""Which reads an index can serve: the checks that Query, Scan and SELECT share."""

from collections.abc import Iterable

from hashrange.engine.keys import invalid_parameter
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Index, Table, View


def is_partial(view: View) -> bool:
    """Whether this is an index that does not hold all attributes of its items."""
    return isinstance(view, Index) and view.projection != "ALL"


def unprojected(table: Table, view: View, names: Iterable[str]) -> list[str]:
    """Those of the names that an index does not hold, in the same order."""
    if not isinstance(view, Index) or view.projection == "ALL":
        return []
    held = {*table.key, *view.key, *view.include}
    return [name for name in names if name not in held]


def check_built(index: Index) -> None:
    """Raises ValidationException if the index is still being built."""
    if index.building:
        raise ValidationException(
            f"Cannot read from backfilling global secondary index: {index.name}"
        )


def check_projected(table: Table, view: View, names: Iterable[str]) -> None:
    """Raises ValidationException if a global index lacks attributes that are asked for.

    A local index fetches them from the table.
    """
    if isinstance(view, Index) and not view.local:
        missing = unprojected(table, view, names)
        if missing:
            raise invalid_parameter(
                f"Global secondary index {view.name} does not project [{', '.join(missing)}]"
            )


def check_filter_projected(table: Table, view: View, names: Iterable[str]) -> None:
    """Raises ValidationException if a filter needs attributes that the index does not hold.

    This goes for local indexes as well, even if they fetch items (ScyllaDB's tests on AWS). To a
    Scan, such attributes are just not there.
    """
    missing = unprojected(table, view, names)
    if missing:
        assert isinstance(view, Index)
        raise invalid_parameter(
            f"Secondary index {view.name} does not project one or more filter "
            f"attributes: [{', '.join(missing)}]"
        )
