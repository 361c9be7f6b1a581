"""Users, organisations, chats and servers with boto3: many kinds of items in one table.

A user has one item per way to log in, each found by its own key in the index GS1: another way
takes no other index. Ids are attributes of their own, so that nobody takes a key apart. Index
keys are made for each kind of item (`gs1pk`, `gs1sk`) where it needs them, rather than turning
the whole table around. A membership carries the user's name, as a user is in a few servers, and
not the server's name, as a server has many users.
"""

from typing import Any

from boto3.dynamodb.conditions import Key
from showing import Client, Item, Pattern, get_all, items, key_schema, main, put_all, strings

TABLE = "chat"
METADATA = "#METADATA"


def create(client: Client) -> None:
    client.create_table(
        TableName=TABLE,
        KeySchema=key_schema("pk", "sk"),
        AttributeDefinitions=strings("pk", "sk", "gs1pk", "gs1sk"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "GS1",
                "KeySchema": key_schema("gs1pk", "gs1sk"),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


# ---- items ----


def user(user_id: str, username: str, email: str) -> list[Item]:
    """Who it is, and one item per way to log in."""
    pk = f"USER#{user_id}"
    logins = (f"EMAIL#{email}", f"USERNAME#{username}")
    metadata = {"pk": pk, "sk": METADATA, "userId": user_id, "username": username, "email": email}
    return [
        metadata,
        *(
            {"pk": pk, "sk": login, "userId": user_id, "gs1pk": login, "gs1sk": pk}
            for login in logins
        ),
    ]


def organisation(org_id: str, name: str) -> Item:
    return {"pk": f"ORG#{org_id}", "sk": METADATA, "orgId": org_id, "name": name}


def org_membership(user_id: str, org_id: str, role: str) -> Item:
    keys = {"pk": f"USER#{user_id}", "sk": f"ORG#{org_id}"}
    return {**keys, "userId": user_id, "orgId": org_id, "role": role}


def message(chat_id: int, timestamp: str, msg_id: int, text: str) -> Item:
    keys = {"pk": f"CHAT#{chat_id}", "sk": f"MSG#{timestamp}#{msg_id}"}
    return {**keys, "chatId": chat_id, "msgId": msg_id, "timestamp": timestamp, "text": text}


def server(server_id: str, name: str) -> Item:
    return {"pk": f"SERVER#{server_id}", "sk": METADATA, "serverId": server_id, "name": name}


def membership(server_id: str, user_id: str, username: str, role: str = "Member") -> Item:
    """Under the server; by GS1 under the user."""
    server_key, user_key = f"SERVER#{server_id}", f"USER#{user_id}"
    return {
        "pk": server_key,
        "sk": user_key,
        "gs1pk": user_key,
        "gs1sk": server_key,
        "serverId": server_id,
        "userId": user_id,
        "username": username,
        "role": role,
    }


def load(client: Client) -> None:
    new = [
        *user("1", "Mike", "user1@example.com"),
        *user("2", "John", "john@example.com"),
        organisation("1", "Mike Inc."),
        org_membership("1", "1", "Admin"),
        message(1, "2024-10-14T01:01:01.0Z", 10, "first"),
        message(1, "2024-10-14T01:01:01.0Z", 20, "at the same moment"),
        message(1, "2024-10-14T01:01:02.0Z", 3, "a second later"),
        server("1", "Gaming"),
        server("2", "Cooking"),
        membership("1", "1", "Mike", "Owner"),
        membership("1", "2", "John"),
        membership("2", "2", "John", "Owner"),
    ]
    for _ in put_all(client, TABLE, new):
        pass


# ---- access patterns ----


def by_email(client: Client, email: str) -> list[Item]:
    return _gs1(client, f"EMAIL#{email}")


def by_username(client: Client, username: str) -> list[Item]:
    return _gs1(client, f"USERNAME#{username}")


def organisations(client: Client, user_id: str) -> list[Item]:
    return _query(client, Key("pk").eq(f"USER#{user_id}") & Key("sk").begins_with("ORG#"))


def messages(client: Client, chat_id: int, first: str, last: str) -> list[Item]:
    """Of a time, the oldest first; of one moment by the text of their id."""
    between = Key("sk").between(f"MSG#{first}", f"MSG#{last}~")
    return _query(client, Key("pk").eq(f"CHAT#{chat_id}") & between)


def latest_messages(client: Client, chat_id: int, count: int) -> list[Item]:
    """The newest first."""
    condition = Key("pk").eq(f"CHAT#{chat_id}") & Key("sk").begins_with("MSG#")
    page = client.query(
        TableName=TABLE, KeyConditionExpression=condition, ScanIndexForward=False, Limit=count
    )
    found: list[Item] = page["Items"]
    return found


def members(client: Client, server_id: str) -> list[Item]:
    """With their names, in one query, however many they are."""
    return _query(client, Key("pk").eq(f"SERVER#{server_id}") & Key("sk").begins_with("USER#"))


def servers(client: Client, user_id: str) -> list[Item]:
    """With their names: a query for the memberships, then one batch for the few servers."""
    keys = [{"pk": found["pk"], "sk": METADATA} for found in _memberships(client, user_id)]
    return get_all(client, TABLE, keys)


def rename_server(client: Client, server_id: str, name: str) -> int:
    """The number of items that it changes: one, as no membership repeats the name."""
    client.update_item(
        TableName=TABLE,
        Key={"pk": f"SERVER#{server_id}", "sk": METADATA},
        UpdateExpression="SET #name = :name",
        ExpressionAttributeNames={"#name": "name"},
        ExpressionAttributeValues={":name": name},
    )
    return 1


def rename_user(client: Client, user_id: str, username: str) -> int:
    """The number of items that it changes, all at once: the user and each membership.

    The old user name remains a way to log in until somebody takes that item away.
    """
    keys = [{"pk": f"USER#{user_id}", "sk": METADATA}]
    keys += [{"pk": found["pk"], "sk": found["sk"]} for found in _memberships(client, user_id)]
    change = {
        "TableName": TABLE,
        "UpdateExpression": "SET username = :username",
        "ExpressionAttributeValues": {":username": username},
    }
    client.transact_write_items(TransactItems=[{"Update": {**change, "Key": key}} for key in keys])
    return len(keys)


def _memberships(client: Client, user_id: str) -> list[Item]:
    return _gs1(client, f"USER#{user_id}", Key("gs1sk").begins_with("SERVER#"))


def _gs1(client: Client, gs1pk: str, sort_key: Any = None) -> list[Item]:
    condition = Key("gs1pk").eq(gs1pk)
    return _query(client, condition & sort_key if sort_key else condition, IndexName="GS1")


def _query(client: Client, condition: Any, **more: Any) -> list[Item]:
    return items(client.query, TableName=TABLE, KeyConditionExpression=condition, **more)


PATTERNS = [
    Pattern(
        "Log in with an email",
        *("GSI 1", "Query", "gs1pk = `EMAIL#user1@example.com`", "", ""),
        run=lambda client: by_email(client, "user1@example.com"),
    ),
    Pattern(
        "Log in with a user name",
        *("GSI 1", "Query", "gs1pk = `USERNAME#Mike`", "", ""),
        run=lambda client: by_username(client, "Mike"),
    ),
    Pattern(
        "Get a user's organisations",
        *("Base table", "Query", "pk = `USER#1`", "sk begins_with `ORG#`", ""),
        run=lambda client: organisations(client, "1"),
    ),
    Pattern(
        "Get a chat's messages of a time",
        *("Base table", "Query", "pk = `CHAT#1`", "sk BETWEEN `MSG#…01.0Z` AND `MSG#…01.0Z~`", ""),
        run=lambda client: messages(client, 1, *["2024-10-14T01:01:01.0Z"] * 2),
    ),
    Pattern(
        "Get a chat's latest messages",
        *("Base table", "Query", "pk = `CHAT#1`", "sk begins_with `MSG#`"),
        "Limit = 2, ScanIndexForward = false",
        run=lambda client: latest_messages(client, 1, 2),
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
        run=lambda client: servers(client, "2"),
    ),
]


def prepare(client: Client) -> None:
    create(client)
    load(client)


if __name__ == "__main__":
    main("Logins, chats and servers", prepare, PATTERNS)
