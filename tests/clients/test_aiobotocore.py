"""aiobotocore, over HTTP and in process, with many requests at once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hashrange import Database
from hashrange.runtime.awaited.threads import open_here
from hashrange.testing.async_memory import AsyncMemoryStore

aiobotocore = pytest.importorskip("aiobotocore.session", reason="make test-python-clients has it")

TABLE: dict[str, Any] = {
    "TableName": "smoke",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}
Using = Callable[[Callable[[Any], Awaitable[None]]], None]


@pytest.fixture
def with_client(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Using:
    """Runs a coroutine function with a client and a table."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    async def using(session: Callable[[Any], Awaitable[None]]) -> None:
        async with aiobotocore.get_session().create_client("dynamodb") as client, a_table(client):
            await session(client)

    return lambda session: asyncio.run(using(session))


@asynccontextmanager
async def a_table(client: Any) -> AsyncIterator[None]:
    await client.create_table(**TABLE)
    await client.get_waiter("table_exists").wait(TableName="smoke")
    yield
    await client.delete_table(TableName="smoke")
    await client.get_waiter("table_not_exists").wait(TableName="smoke")


def item(number: int) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"N": str(number)}, "data": {"B": bytes([number])}}


async def write(client: Any, numbers: range) -> None:
    """Put the items, each with a PutItem of its own, all at once."""
    puts = [client.put_item(TableName="smoke", Item=item(number)) for number in numbers]
    await asyncio.gather(*puts)


def test_tables(with_client: Using) -> None:
    async def session(client: Any) -> None:
        names = [
            name
            async for page in client.get_paginator("list_tables").paginate()
            for name in page["TableNames"]
        ]
        assert names == ["smoke"]
        with pytest.raises(client.exceptions.ResourceInUseException):
            await client.create_table(**TABLE)

    with_client(session)


def test_items(with_client: Using) -> None:
    async def session(client: Any) -> None:
        await write(client, range(40))
        key = {"pk": {"S": "p"}, "sk": {"N": "7"}}
        assert (await client.get_item(TableName="smoke", Key=key))["Item"] == item(7)
        add = {
            "TableName": "smoke",
            "Key": key,
            "UpdateExpression": "ADD hits :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
        }
        answers = await asyncio.gather(*(client.update_item(**add) for _ in range(50)))
        hits = {int(answer["Attributes"]["hits"]["N"]) for answer in answers}
        assert hits == set(range(1, 51))
        with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
            await client.delete_item(
                TableName="smoke",
                Key=key,
                ConditionExpression="attribute_not_exists(hits)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        assert failed.value.response["Item"] == {**item(7), "hits": {"N": "50"}}

    with_client(session)


def test_pages_of_a_query(with_client: Using) -> None:
    async def session(client: Any) -> None:
        await write(client, range(40))
        pages = client.get_paginator("query").paginate(
            TableName="smoke",
            KeyConditionExpression="pk = :p",
            ExpressionAttributeValues={":p": {"S": "p"}},
            PaginationConfig={"PageSize": 9},
        )
        assert [found async for page in pages for found in page["Items"]] == [
            item(number) for number in range(40)
        ]

    with_client(session)


def test_transactions(with_client: Using) -> None:
    async def session(client: Any) -> None:
        await write(client, range(1))
        put = {"TableName": "smoke", "ConditionExpression": "attribute_not_exists(pk)"}
        with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
            await client.transact_write_items(
                TransactItems=[{"Put": {**put, "Item": item(number)}} for number in (1, 0)]
            )
        codes = [reason["Code"] for reason in cancelled.value.response["CancellationReasons"]]
        assert codes == ["None", "ConditionalCheckFailed"]
        get = {"Get": {"TableName": "smoke", "Key": {"pk": {"S": "p"}, "sk": {"N": "0"}}}}
        answer = await client.transact_get_items(TransactItems=[get])
        assert answer["Responses"] == [{"Item": item(0)}]

    with_client(session)


def test_streams(with_client: Using) -> None:
    async def session(client: Any) -> None:
        await write(client, range(5))
        arn = (await client.describe_table(TableName="smoke"))["Table"]["LatestStreamArn"]
        async with aiobotocore.get_session().create_client("dynamodbstreams") as streams:
            described = await streams.describe_stream(StreamArn=arn)
            shards = described["StreamDescription"]["Shards"]
            found = [number for shard in shards for number in await read(streams, arn, shard)]
        assert sorted(found) == [*range(5)]

    with_client(session)


async def read(streams: Any, arn: str, shard: dict[str, Any]) -> list[int]:
    """The sort keys of a shard's records."""
    start = await streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )
    answer = await streams.get_records(ShardIterator=start["ShardIterator"])
    return [int(record["dynamodb"]["Keys"]["sk"]["N"]) for record in answer["Records"]]


def test_in_process_on_the_loop_that_the_store_belongs_to() -> None:
    from hashrange.clients.aioboto import async_client

    async def scenario() -> None:
        store = await open_here(opened())
        async with Database(store) as database:
            client = async_client(database)
            await client.create_table(**TABLE)
            keys = [{"pk": {"S": "a"}, "sk": {"N": str(number)}} for number in range(10)]
            await asyncio.gather(*[client.put_item(TableName="smoke", Item=key) for key in keys])
            assert (await client.scan(TableName="smoke", Select="COUNT"))["Count"] == 10
            with pytest.raises(client.exceptions.ResourceNotFoundException):
                await client.get_item(TableName="absent", Key=keys[0])

    async def opened() -> AsyncMemoryStore:
        return AsyncMemoryStore()

    asyncio.run(asyncio.wait_for(scenario(), 60))
