"""The fixtures and mocks with other tools for tests: freezegun, time-machine, xdist, asyncio."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

import hashrange

SECONDS_MAX = 20
TABLE: dict[str, Any] = {
    "TableName": "Things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}
TOKEN = "a-token"
KEYS = {"aws_access_key_id": "AKID", "aws_secret_access_key": "secret"}

Client = Callable[[str], Any]
Move = Callable[[float], object]


@contextmanager
def freezegun(at: str) -> Iterator[Move]:
    tool = pytest.importorskip("freezegun", reason="make test-python-clients has it")
    with tool.freeze_time(at) as frozen:
        yield frozen.tick


@contextmanager
def time_machine(at: str) -> Iterator[Move]:
    tool = pytest.importorskip("time_machine", reason="make test-python-clients has it")
    with tool.travel(at, tick=False) as traveller:
        yield traveller.shift


@contextmanager
def in_process() -> Iterator[Client]:
    with hashrange.connect() as database:
        yield database.boto3_session().client


@contextmanager
def in_a_file(folder: Path) -> Iterator[Client]:
    with hashrange.connect(folder / "app.db") as database:
        yield database.boto3_session().client


@contextmanager
def mocked() -> Iterator[Client]:
    with hashrange.mock():
        yield lambda service: boto3.client(service, "us-east-1", **KEYS)


@contextmanager
def served() -> Iterator[Client]:
    with hashrange.serve() as server:
        yield lambda service: boto3.client(service, "us-east-1", endpoint_url=server.url, **KEYS)


PAST, FUTURE = "2020-02-29T12:00:00+00:00", "2040-02-29T12:00:00+00:00"
PLACES = [
    (where, opened, freeze, at)
    for where in ("in process", "in a file", "mocked", "served")
    for opened in ("before", "inside")
    for freeze, at in ((freezegun, PAST), (time_machine, FUTURE))
    # The thread of a file asks for the time when the file is opened, and it never goes back.
    if (where, opened, at) != ("in a file", "before", PAST)
]


@pytest.mark.parametrize(("where", "opened", "freeze", "at"), PLACES)
def test_frozen_time(freeze: Any, at: str, opened: str, where: str, tmp_path: Path) -> None:
    places: dict[str, Any] = {"in process": in_process, "mocked": mocked, "served": served}
    place = places.get(where) or (lambda: in_a_file(tmp_path))
    if opened == "before":
        with place() as client, freeze(at) as move:
            check_all(client, at, move)
    else:
        with freeze(at) as move, place() as client:
            check_all(client, at, move)


def check_all(client: Client, at: str, move: Move) -> None:
    items = client("dynamodb")
    created = items.create_table(**TABLE)["TableDescription"]["CreationDateTime"]
    assert created == datetime.fromisoformat(at)
    check_expiry(items, move)
    check_streams(client("dynamodbstreams"), at, move)
    check_tokens(items, move)


def check_expiry(items: Any, move: Move) -> None:
    """Twice, because the second deletion must not wait for the time of the first to pass."""
    items.update_time_to_live(
        TableName="Things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ends"}
    )
    for key in "ab":
        ends = {"N": str(int(time.time()) + 60)}
        items.put_item(TableName="Things", Item={"pk": {"S": key}, "ends": ends})
        assert items.scan(TableName="Things")["Count"] == 1
        move(120)
        eventually(lambda: items.scan(TableName="Things")["Count"] == 0)


def eventually(condition: Callable[[], object]) -> None:
    """Wait without the functions that freezegun replaces."""
    for _ in range(SECONDS_MAX * 20):
        if condition():
            return
        subprocess.run(["sleep", "0.05"], check=True)
    raise AssertionError(f"not within {SECONDS_MAX} seconds")


def check_streams(streams: Any, at: str, move: Move) -> None:
    (stream,) = streams.list_streams()["Streams"]
    arn = stream["StreamArn"]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterators = [
        streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        for shard in shards
    ]
    pages = [streams.get_records(ShardIterator=iterator)["Records"] for iterator in iterators]
    records = [record for page in pages for record in page]
    times = {record["dynamodb"]["ApproximateCreationDateTime"] for record in records}
    assert sorted(record["eventName"] for record in records) == [*["INSERT"] * 2, *["REMOVE"] * 2]
    assert min(times) == datetime.fromisoformat(at)
    assert max(times) == datetime.now(UTC)
    move(16 * 60)
    with pytest.raises(ClientError, match="ExpiredIteratorException"):
        streams.get_records(ShardIterator=iterators[0])


def check_tokens(items: Any, move: Move) -> None:
    put_with_token(items, "c")
    with pytest.raises(ClientError, match="IdempotentParameterMismatchException"):
        put_with_token(items, "d")
    move(11 * 60)
    put_with_token(items, "d")


def put_with_token(items: Any, key: str) -> None:
    items.transact_write_items(
        TransactItems=[{"Put": {"TableName": "Things", "Item": {"pk": {"S": key}}}}],
        ClientRequestToken=TOKEN,
    )


@pytest.mark.parametrize("freeze", [freezegun, time_machine])
def test_expiry_goes_on_after_the_time_runs_again(freeze: Any) -> None:
    with hashrange.connect() as database:
        items = database.boto3_session().client("dynamodb")
        with freeze(PAST):
            items.create_table(**TABLE)
            items.update_time_to_live(
                TableName="Things",
                TimeToLiveSpecification={"Enabled": True, "AttributeName": "ends"},
            )
            put_expired(items)
            database.run_upkeep()
            assert items.scan(TableName="Things")["Count"] == 0
        put_expired(items)
        eventually(lambda: items.scan(TableName="Things")["Count"] == 0)


def put_expired(items: Any) -> None:
    ends = {"N": str(int(time.time()) - 10)}
    items.put_item(TableName="Things", Item={"pk": {"S": "a"}, "ends": ends})


def test_the_async_client(hashrange_client: Any, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("aiobotocore", reason="make test-python-clients has it")
    client = request.getfixturevalue("hashrange_async_client")

    async def session() -> None:
        await client.create_table(**TABLE)
        await client.put_item(TableName="Things", Item={"pk": {"S": "a"}})
        with pytest.raises(client.exceptions.ResourceInUseException):
            await client.create_table(**TABLE)
        pages = client.get_paginator("scan").paginate(TableName="Things")
        assert [page["Count"] async for page in pages] == [1]

    asyncio.run(session())
    assert hashrange_client.list_tables()["TableNames"] == ["Things"]
    asyncio.run(client.delete_table(TableName="Things"))  # on another loop


SUITE = """
import os
import boto3
import pytest


@pytest.mark.parametrize("number", range(8))
def test_each_worker_has_its_own(number, hashrange_client, hashrange_server):
    hashrange_server.reset()
    client = boto3.client(
        "dynamodb", "us-east-1", endpoint_url=hashrange_server.url,
        aws_access_key_id="x", aws_secret_access_key="x",
    )
    for each in (hashrange_client, client):
        assert each.list_tables()["TableNames"] == []
        each.create_table(
            TableName="Things",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
"""


@pytest.mark.deep
def test_xdist(tmp_path: Path) -> None:
    pytest.importorskip("xdist", reason="make test-python-clients has it")
    (tmp_path / "test_suite.py").write_text(SUITE)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "8 passed" in run.stdout, run.stdout + run.stderr
