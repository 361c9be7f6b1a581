"""Organisations and their projects with boto3: a local index by date, a global one by owner.

Projects are read by organisation, so `organisation_id` is the partition key of `projects`. The
local index has the same partition key, and sorts by `last_updated`; the partition key of the global
index is `owner`.

organisations.py declares the same tables.
"""

from datetime import date, timedelta
from typing import Any

from boto3.dynamodb.conditions import Key
from showing import Client, Item, Pattern, get_all, items, key_schema, main, strings

TODAY = date(2018, 8, 8)

ORGANISATIONS: list[Item] = [
    {"id": "abc123", "name": "Foo Inc."},
    {"id": "def456", "name": "Bar Ltd."},
]
PROJECTS: list[Item] = [
    {"organisation_id": organisation, "name": name, "owner": owner, "last_updated": updated}
    for organisation, name, owner, updated in [
        ("abc123", "Foo Project", "jane", "2018-08-02"),
        ("abc123", "Other Foo Project", "john", "2018-03-02"),
        ("def456", "Bar Project", "jane", "2018-03-12"),
        ("def456", "Other Bar Project", "sarah", "2017-12-06"),
    ]
]


def create(client: Client) -> None:
    """Create both tables. The indexes hold only keys, the least that an index can hold."""
    keys_only = {"ProjectionType": "KEYS_ONLY"}
    client.create_table(
        TableName="organisations",
        KeySchema=key_schema("id"),
        AttributeDefinitions=strings("id"),
        BillingMode="PAY_PER_REQUEST",
    )
    client.create_table(
        TableName="projects",
        KeySchema=key_schema("organisation_id", "name"),
        AttributeDefinitions=strings("organisation_id", "name", "last_updated", "owner"),
        LocalSecondaryIndexes=[
            {
                "IndexName": "by_last_updated",
                "KeySchema": key_schema("organisation_id", "last_updated"),
                "Projection": keys_only,
            }
        ],
        GlobalSecondaryIndexes=[
            {"IndexName": "by_owner", "KeySchema": key_schema("owner"), "Projection": keys_only}
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def load(client: Client) -> None:
    for table, new in (("organisations", ORGANISATIONS), ("projects", PROJECTS)):
        for item in new:
            client.put_item(TableName=table, Item=item)


# ---- access patterns ----


def organisation(client: Client, organisation_id: str) -> Item | None:
    key = {"id": organisation_id}
    item: Item | None = client.get_item(TableName="organisations", Key=key).get("Item")
    return item


def projects(client: Client, organisation_id: str) -> list[Item]:
    return _query(client, Key("organisation_id").eq(organisation_id))


def project(client: Client, organisation_id: str, name: str) -> Item | None:
    key = {"organisation_id": organisation_id, "name": name}
    item: Item | None = client.get_item(TableName="projects", Key=key).get("Item")
    return item


def updated_since(client: Client, organisation_id: str, since: date) -> list[Item]:
    """Projects updated since a day, the oldest first.

    A local index fetches attributes that it does not hold, at extra cost.
    """
    return _query(
        client,
        Key("organisation_id").eq(organisation_id) & Key("last_updated").gte(f"{since}"),
        IndexName="by_last_updated",
        Select="ALL_ATTRIBUTES",
    )


def owned_by(client: Client, owner: str) -> list[Item]:
    """An owner's projects, with the indexed attributes: `owner`, `organisation_id` and `name`."""
    return _query(client, Key("owner").eq(owner), IndexName="by_owner")


def owned_by_in_full(client: Client, owner: str) -> list[Item]:
    """An owner's projects: a global index fetches nothing, so whole items need a second request."""
    index_keys = owned_by(client, owner)
    keys = [{name: key[name] for name in ("organisation_id", "name")} for key in index_keys]
    return get_all(client, "projects", keys)


def _query(client: Client, condition: Any, **more: Any) -> list[Item]:
    return items(client.query, TableName="projects", KeyConditionExpression=condition, **more)


PATTERNS = [
    Pattern(
        "Get a single organisation",
        *("Base table", "GetItem", "id = `abc123`", "", ""),
        run=lambda client: [organisation(client, "abc123")],
    ),
    Pattern(
        "Get all projects of an organisation",
        *("Base table", "Query", "organisation_id = `abc123`", "", ""),
        run=lambda client: projects(client, "abc123"),
    ),
    Pattern(
        "Get its projects updated in the last seven days",
        *("LSI", "Query", "organisation_id = `abc123`", "last_updated >= `2018-08-01`", ""),
        run=lambda client: updated_since(client, "abc123", TODAY - timedelta(days=7)),
    ),
    Pattern(
        "Get all projects owned by a user",
        *("GSI", "Query", "owner = `jane`", "", ""),
        run=lambda client: owned_by(client, "jane"),
    ),
    Pattern(
        "Get them with all attributes",
        *("GSI, then\nbase table", "Query,\nBatchGetItem", "owner = `jane`", "", ""),
        run=lambda client: owned_by_in_full(client, "jane"),
    ),
]


def prepare(client: Client) -> None:
    create(client)
    load(client)


if __name__ == "__main__":
    main("Organisations and projects", prepare, PATTERNS)
