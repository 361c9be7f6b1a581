"""Create the tables that a file declares and a database lacks."""

from collections.abc import Iterator

from hashrange.clients.connection import JsonConnection, Refused
from hashrange.declared import tables
from hashrange.declared.tables import Description


def create_missing(
    connection: JsonConnection, place: str, declared: dict[str, Description]
) -> Iterator[str]:
    """Create each missing table. Raises Refused if the database refuses a table.

    Yields a line for each table, and for each setting that the database refuses.
    """
    for name, description in declared.items():
        try:
            there = tables.find(connection, name)
            if there is None:
                tables.create(connection, place, description, name)
        except Refused as refusal:
            raise Refused(refusal.code, f"{name}: {refusal.reason}") from None
        if there is not None:
            yield _compared(name, tables.creation(there), description)
        else:
            yield f"created {name}"
            yield from _settings(connection, name, description)


def _settings(connection: JsonConnection, name: str, description: Description) -> Iterator[str]:
    for operation, members in (description.settings or {}).items():
        resource = {"TableName": name}
        if operation == "PutResourcePolicy":
            table = tables.find(connection, name) or {}
            resource = {"ResourceArn": table["TableArn"]}
        try:
            tables.execute(connection, operation, resource | members)
        except Refused as refusal:
            yield f"{name}: {operation} was refused: {refusal.reason}"


def _compared(name: str, there: tables.Json, description: Description) -> str:
    """A line saying that the table exists, and whether its keys or indexes differ."""
    different = [
        part for part, shape in _shapes(description.table) if (part, shape) not in _shapes(there)
    ]
    if different:
        return f"{name} exists already, with other {' and '.join(different)}; it was not changed"
    return f"{name} exists already"


def _shapes(table: tables.Json) -> list[tuple[str, object]]:
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}

    def keys(schema: list[tables.Json]) -> list[tuple[str, str, str | None]]:
        return [(k["AttributeName"], k["KeyType"], types.get(k["AttributeName"])) for k in schema]

    kinds = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    indexes = [index for kind in kinds for index in table.get(kind) or ()]
    return [
        ("keys", keys(table["KeySchema"])),
        ("indexes", sorted((each["IndexName"], keys(each["KeySchema"])) for each in indexes)),
    ]
