"""Operations of features that this server does not have.

Infrastructure tools ask for the replicas of every table. Describe and List operations answer
truthfully that there are none. Operations that would start work are refused. If a request has a
fault that the service would report, such as a missing table, that fault is reported instead.
"""

from collections.abc import Callable
from functools import partial

from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.model.validation import validate
from hashrange.operations import resources
from hashrange.operations.operation import Json, Operation
from hashrange.operations.unsupported import (
    absent,
    global_tables,
)


def _all() -> dict[str, Callable[[Json, Moment], Decide]]:
    return {
        **{name: partial(absent.listed, name) for name in absent.LISTS},
        **{name: partial(absent.not_found, name) for name in absent.NOT_FOUND},
        "CreateGlobalTable": global_tables.create,
        "UpdateGlobalTable": global_tables.update,
    }


RESOURCES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(absent.LISTS, ()),
    **{name: (member,) for name, (_, _, member) in absent.NOT_FOUND.items()},
    "CreateGlobalTable": ("GlobalTableName",),
    "UpdateGlobalTable": ("GlobalTableName",),
}
"""For each operation, the members of a request that name its resources. For an operation that is
not listed, the member is TableName."""


def _operation(name: str, decide: Callable[[Json, Moment], Decide]) -> Operation:
    members = RESOURCES.get(name, ("TableName",))
    return Operation(
        name,
        partial(validate, name),
        decide,
        resources=resources.of_members(name, *members),
    )


OPERATIONS = {name: _operation(name, decide) for name, decide in _all().items()}
