"""boto3 is answered in process, by a real database."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import boto3
import pytest
from botocore.exceptions import ChecksumError
from isolation import cut_off

import hashrange
from hashrange.clients.boto import boto3_session
from hashrange.model.caller import Caller
from hashrange.runtime.ending import Done

pytestmark = pytest.mark.slow

PK = {"pk": {"S": "a"}}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch)


@pytest.fixture
def database() -> Iterator[hashrange.Database]:
    with hashrange.connect() as database:
        yield database


class FakeRuntime:
    """Knows only ListStreams; any other request is a mistake."""

    operations = ("ListStreams",)

    def __init__(self) -> None:
        self.called: list[str] = []
        self.callers: list[Caller] = []

    def call(self, name: str, body: bytes, caller: Caller, /) -> bytes:
        self.called.append(name)
        self.callers.append(caller)
        if name not in self.operations:
            raise RuntimeError("our mistake")
        return b'{"Streams":[]}'

    def turn(self) -> Self:
        raise AssertionError("there is no event loop")

    def close(self) -> None:
        raise AssertionError("there is no turn")

    def submit(
        self, name: str, body: bytes, done: Done, caller: Caller, turn: object = None, /
    ) -> None:
        raise AssertionError("there is no event loop")


class FakeDatabase:
    access = None

    def __init__(self) -> None:
        self.runtime = FakeRuntime()


def create_table(client: Any) -> Any:
    answer = client.create_table(
        TableName="Things",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return answer["TableDescription"]


class TestSession:
    def test_a_client(self, database: hashrange.Database) -> None:
        client = boto3_session(database).client("dynamodb")
        create_table(client)
        client.put_item(TableName="Things", Item={**PK, "b": {"B": b"\x00\xff"}})
        answer = client.get_item(TableName="Things", Key=PK)
        assert answer["Item"] == {**PK, "b": {"B": b"\x00\xff"}}
        metadata = answer["ResponseMetadata"]
        assert len(metadata["RequestId"]) == 52
        assert (metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == (200, 0)

    def test_a_resource(self, database: hashrange.Database) -> None:
        create_table(boto3_session(database).client("dynamodb"))
        table = boto3_session(database).resource("dynamodb").Table("Things")
        with table.batch_writer() as batch:
            for number in range(30):
                batch.put_item(Item={"pk": str(number), "n": number})
        assert sorted(item["n"] for item in table.scan()["Items"]) == list(range(30))

    def test_errors_are_botocore_exceptions(self, database: hashrange.Database) -> None:
        client = boto3_session(database).client("dynamodb")
        with pytest.raises(client.exceptions.ResourceNotFoundException) as caught:
            client.get_item(TableName="Things", Key=PK)
        assert caught.value.response["Error"]["Message"] == "Requested resource not found"
        assert str(caught.value).startswith(
            "An error occurred (ResourceNotFoundException) when calling the GetItem operation: "
        )

    def test_streams_are_answered_too(self) -> None:
        fake = FakeDatabase()
        assert boto3_session(fake).client("dynamodbstreams").list_streams()["Streams"] == []
        assert fake.runtime.called == ["ListStreams"]
        assert fake.runtime.callers == [Caller()]

    def test_a_damaged_answer_is_noticed(
        self, database: hashrange.Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The CRC that botocore checks is that of the body."""
        client = boto3_session(database).client("dynamodb")
        client.list_tables()
        monkeypatch.setattr("zlib.crc32", lambda body: 1)
        with pytest.raises(ChecksumError):
            client.list_tables()

    def test_the_region_is_that_of_the_client(self, database: hashrange.Database) -> None:
        session = boto3_session(database, region="eu-west-1")
        arn = create_table(session.client("dynamodb"))["TableArn"]
        assert arn.split(":")[3] == "eu-west-1"
        session.client("dynamodb").delete_table(TableName="Things")
        arn = create_table(session.client("dynamodb", region_name="us-west-2"))["TableArn"]
        assert arn.split(":")[3] == "us-west-2"

    def test_an_internal_error_is_logged_and_not_retried(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        fake = FakeDatabase()
        client = boto3_session(fake).client("dynamodb")
        with pytest.raises(client.exceptions.InternalServerError):
            client.list_tables()
        assert "RuntimeError: our mistake" in caplog.text
        assert fake.runtime.called == ["ListTables"]

    def test_many_threads(self, database: hashrange.Database) -> None:
        client = boto3_session(database).client("dynamodb")
        create_table(client)

        def increment(_: int) -> None:
            client.update_item(
                TableName="Things",
                Key=PK,
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(increment, range(200)))
        assert client.get_item(TableName="Things", Key=PK)["Item"]["n"] == {"N": "200"}


def test_the_caller_is_the_signer() -> None:
    signed = {"aws_access_key_id": "AKID", "aws_secret_access_key": "y"}
    client = boto3.client("dynamodbstreams", region_name="eu-west-1", **signed)
    fake = FakeDatabase()
    with hashrange.mock(fake):
        client.list_streams()
    assert fake.runtime.callers == [Caller("eu-west-1", access_key="AKID")]


def test_the_log_is_quiet(database: hashrange.Database, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="hashrange"):
        boto3_session(database).client("dynamodb").list_tables()
    assert caplog.messages == []
