"""boto3, over HTTP: the client that most users have."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary

TABLE: dict[str, Any] = {
    "TableName": "smoke",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "kind", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_kind",
            "KeySchema": [
                {"AttributeName": "kind", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


@pytest.fixture
def session(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> boto3.Session:
    """A session that finds its server in the environment."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return boto3.Session()


@pytest.fixture
def client(session: boto3.Session) -> Any:
    return session.client("dynamodb")


@pytest.fixture
def table(session: boto3.Session) -> Iterator[Any]:
    table = session.resource("dynamodb").create_table(**TABLE)
    table.wait_until_exists()
    yield table
    table.delete()
    table.wait_until_not_exists()


def changes(streams: Any, arn: str) -> list[tuple[str, int, int | None, int | None]]:
    """For each record in a stream: the event name, the item, and `weight` before and after."""
    found = []
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        found += streams.get_records(ShardIterator=iterator)["Records"]
    return [
        (
            record["eventName"],
            int(record["dynamodb"]["Keys"]["sk"]["N"]),
            weight(record["dynamodb"].get("OldImage")),
            weight(record["dynamodb"].get("NewImage")),
        )
        for record in found
    ]


def weight(image: dict[str, Any] | None) -> int | None:
    return int(image["weight"]["N"]) if image else None


def test_tables(table: Any, client: Any) -> None:
    description = client.describe_table(TableName="smoke")["Table"]
    assert description["TableStatus"] == "ACTIVE"
    assert [index["IndexName"] for index in description["GlobalSecondaryIndexes"]] == ["by_kind"]
    pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
    assert [name for page in pages for name in page["TableNames"]] == ["smoke"]
    with pytest.raises(client.exceptions.ResourceInUseException):
        client.create_table(**TABLE)
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName="another")

    client.update_time_to_live(
        TableName="smoke", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ends"}
    )
    expiry = client.describe_time_to_live(TableName="smoke")["TimeToLiveDescription"]
    assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ends"}


def test_every_type_comes_back(table: Any) -> None:
    item = {
        "pk": "types",
        "sk": Decimal(1),
        "empty": "",
        "long": Decimal("12345678901234567890123456789012345678"),
        "tiny": Decimal("-1E-130"),
        "bytes": Binary(b"\x00\xff"),
        "nothing": Binary(b""),
        "yes": True,
        "none": None,
        "map": {"list": [Decimal(1), {"deep": []}], "\n": "a short name"},
        "strings": {"a", "ü"},
        "numbers": {Decimal(1), Decimal("2.5")},
        "blobs": {Binary(b"\x00"), Binary(b"b")},
    }
    table.put_item(Item=item)
    assert table.get_item(Key={"pk": "types", "sk": 1}, ConsistentRead=True)["Item"] == item
    assert "Item" not in table.get_item(Key={"pk": "types", "sk": 2})


def test_updates_are_in_the_stream(table: Any, client: Any, session: boto3.Session) -> None:
    key = {"pk": "a", "sk": 1}
    table.put_item(Item={**key, "weight": 1, "log": ["made"], "tags": {"x"}})
    updated = table.update_item(
        Key=key,
        UpdateExpression="SET #l = list_append(#l, :more), weight = weight + :one ADD tags :y",
        ConditionExpression=Attr("weight").eq(1),
        ExpressionAttributeNames={"#l": "log"},
        ExpressionAttributeValues={":more": ["grown"], ":one": 1, ":y": {"y"}},
        ReturnValues="ALL_NEW",
    )
    now = {**key, "weight": 2, "log": ["made", "grown"], "tags": {"x", "y"}}
    assert updated["Attributes"] == now
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
        client.put_item(
            TableName="smoke",
            Item={"pk": {"S": "a"}, "sk": {"N": "1"}},
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert failed.value.response["Item"]["weight"] == {"N": "2"}
    assert table.delete_item(Key=key, ReturnValues="ALL_OLD")["Attributes"] == now
    assert changes(session.client("dynamodbstreams"), table.latest_stream_arn) == [
        ("INSERT", 1, None, 1),
        ("MODIFY", 1, 1, 2),
        ("REMOVE", 1, 2, None),
    ]


def test_batches_queries_and_scans(table: Any, client: Any) -> None:
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(
                Item={"pk": "p", "sk": number, "kind": f"k{number % 3}", "weight": number}
            )
    pages = client.get_paginator("query").paginate(
        TableName="smoke",
        KeyConditionExpression="pk = :p AND sk BETWEEN :low AND :high",
        ExpressionAttributeValues={":p": {"S": "p"}, ":low": {"N": "9"}, ":high": {"N": "30"}},
        PaginationConfig={"PageSize": 5},
    )
    assert [int(item["sk"]["N"]) for page in pages for item in page["Items"]] == [*range(9, 31)]

    found = table.query(
        IndexName="by_kind",
        KeyConditionExpression=Key("kind").eq("k1") & Key("sk").gte(40),
        FilterExpression=Attr("weight").ne(43),
        ProjectionExpression="sk",
        ScanIndexForward=False,
    )
    assert [item["sk"] for item in found["Items"]] == [58, 55, 52, 49, 46, 40]
    assert found["ScannedCount"] == 7

    segments = [table.scan(Segment=number, TotalSegments=4)["Items"] for number in range(4)]
    assert sorted(item["sk"] for part in segments for item in part) == [*range(60)]

    keys = [{"pk": "p", "sk": number} for number in range(58, 63)]
    answer = table.meta.client.batch_get_item(RequestItems={"smoke": {"Keys": keys}})
    assert sorted(item["sk"] for item in answer["Responses"]["smoke"]) == [58, 59]
    assert answer["UnprocessedKeys"] == {}


def test_transactions(table: Any, client: Any) -> None:
    def put(number: int) -> dict[str, Any]:
        item = {"pk": {"S": "t"}, "sk": {"N": str(number)}, "weight": {"N": "0"}}
        absent = "attribute_not_exists(pk)"
        return {
            "Put": {
                "TableName": "smoke",
                "Item": item,
                "ConditionExpression": absent,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }

    client.transact_write_items(TransactItems=[put(1), put(2)], ClientRequestToken="token")
    client.transact_write_items(TransactItems=[put(1), put(2)], ClientRequestToken="token")
    with pytest.raises(client.exceptions.IdempotentParameterMismatchException):
        client.transact_write_items(TransactItems=[put(9)], ClientRequestToken="token")
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.transact_write_items(TransactItems=[put(3), put(2)])
    fine, refused = cancelled.value.response["CancellationReasons"]
    assert fine == {"Code": "None"}
    assert refused["Code"] == "ConditionalCheckFailed"
    assert refused["Item"]["sk"] == {"N": "2"}

    wanted = [
        {"Get": {"TableName": "smoke", "Key": {"pk": {"S": "t"}, "sk": {"N": str(number)}}}}
        for number in (1, 3)
    ]
    first, second = client.transact_get_items(TransactItems=wanted)["Responses"]
    assert first["Item"]["sk"] == {"N": "1"}
    assert "Item" not in second


def test_partiql(table: Any, client: Any) -> None:
    client.execute_statement(Statement="INSERT INTO smoke VALUE {'pk': 'q', 'sk': 1, 'weight': 7}")
    answer = client.execute_statement(
        Statement="SELECT weight FROM smoke WHERE pk = ?", Parameters=[{"S": "q"}]
    )
    assert answer["Items"] == [{"weight": {"N": "7"}}]
