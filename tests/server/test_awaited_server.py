"""The server over a store that is awaited on the server's own event loop."""

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from waiting import SECONDS_MAX

from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.awaited.threads import LoopThread
from hashrange.server.listener import open_listener
from hashrange.server.server import Server
from hashrange.testing.async_memory import AsyncMemoryStore

TABLE = "Things"


@pytest.fixture
def client() -> Iterator[Any]:
    own = LoopThread()
    runtime = AsyncRuntime(AsyncMemoryStore(), own.loop)
    listener = open_listener("127.0.0.1", 0)
    server = Server(runtime, listener)

    def run(work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, own.loop).result(SECONDS_MAX)

    run(server.start())
    yield boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{listener.port}",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
    )
    run(server.stop())
    run(runtime.aclose())
    own.close()


def test_many_clients_at_once(client: Any) -> None:
    """This includes requests that are answered in the thread for long calls."""
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )

    def work(number: int) -> int:
        key = {"pk": {"S": str(number)}}
        client.put_item(TableName=TABLE, Item=key | {"large": {"S": "x" * 30_000}})
        assert "large" in client.get_item(TableName=TABLE, Key=key)["Item"]
        statement = f"UPDATE {TABLE} SET n = ? WHERE pk = ?"
        client.execute_statement(Statement=statement, Parameters=[{"N": "1"}, key["pk"]])
        add = {"UpdateExpression": "ADD n :n", "ExpressionAttributeValues": {":n": {"N": "1"}}}
        client.update_item(TableName=TABLE, Key={"pk": {"S": "shared"}}, **add)
        return len(client.scan(TableName=TABLE, Limit=1)["Items"])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(16))) == [1] * 16
    found = client.get_item(TableName=TABLE, Key={"pk": {"S": "shared"}})
    assert found["Item"]["n"] == {"N": "16"}
    assert client.scan(TableName=TABLE, Select="COUNT")["Count"] == 17
