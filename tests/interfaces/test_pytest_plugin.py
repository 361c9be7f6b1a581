"""The fixtures, in a separate test run."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import hashrange

pytestmark = pytest.mark.slow

SUITE = """
import boto3
import pytest

def create_table(client):
    client.create_table(
        TableName="Things",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )

made_before = boto3.client("dynamodb", region_name="us-east-1",
                           aws_access_key_id="x", aws_secret_access_key="y")

@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_starts_empty(turn, hashrange_client):
    assert hashrange_client.list_tables()["TableNames"] == []
    create_table(hashrange_client)

def test_all_fixtures_are_of_one_database(
    hashrange_database, hashrange_session, hashrange_client, hashrange_resource,
    hashrange_intercept,
):
    create_table(hashrange_client)
    lists = [
        hashrange_database.execute("ListTables", {})["TableNames"],
        hashrange_session.client("dynamodb").list_tables()["TableNames"],
        [table.name for table in hashrange_resource.tables.all()],
        boto3.client("dynamodb", region_name="us-east-1").list_tables()["TableNames"],
        made_before.list_tables()["TableNames"],
        hashrange_intercept.execute("ListTables", {})["TableNames"],
    ]
    assert lists == [["Things"]] * 6

kept = []

def test_a_client_that_is_kept(hashrange_client):
    kept.append(hashrange_client)

def test_has_no_database_between_tests():
    with pytest.raises(AssertionError, match="no test that asked for a hashrange fixture"):
        kept[0].list_tables()
"""


def run(directory: Path, suite: str, *arguments: str) -> str:
    (directory / "test_suite.py").write_text(suite)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, directory],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=directory,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_the_fixtures(tmp_path: Path) -> None:
    assert "5 passed" in run(tmp_path, SUITE)


def test_fixtures_are_listed_with_descriptions(tmp_path: Path) -> None:
    listed = run(tmp_path, "def test_nothing(): pass", "--fixtures")
    assert "hashrange_client -- " in listed
    assert "boto3's \"dynamodb\" client of the test's database." in listed


def test_unused_fixtures_cost_nothing(tmp_path: Path) -> None:
    suite = (
        "import sys\n"
        "def test_nothing():\n"
        "    heavy = {'boto3', 'msgspec', 'apsw', 'hashrange.runtime', 'hashrange.wire'}\n"
        "    assert not heavy & sys.modules.keys()\n"
    )
    run(tmp_path, suite)


def test_an_empty_database_costs_less_than_a_millisecond() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        with hashrange.connect() as database:
            database.execute("ListTables", {})
        return time.perf_counter() - start

    assert min(seconds() for _ in range(50)) < 0.001


@pytest.mark.usefixtures("hashrange_intercept")
def test_the_plugin_is_installed() -> None:
    """It is found by its entry point: nothing is imported here."""
