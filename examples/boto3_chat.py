"""Users, organisations, chats and servers with boto3: many kinds of items in one table.

A user has an item for each way to log in, whose key in the index gs1 is the login: a new way to
log in needs no new index. Ids are stored as attributes too, so that no program has to parse a key.
Each kind of item has the keys of the index (`gs1pk`, `gs1sk`) that it needs, instead of an index
that swaps the table's keys for all items. A membership has a copy of the user's name, because a
user is in few servers, but no copy of the server's name, because a server has many users.

chat.py declares the same table.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from boto3.dynamodb.conditions import Key
from showing import (
    Client,
    Item,
    Pattern,
    get_all,
    items,
    key_schema,
    main,
    pages,
    put_all,
    strings,
)

TABLE = "chat"
METADATA = "#METADATA"
MOMENT = datetime(2024, 10, 14, 1, 1, 1, tzinfo=UTC)


def create(client: Client) -> None:
    client.create_table(
        TableName=TABLE,
        KeySchema=key_schema("pk", "sk"),
        AttributeDefinitions=strings("pk", "sk", "gs1pk", "gs1sk"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "gs1",
                "KeySchema": key_schema("gs1pk", "gs1sk"),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


# ---- items ----


def new_user(user_id: str, username: str, email: str) -> list[Item]:
    """The user's own item, and one item for each way to log in."""
    key = {"pk": f"USER#{user_id}", "sk": METADATA}
    return [
        {"entityType": "User", **key, "user_id": user_id, "username": username},
        new_login(user_id, "EMAIL", email),
        new_login(user_id, "USERNAME", username),
    ]


def new_login(user_id: str, method: str, handle: str) -> Item:
    return {
        "entityType": "Login",
        "pk": f"USER#{user_id}",
        "sk": f"{method}#{handle}",
        "gs1pk": f"{method}#{handle}",
        "gs1sk": f"USER#{user_id}",
        "user_id": user_id,
        "method": method,
        "handle": handle,
        "confirmed": False,
    }


def new_organisation(org_id: str, name: str) -> Item:
    key = {"pk": f"ORG#{org_id}", "sk": METADATA}
    return {"entityType": "Organisation", **key, "org_id": org_id, "name": name}


def new_position(user_id: str, org_id: str, role: str) -> Item:
    """A user's role in an organisation."""
    key = {"pk": f"USER#{user_id}", "sk": f"ORG#{org_id}"}
    return {"entityType": "Position", **key, "user_id": user_id, "org_id": org_id, "role": role}


def new_message(chat_id: str, at: datetime, message_id: str, text: str) -> Item:
    key = {"pk": f"CHAT#{chat_id}", "sk": f"MSG#{time_text(at)}#{message_id}"}
    fields = {"chat_id": chat_id, "message_id": message_id, "at": time_text(at), "text": text}
    return {"entityType": "Message", **key, **fields}


def time_text(at: datetime) -> str:
    """The time in UTC, with a fixed width: otherwise `01.0Z` would sort after `01.05Z`."""
    return f"{at:%Y-%m-%dT%H:%M:%S.%fZ}"


def new_server(server_id: str, name: str) -> Item:
    key = {"pk": f"SERVER#{server_id}", "sk": METADATA}
    return {"entityType": "Server", **key, "server_id": server_id, "name": name}


def new_membership(server_id: str, user_id: str, username: str, role: str = "Member") -> Item:
    """A membership: in the server's partition of the table, and the user's partition of gs1."""
    server_key, user_key = f"SERVER#{server_id}", f"USER#{user_id}"
    return {
        "entityType": "Membership",
        "pk": server_key,
        "sk": user_key,
        "gs1pk": user_key,
        "gs1sk": server_key,
        "server_id": server_id,
        "user_id": user_id,
        "username": username,
        "role": role,
    }


def everything() -> list[Item]:
    return [
        *new_user("1", "Mike", "user1@example.com"),
        *new_user("2", "John", "john@example.com"),
        new_organisation("1", "Mike Inc."),
        new_position("1", "1", "Admin"),
        new_message("1", MOMENT, "10", "first"),
        new_message("1", MOMENT, "20", "at the same moment"),
        new_message("1", MOMENT + timedelta(seconds=1), "3", "a second later"),
        new_server("1", "Gaming"),
        new_server("2", "Cooking"),
        new_membership("1", "1", "Mike", "Admin"),
        new_membership("1", "2", "John"),
        new_membership("2", "2", "John", "Admin"),
    ]


def load(client: Client) -> None:
    for _ in put_all(client, TABLE, everything()):
        pass


# ---- access patterns ----


def user(client: Client, user_id: str) -> Item | None:
    return _get(client, {"pk": f"USER#{user_id}", "sk": METADATA})


def login(client: Client, method: str, handle: str) -> Item | None:
    """The first login with this handle; nothing here prevents two users from having the same."""
    return next(iter(_gs1(client, f"{method}#{handle}")), None)


def account(client: Client, user_id: str) -> list[Item]:
    """The user, the user's logins and organisations: everything in the user's partition."""
    return _query(client, Key("pk").eq(f"USER#{user_id}"))


def organisation(client: Client, org_id: str) -> Item | None:
    return _get(client, {"pk": f"ORG#{org_id}", "sk": METADATA})


def organisations(client: Client, user_id: str) -> list[Item]:
    return _query(client, Key("pk").eq(f"USER#{user_id}") & Key("sk").begins_with("ORG#"))


def messages(client: Client, chat_id: str) -> list[Item]:
    """The messages of a chat, the newest first."""
    of_chat = Key("pk").eq(f"CHAT#{chat_id}") & Key("sk").begins_with("MSG#")
    return _query(client, of_chat, ScanIndexForward=False)


def messages_since(client: Client, chat_id: str, at: datetime) -> list[Item]:
    """Messages since a time, the oldest first; those of the same time are ordered by their ids."""
    between = Key("sk").between(f"MSG#{time_text(at)}", "MSG#~")
    return _query(client, Key("pk").eq(f"CHAT#{chat_id}") & between)


def server(client: Client, server_id: str) -> Item | None:
    return _get(client, {"pk": f"SERVER#{server_id}", "sk": METADATA})


def membership(client: Client, server_id: str, user_id: str) -> Item | None:
    return _get(client, {"pk": f"SERVER#{server_id}", "sk": f"USER#{user_id}"})


def members(client: Client, server_id: str) -> list[Item]:
    """The members of a server with their names: one query, however many members there are."""
    return _query(client, _members_of(server_id))


def member_count(client: Client, server_id: str) -> int:
    counted = pages(
        client.query,
        TableName=TABLE,
        KeyConditionExpression=_members_of(server_id),
        Select="COUNT",
    )
    return sum(page["Count"] for page in counted)


def servers_of(client: Client, user_id: str) -> list[Item]:
    """The user's memberships."""
    return _gs1(client, f"USER#{user_id}", Key("gs1sk").begins_with("SERVER#"))


def server_list(client: Client, user_id: str) -> list[Item]:
    """A user's servers with their names: a query for the memberships, then a batch of gets."""
    keys = [{"pk": item["pk"], "sk": METADATA} for item in servers_of(client, user_id)]
    return get_all(client, TABLE, keys)


def rename_server(client: Client, server_id: str, name: str) -> int:
    """Rename a server. Returns the number of changed items: one, because there are no copies."""
    client.update_item(
        TableName=TABLE,
        Key={"pk": f"SERVER#{server_id}", "sk": METADATA},
        UpdateExpression="SET #name = :name",
        ExpressionAttributeNames={"#name": "name"},
        ExpressionAttributeValues={":name": name},
    )
    return 1


def rename_user(client: Client, user_id: str, username: str) -> int:
    """Rename a user, and all copies of the name in memberships, in one transaction.

    Returns the number of changed items. The old name is still a way to log in until its login item
    is deleted.
    """
    keys = [{"pk": f"USER#{user_id}", "sk": METADATA}]
    keys += [{"pk": item["pk"], "sk": item["sk"]} for item in servers_of(client, user_id)]
    change = {
        "TableName": TABLE,
        "UpdateExpression": "SET username = :username",
        "ExpressionAttributeValues": {":username": username},
    }
    client.transact_write_items(TransactItems=[{"Update": {**change, "Key": key}} for key in keys])
    return len(keys)


def _members_of(server_id: str) -> Any:
    return Key("pk").eq(f"SERVER#{server_id}") & Key("sk").begins_with("USER#")


def _get(client: Client, key: Item) -> Item | None:
    item: Item | None = client.get_item(TableName=TABLE, Key=key).get("Item")
    return item


def _gs1(client: Client, gs1pk: str, sort_key: Any = None) -> list[Item]:
    condition = Key("gs1pk").eq(gs1pk)
    return _query(client, condition & sort_key if sort_key else condition, IndexName="gs1")


def _query(client: Client, condition: Any, **more: Any) -> list[Item]:
    return items(client.query, TableName=TABLE, KeyConditionExpression=condition, **more)


PATTERNS = [
    Pattern(
        "Log in with an email",
        *("GSI 1", "Query", "gs1pk = `EMAIL#user1@example.com`", "", ""),
        run=lambda client: [login(client, "EMAIL", "user1@example.com")],
    ),
    Pattern(
        "Log in with a user name",
        *("GSI 1", "Query", "gs1pk = `USERNAME#Mike`", "", ""),
        run=lambda client: [login(client, "USERNAME", "Mike")],
    ),
    Pattern(
        "Get a user's organisations",
        *("Base table", "Query", "pk = `USER#1`", "sk begins_with `ORG#`", ""),
        run=lambda client: organisations(client, "1"),
    ),
    Pattern(
        "Get a chat's messages, the newest first",
        *("Base table", "Query", "pk = `CHAT#1`", "sk begins_with `MSG#`"),
        "ScanIndexForward = false",
        run=lambda client: messages(client, "1"),
    ),
    Pattern(
        "Get a chat's messages since a moment",
        *("Base table", "Query", "pk = `CHAT#1`", "sk BETWEEN `MSG#…01:02…` AND `MSG#~`", ""),
        run=lambda client: messages_since(client, "1", MOMENT + timedelta(seconds=1)),
    ),
    Pattern(
        "Get a server's members",
        *("Base table", "Query", "pk = `SERVER#1`", "sk begins_with `USER#`", ""),
        run=lambda client: members(client, "1"),
    ),
    Pattern(
        "Get a user's servers",
        *("GSI 1, then\nbase table", "Query,\nBatchGetItem", "gs1pk = `USER#2`"),
        *("gs1sk begins_with `SERVER#`", ""),
        run=lambda client: server_list(client, "2"),
    ),
]


def prepare(client: Client) -> None:
    create(client)
    load(client)


if __name__ == "__main__":
    main("Logins, chats and servers", prepare, PATTERNS)
