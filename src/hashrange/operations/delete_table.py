"""DeleteTable: the answer is instant at any size, the rows go in the background."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceInUseException, ValidationException
from hashrange.operations import stream_settings
from hashrange.operations.parse import decode
from hashrange.operations.table_description import describe


def parse(body: bytes) -> requests.DeleteTable:
    return decode(body, requests.DeleteTable)


def decide(given: requests.DeleteTable, moment: Moment) -> Decide:
    table = yield from fetch.described_table(given.table_name)
    if table.status(moment.now) == "CREATING":
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being created: "
            f"{table.name}"
        )
    if any(index.building for index in table.indexes):
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: Table is being updated: "
            f"{table.name}"
        )
    if table.deletion_protection:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    statistics = yield from fetch.statistics([table, *table.indexes])
    description = describe(table, "DELETING", statistics)
    _, streams = stream_settings.disabled(table, moment)
    response = {"TableDescription": description}
    return Decision([TableChange(table, None), *streams], lambda _: response)
