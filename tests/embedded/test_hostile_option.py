"""`pytest --hashrange-hostile` shows which tests rely on what DynamoDB does not promise."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SUITE = """
import pytest

@pytest.fixture
def table(hashrange_resource):
    return hashrange_resource.create_table(
        TableName="things",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )

def test_careful(table, hashrange_client):
    left = {"things": [{"PutRequest": {"Item": {"pk": {"S": str(n)}}}} for n in range(25)]}
    while left:
        left = hashrange_client.batch_write_item(RequestItems=left)["UnprocessedItems"]
    assert len(table.scan(ConsistentRead=True)["Items"]) == 25

def test_reads_its_writes_at_once(table):
    table.put_item(Item={"pk": "a"})
    assert "Item" in table.get_item(Key={"pk": "a"})

def test_believes_that_batches_are_whole(table, hashrange_client):
    for _ in range(20):
        puts = [{"PutRequest": {"Item": {"pk": {"S": str(n)}}}} for n in range(25)]
        answer = hashrange_client.batch_write_item(RequestItems={"things": puts})
        assert answer["UnprocessedItems"] == {}

@pytest.mark.hashrange(faults=None, consistency=None)
def test_is_spared(table):
    table.put_item(Item={"pk": "a"})
    assert "Item" in table.get_item(Key={"pk": "a"})
"""


def failed(folder: Path, *options: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("FAILED ")]
    assert "error" not in run.stdout.splitlines()[-1], run.stdout
    return {line.split("::")[1].split()[0] for line in lines}


def test_the_hostile_option(tmp_path: Path) -> None:
    (tmp_path / "test_things.py").write_text(SUITE)
    assert failed(tmp_path) == set()
    assert failed(tmp_path, "--hashrange-hostile") == {
        "test_reads_its_writes_at_once",
        "test_believes_that_batches_are_whole",
    }
