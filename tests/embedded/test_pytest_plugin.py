"""The fixtures, in a separate test run."""

import subprocess
import sys
from pathlib import Path

import pytest
from comparing import ratio
from waiting import SECONDS_MAX

import hashrange

pytestmark = pytest.mark.slow

CREATE_TABLE = """
import boto3
import pytest

def create_table(client, name="Things"):
    client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
"""

SUITE = (
    CREATE_TABLE
    + """
made_before = boto3.client("dynamodb", region_name="us-east-1",
                           aws_access_key_id="x", aws_secret_access_key="y")

@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_starts_empty(turn, hashrange_client):
    assert hashrange_client.list_tables()["TableNames"] == []
    create_table(hashrange_client)

def test_all_fixtures_are_of_one_database(
    hashrange_database, hashrange_session, hashrange_client, hashrange_resource,
    hashrange_mock,
):
    create_table(hashrange_client)
    lists = [
        hashrange_database.execute("ListTables", {})["TableNames"],
        hashrange_session.client("dynamodb").list_tables()["TableNames"],
        [table.name for table in hashrange_resource.tables.all()],
        boto3.client("dynamodb", region_name="us-east-1").list_tables()["TableNames"],
        made_before.list_tables()["TableNames"],
        hashrange_mock.execute("ListTables", {})["TableNames"],
    ]
    assert lists == [["Things"]] * 6

kept = []

def test_a_client_that_is_kept(hashrange_client):
    kept.append(hashrange_client)

def test_has_no_database_between_tests():
    with pytest.raises(RuntimeError, match="the test that asked for it has ended$"):
        kept[0].list_tables()
"""
)


def run(directory: Path, suite: str, *arguments: str, fails: bool = False) -> str:
    (directory / "test_suite.py").write_text(suite)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, directory],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        cwd=directory,
        check=False,
    )
    assert (run.returncode != 0) == fails, run.stdout + run.stderr
    return run.stdout


def test_the_fixtures(tmp_path: Path) -> None:
    assert "5 passed" in run(tmp_path, SUITE)


def test_fixtures_are_listed_with_descriptions(tmp_path: Path) -> None:
    listed = run(tmp_path, "def test_nothing(): pass", "--fixtures")
    assert "hashrange_client -- " in listed
    assert 'boto3\'s "dynamodb" client of the database.' in listed


def test_unused_fixtures_cost_nothing(tmp_path: Path) -> None:
    suite = (
        "import sys\n"
        "def test_nothing():\n"
        "    heavy = {'boto3', 'msgspec', 'apsw', 'hashrange.runtime', 'hashrange.wire'}\n"
        "    assert not heavy & sys.modules.keys()\n"
    )
    run(tmp_path, suite)


def test_an_empty_database_costs_less_than_a_request_of_boto3() -> None:
    def open_and_close() -> None:
        for _ in range(20):
            with hashrange.connect() as database:
                database.execute("ListTables", {})

    with hashrange.connect() as database:
        client = database.boto3_session().client("dynamodb")

        def request() -> None:
            for _ in range(20):
                client.list_tables()

        assert ratio(open_and_close, request) < 1


@pytest.mark.usefixtures("hashrange_mock")
def test_the_plugin_is_installed() -> None:
    """It is found by its entry point: nothing is imported here."""


SCOPES = """
import boto3
import pytest
from test_suite import create_table

@pytest.fixture(scope="module", autouse=True)
def of_the_module(module_hashrange_client, module_hashrange_resource):
    assert module_hashrange_client.list_tables()["TableNames"] == []
    create_table(module_hashrange_client)

@pytest.mark.parametrize("turn", [1, 2])
def test_each_has_its_own(
    turn, hashrange_client, module_hashrange_client, module_hashrange_resource,
    session_hashrange_database,
):
    assert hashrange_client.list_tables()["TableNames"] == []
    create_table(hashrange_client, "Mine")
    assert module_hashrange_client.list_tables()["TableNames"] == ["Things"]
    assert module_hashrange_resource.Table("Things").scan()["Count"] == turn - 1
    module_hashrange_resource.Table("Things").put_item(Item={"pk": str(turn)})
    both = ["Others", "Things"]
    assert session_hashrange_database.execute("ListTables", {})["TableNames"] == both
    assert boto3.client("dynamodb").list_tables()["TableNames"] == both
"""


CONFTEST = """
import pytest
from test_suite import create_table

@pytest.fixture(scope="session", autouse=True)
def of_the_run(session_hashrange_client, session_hashrange_mock):
    create_table(session_hashrange_client)
    create_table(session_hashrange_client, "Others")
"""


def test_scopes(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / name).write_text(SCOPES)
    assert "4 passed" in run(tmp_path, CREATE_TABLE)


MARKED = """
import json
from datetime import timedelta
from pathlib import Path
import pytest

THINGS = {
    "TableName": "Things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}
Path(__file__).with_name("one.json").write_text(json.dumps(THINGS))
Path(__file__).with_name("two.json").write_text(
    json.dumps([{**THINGS, "TableName": "Orders"}, {**THINGS, "TableName": "Users"}])
)
pytestmark = pytest.mark.hashrange(tables="one.json")

def names(client):
    return client.list_tables()["TableNames"]

def test_of_the_module(hashrange_client, module_hashrange_client):
    assert names(hashrange_client) == names(module_hashrange_client) == ["Things"]

@pytest.mark.hashrange(tables="two.json")
class TestClass:
    def test_of_the_class(self, hashrange_client):
        assert names(hashrange_client) == ["Orders", "Users"]

    @pytest.mark.hashrange(table_delay=60)
    def test_of_the_test_too(self, hashrange_client, hashrange_clock):
        table = lambda: hashrange_client.describe_table(TableName="Users")["Table"]
        assert table()["TableStatus"] == "CREATING"
        hashrange_clock.advance(timedelta(seconds=61))
        assert table()["TableStatus"] == "ACTIVE"

@pytest.mark.hashrange(tables=["one.json", "two.json"], freeze="2020-02-29")
def test_several_files(hashrange_client, hashrange_clock):
    assert names(hashrange_client) == ["Orders", "Things", "Users"]
    created = hashrange_client.describe_table(TableName="Users")["Table"]["CreationDateTime"]
    assert f"{created:%Y-%m-%d}" == "2020-02-29"

def test_items_expire_when_the_clock_says_so(hashrange_client, hashrange_clock):
    hashrange_clock.freeze()
    hashrange_client.update_time_to_live(
        TableName="Things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ends"}
    )
    ends = {"N": str(int(hashrange_clock.now()) + 60)}
    hashrange_client.put_item(TableName="Things", Item={"pk": {"S": "a"}, "ends": ends})
    hashrange_clock.advance(50)
    assert hashrange_client.scan(TableName="Things")["Count"] == 1
    hashrange_clock.advance(20)
    assert hashrange_client.scan(TableName="Things")["Count"] == 0
"""


def test_the_marker_and_the_clock(tmp_path: Path) -> None:
    assert "5 passed" in run(tmp_path, MARKED, "--strict-markers")


CLIENT = """
import hashrange
import pytest

"""


@pytest.mark.parametrize(
    ("suite", "line"),
    [
        (
            '@pytest.fixture(scope="session")\ndef orders(hashrange_client): ...\n'
            "def test_orders(orders): ...",
            'the fixture orders has the scope "session", but hashrange_client lasts for one '
            "test: use session_hashrange_client",
        ),
        (
            '@pytest.fixture(scope="class")\ndef orders(hashrange_clock): ...\n'
            "def test_orders(orders): ...",
            'the fixture orders has the scope "class", but hashrange_clock lasts for one '
            "test: use module_hashrange_clock",
        ),
        (
            "def test_left_open(): hashrange.mock().start()",
            "the hashrange.mock() opened at {suite}:5 is still open",
        ),
        (
            '@pytest.mark.hashrange(tables="no.json")\ndef test_it(hashrange_client): ...',
            "@pytest.mark.hashrange(tables=...): {folder}/no.json: No such file or directory",
        ),
        (
            '@pytest.mark.hashrange("tables.json")\ndef test_it(hashrange_client): ...',
            'the marker takes only keyword arguments: @pytest.mark.hashrange(tables="tables.json")',
        ),
        (
            "@pytest.mark.hashrange(delay=5)\ndef test_it(hashrange_client): ...",
            "@pytest.mark.hashrange does not take delay; it takes tables, freeze, table_delay, ",
        ),
        (
            "import sys\nsys.modules['aiobotocore'] = None\n"
            "def test_it(hashrange_async_client): ...",
            "the fixture needs a library that is not installed: pip install 'aiobotocore'",
        ),
        (
            "def test_it(hashrange_client, hashrange_clock):\n"
            "    hashrange_client.list_tables()\n"
            "    hashrange_clock.freeze('2020-01-01')",
            "ValueError: the clock of a database never goes back: the database has already used 20",
        ),
    ],
)
def test_mistakes_are_reported_in_one_line(tmp_path: Path, suite: str, line: str) -> None:
    told = run(tmp_path, CLIENT + suite, "-rN", fails=True)
    wanted = line.format(suite=tmp_path / "test_suite.py", folder=tmp_path)
    lines = [found.removeprefix("E").strip() for found in told.splitlines()]
    assert any(found.startswith(wanted) for found in lines), told


EVERY_TEST_IS_MOCKED = (
    CREATE_TABLE
    + """
import unittest

def names(**where):
    client = boto3.client("dynamodb", region_name="eu-west-1", aws_access_key_id="x",
                          aws_secret_access_key="y", endpoint_url="http://127.0.0.1:9", **where)
    return client.list_tables()["TableNames"]

@pytest.fixture(scope="session")
def of_the_run(session_hashrange_client):
    create_table(session_hashrange_client, "OfTheRun")

def test_without_a_fixture():
    assert names() == []

def test_a_client_and_others(hashrange_client):
    create_table(hashrange_client)
    assert names() == ["Things"]

def test_a_mock_of_the_run(of_the_run, session_hashrange_mock):
    assert names() == ["OfTheRun"]

class OldTests(unittest.TestCase):
    def test_a_method(self):
        assert names() == []
"""
)


def test_every_test_is_mocked_if_the_settings_say_so(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nhashrange_mock = true\n")
    assert "4 passed" in run(tmp_path, EVERY_TEST_IS_MOCKED)


def test_a_mock_left_open_is_closed_before_the_next_test(tmp_path: Path) -> None:
    suite = (
        "def test_1(): hashrange.mock().start()\n"
        "def test_2():\n"
        "    from hashrange.embedded.mock import open_mocks\n"
        "    assert open_mocks() == []\n"
        "def test_3(request): request.addfinalizer(started().stop)\n"
        "def started():\n"
        "    mock = hashrange.mock()\n"
        "    mock.start()\n"
        "    return mock\n"
    )
    assert "3 passed, 1 error" in run(tmp_path, CLIENT + suite, fails=True)
