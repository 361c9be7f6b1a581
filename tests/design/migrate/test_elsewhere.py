"""A whole migration against DynamoDB Local, if the environment says where one is served."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange import design as st

from .models import NEW, OLD, Sample, Samples
from .test_migration import PHASES, START, advance_to, at, expect_all, filled

URL = os.environ.get("HASHRANGE_DYNAMODB_LOCAL")
SECONDS = 0.5
"""Of a lease: requests of a client are signed by a real clock."""


@pytest.fixture
def client() -> Iterator[Any]:
    key = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    config = Config(max_pool_connections=1)
    client = boto3.client("dynamodb", "us-east-1", endpoint_url=URL, config=config, **key)
    with suppress(ClientError):
        client.delete_table(TableName="fleet")
    yield client
    client.delete_table(TableName="fleet")


@pytest.mark.skipif(not URL, reason="HASHRANGE_DYNAMODB_LOCAL has no URL")
@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("guards", [0, 7])
def test_through_all_phases(client: Any, guards: int) -> None:
    migration = st.Migration(
        OLD, NEW, lease_seconds=SECONDS, signature_seconds=SECONDS, guards=guards
    )
    readings = filled(migration, client)
    advance_to("read-new", migration, client)
    expect_all(readings)
    assert migration.back(client).phase == "old"
    for phase in PHASES[:-1]:
        advance_to(phase, migration, client)
        expect_all(readings)
    samples = migration.open(Samples, client)
    samples.create(Sample(sensor="d1", at=at(20), milli=20_000, serial="s20"))
    found = readings.reading("d1", at(20))
    assert found is not None
    assert found.value == 20
    assert migration.verify(client) == []
    advance_to("contracting", migration, client)
    with pytest.raises(st.MigrationError, match="new model"):
        readings.reading("d1", START)
    migration.finish(client)
    kept = NEW.open(Samples, client)
    assert [each.milli for each in kept.since("d1", START)] == [*range(0, 10_000, 1000), 20_000]
    partitions = {each["pk"]["S"] for each in client.scan(TableName="fleet")["Items"]}
    assert not any(each.startswith("day#") for each in partitions)
