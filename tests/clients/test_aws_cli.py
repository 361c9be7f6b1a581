"""The AWS command line, over HTTP."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

AWS = Path(sys.executable).with_name("aws")
pytestmark = pytest.mark.skipif(not AWS.exists(), reason="make test-python-clients has it")

SMOKE = ("--table-name", "smoke")
Aws = Callable[..., Any]


@pytest.fixture
def refused(environment: dict[str, str]) -> Callable[..., str]:
    """The error output of a command, which must fail."""

    def running(*arguments: str) -> str:
        ended = call(environment, *arguments)
        assert ended.returncode != 0
        return ended.stderr.strip()

    return running


@pytest.fixture
def aws(environment: dict[str, str]) -> Aws:
    """The answer of a command, which must succeed, decoded from JSON."""

    def running(*arguments: str) -> Any:
        ended = call(environment, *arguments)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout or "null")

    return running


def call(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AWS, *arguments],
        env={**environment, "AWS_PAGER": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def arn(aws: Aws) -> Iterator[str]:
    """The ARN of the stream of a table with one item."""
    aws(
        *("dynamodb", "create-table", *SMOKE, "--billing-mode", "PAY_PER_REQUEST"),
        *("--attribute-definitions", "AttributeName=pk,AttributeType=S"),
        "AttributeName=sk,AttributeType=N",
        *("--key-schema", "AttributeName=pk,KeyType=HASH", "AttributeName=sk,KeyType=RANGE"),
        *("--stream-specification", "StreamEnabled=true,StreamViewType=NEW_IMAGE"),
    )
    aws("dynamodb", "wait", "table-exists", *SMOKE)
    aws("dynamodb", "put-item", *SMOKE, "--item", json.dumps(item(0)))
    yield aws("dynamodb", "describe-table", *SMOKE)["Table"]["LatestStreamArn"]
    aws("dynamodb", "delete-table", *SMOKE)
    aws("dynamodb", "wait", "table-not-exists", *SMOKE)


def key(number: int) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"N": str(number)}}


def item(number: int) -> dict[str, Any]:
    return {**key(number), "tags": {"SS": ["a", "b"]}, "empty": {"S": ""}}


def test_items_and_streams(aws: Aws, refused: Callable[..., str], arn: str) -> None:
    assert aws("dynamodb", "list-tables") == {"TableNames": ["smoke"]}
    found = aws("dynamodb", "get-item", *SMOKE, "--key", json.dumps(key(0)))
    assert found == {"Item": item(0)}
    said = refused(
        *("dynamodb", "put-item", *SMOKE, "--item", json.dumps(item(0))),
        *("--condition-expression", "attribute_not_exists(pk)"),
    )
    assert said.endswith(
        "An error occurred (ConditionalCheckFailedException) when calling the PutItem operation: "
        "The conditional request failed"
    )
    deletion = [{"Delete": {"TableName": "smoke", "Key": key(0)}}]
    aws("dynamodb", "transact-write-items", "--transact-items", json.dumps(deletion))

    described = aws("dynamodbstreams", "describe-stream", "--stream-arn", arn)
    shards = described["StreamDescription"]["Shards"]
    assert [event for shard in shards for event in events(aws, arn, shard["ShardId"])] == [
        ("INSERT", item(0)),
        ("REMOVE", None),
    ]


def events(aws: Aws, arn: str, shard_id: str) -> list[tuple[str, Any]]:
    """The event name and the new image of each record of a shard."""
    start = aws(
        *("dynamodbstreams", "get-shard-iterator", "--stream-arn", arn, "--shard-id", shard_id),
        *("--shard-iterator-type", "TRIM_HORIZON"),
    )["ShardIterator"]
    answer = aws("dynamodbstreams", "get-records", "--shard-iterator", start)
    return [
        (record["eventName"], record["dynamodb"].get("NewImage")) for record in answer["Records"]
    ]


@pytest.mark.usefixtures("arn")
def test_pages(aws: Aws) -> None:
    puts = [{"PutRequest": {"Item": item(number)}} for number in range(1, 9)]
    written = aws("dynamodb", "batch-write-item", "--request-items", json.dumps({"smoke": puts}))
    assert written == {"UnprocessedItems": {}}
    found = aws(
        *("dynamodb", "query", *SMOKE, "--page-size", "3", "--query", "Items[].sk.N"),
        *("--key-condition-expression", "pk = :p AND sk > :s"),
        *("--expression-attribute-values", '{":p": {"S": "p"}, ":s": {"N": "2"}}'),
    )
    assert found == ["3", "4", "5", "6", "7", "8"]
    some = aws("dynamodb", "scan", *SMOKE, "--max-items", "4")
    more = aws("dynamodb", "scan", *SMOKE, "--starting-token", some["NextToken"])
    assert [len(some["Items"]), len(more["Items"])] == [4, 5]
    statement = "SELECT sk FROM smoke WHERE pk = 'p' AND sk < 1"
    answer = aws("dynamodb", "execute-statement", "--statement", statement)
    assert answer["Items"] == [{"sk": {"N": "0"}}]
