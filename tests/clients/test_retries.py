"""boto3's retries get through throttling that is enforced, as they do on AWS."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from .conftest import HERE, KEYS, serving

UNITS = 20
"""What the partition of the one key that is used serves in a second."""

WRITES = 60


@pytest.fixture(scope="module")
def limited() -> Iterator[str]:
    with serving(HERE / "limited.py", str(UNITS)) as url:
        yield url


def client_of(url: str, **retries: Any) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name=KEYS["AWS_REGION"],
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries=retries),
    )


def created(client: Any, name: str) -> str:
    client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
def test_every_write_succeeds_in_the_end(limited: str, mode: str) -> None:
    client = client_of(limited, mode=mode, total_max_attempts=12)
    table = created(client, f"retried-{mode}")
    key = {"pk": {"S": "hot"}}
    retries = 0
    for _ in range(WRITES):
        answer = client.update_item(
            TableName=table,
            Key=key,
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        retries += answer["ResponseMetadata"]["RetryAttempts"]
    assert retries > 0
    item = client.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]
    assert item["n"] == {"N": str(WRITES)}


def test_without_retries_some_are_refused(limited: str) -> None:
    client = client_of(limited, mode="standard", total_max_attempts=1)
    table = created(client, "refused")

    def write_all() -> None:
        for number in range(WRITES):
            client.put_item(TableName=table, Item={"pk": {"S": "hot"}, "n": {"N": str(number)}})

    with pytest.raises(ClientError) as refused:
        write_all()
    assert refused.value.response["Error"]["Code"] == "ThrottlingException"
    [reason] = refused.value.response["throttlingReasons"]
    assert reason["reason"] == "TableWriteKeyRangeThroughputExceeded"


def test_a_batch_writer_sends_what_was_left_again(limited: str) -> None:
    client = client_of(limited, mode="standard", total_max_attempts=12)
    table = created(client, "batches")
    resource = boto3.resource(
        "dynamodb",
        endpoint_url=limited,
        region_name=KEYS["AWS_REGION"],
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries={"mode": "standard", "total_max_attempts": 12}),
    )
    with resource.Table(table).batch_writer() as batch:
        for number in range(3 * WRITES):
            batch.put_item({"pk": str(number)})
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    assert sum(page["Count"] for page in pages) == 3 * WRITES
