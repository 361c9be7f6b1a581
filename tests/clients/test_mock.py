"""`hashrange.mock` with aiobotocore, aioboto3 and moto."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import boto3
import pytest

import hashrange
from hashrange.embedded.mock import MockError

TABLE: dict[str, Any] = {
    "TableName": "Things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
SESSIONS = ["aiobotocore.session", "aioboto3"]
Client = Callable[..., Any]


@pytest.fixture(params=SESSIONS)
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Makes a client by the name of its service."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    library = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    if request.param == "aioboto3":
        return lambda *arguments, **named: library.Session().client(*arguments, **named)
    return lambda *arguments, **named: library.get_session().create_client(*arguments, **named)


def run(session: Awaitable[None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(session, 30)

    asyncio.run(bounded())


def test_a_client_made_inside(make: Client) -> None:
    @hashrange.mock()
    async def session() -> None:
        async with make("dynamodb") as client:
            await client.create_table(**TABLE)
            await client.put_item(TableName="Things", Item={"pk": {"S": "a"}})
            assert (await client.scan(TableName="Things"))["Count"] == 1
            with pytest.raises(client.exceptions.ResourceInUseException):
                await client.create_table(**TABLE)
            assert boto3.client("dynamodb").list_tables()["TableNames"] == ["Things"]
        async with make("dynamodbstreams") as streams:
            assert (await streams.list_streams())["Streams"] == []

    run(session())


def test_a_client_made_before_without_credentials(make: Client) -> None:
    async def session() -> None:
        async with make("dynamodb", "eu-west-1", endpoint_url="http://127.0.0.1:1") as client:
            with hashrange.mock() as database:
                answer = await client.create_table(**TABLE)
                assert answer["TableDescription"]["TableArn"].split(":")[3] == "eu-west-1"
                assert len(database.execute("ListTables", {})) == 1

    run(session())


def test_another_service(make: Client) -> None:
    @hashrange.mock()
    async def session() -> None:
        async with make("sts") as client:
            with pytest.raises(MockError, match="was not sent"):
                await client.get_caller_identity()

    run(session())


@pytest.mark.parametrize("order", ["hashrange first", "moto first"])
@pytest.mark.parametrize("made", ["before", "inside"])
def test_beside_moto(order: str, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moto = pytest.importorskip("moto", reason="make test-python-clients has it")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    session = boto3.session.Session()
    early = session.client("dynamodb"), session.client("s3")
    both: list[Callable[[], Any]] = [hashrange.mock, moto.mock_aws]
    if order == "moto first":
        both.reverse()
    with ExitStack() as stack:
        databases = [
            stack.enter_context(mock()) for mock in both[:: -1 if "moto f" in order else 1]
        ]
        (database,) = (found for found in databases if isinstance(found, hashrange.Database))
        items, files = early
        if made == "inside":
            items, files = boto3.client("dynamodb"), boto3.client("s3")
        items.create_table(**TABLE)
        assert database.execute("ListTables", {})["TableNames"] == ["Things"]
        files.create_bucket(Bucket="things")
        files.put_object(Bucket="things", Key="k", Body=b"here")
        assert files.get_object(Bucket="things", Key="k")["Body"].read() == b"here"
        assert moto.backends.get_backend("dynamodb")["123456789012"]["us-east-1"].tables == {}
