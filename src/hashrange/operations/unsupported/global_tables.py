"""Global tables of version 2017, which the service no longer has."""

from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.model.errors import GlobalTableNotFoundException, ValidationException
from hashrange.operations.operation import Json
from hashrange.operations.unsupported.absent import NOT_GLOBAL


def update(request: Json, moment: Moment) -> Decide:
    """Refuse the request. No replica can be added, and none can be removed, because there is no
    global table of this version."""
    if not all(request["ReplicaUpdates"]) or not request["ReplicaUpdates"]:
        raise ValidationException("One or more parameter values were invalid")
    if any("Create" in update for update in request["ReplicaUpdates"]):
        yield from create(request, moment)
    raise GlobalTableNotFoundException(NOT_GLOBAL.format(request["GlobalTableName"]))


def create(request: Json, moment: Moment) -> Decide:
    """Refuse the request, because the service has retired this version of global tables."""
    yield from ()
    raise invalid_parameter(
        "DynamoDB global tables version 2017.11.29 is not supported. We recommend using DynamoDB "
        "global tables version 2019.11.21, instead of version 2017.11.29 (Legacy)."
    )
