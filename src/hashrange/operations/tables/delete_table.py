"""DeleteTable: returns at once for a table of any size. The rows are deleted in the background."""

from msgspec.structs import replace

from hashrange.engine import backups, fetch
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceInUseException, ValidationException
from hashrange.model.tables import Throughput
from hashrange.operations.common.parse import decode
from hashrange.operations.tables import kinesis, stream_settings
from hashrange.operations.tables.table_description import described
from hashrange.operations.tables.update.index_updates import IN_USE

GONE = (
    "AttributeDefinitions",
    "CreationDateTime",
    "GlobalSecondaryIndexes",
    "KeySchema",
    "LocalSecondaryIndexes",
    "VectorIndexes",
    "WarmThroughput",
)
"""Members that the description of a deleted table lacks, as observed on the service."""


def parse(body: bytes) -> requests.DeleteTable:
    return decode(body, requests.DeleteTable)


def decide(request: requests.DeleteTable, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request.table_name)
    if moment.now < table.active_at:
        raise ResourceInUseException(f"{IN_USE}Table is being created: {table.name}")
    if any(index.building for index in table.declared_indexes):
        raise ResourceInUseException(
            f"{IN_USE}Cannot delete table while indexes are being created, updated, or deleted."
        )
    if table.deletion_protection:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    # The description does not show when and how often the throughput was changed either.
    throughput = Throughput(table.throughput.read, table.throughput.write)
    description = yield from described(replace(table, throughput=throughput), moment)
    shown = {name: value for name, value in description.items() if name not in GONE}
    response = {"TableDescription": {**shown, "TableStatus": "DELETING"}}
    _, streams = stream_settings.disabled(table, moment)
    ended = kinesis.of_deleted_table(table, moment)
    deleted = yield from backups.of_deleted_table(table, moment)
    return Decision([*deleted, *streams, *ended], response)
