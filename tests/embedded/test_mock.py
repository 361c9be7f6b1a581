"""`hashrange.mock` as a context manager and as a decorator, with boto3."""

import asyncio
import inspect
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import boto3
import pytest
from botocore.config import Config
from botocore.endpoint import Endpoint
from botocore.exceptions import EndpointConnectionError, NoCredentialsError
from botocore.httpsession import URLLib3Session
from botocore.signers import RequestSigner
from botocore.utils import InstanceMetadataFetcher
from isolation import cut_off

import hashrange
from hashrange.embedded.mock import MockError

pytestmark = pytest.mark.slow

KEYS = {"aws_access_key_id": "AKID", "aws_secret_access_key": "y"}
ONCE = Config(retries={"total_max_attempts": 1})


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch)


@pytest.fixture
def database() -> Iterator[hashrange.Database]:
    with hashrange.connect() as database:
        yield database


def create_table(client: Any, name: str = "Things") -> Any:
    answer = client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    return answer["TableDescription"]


def tables() -> Any:
    return boto3.session.Session().client("dynamodb").list_tables()["TableNames"]


def add_a_table() -> int:
    """How many there are with it: 1 in an empty database."""
    create_table(boto3.session.Session().client("dynamodb"), f"table-{len(tables())}")
    return len(tables())


class TestClients:
    def test_made_inside_need_nothing(self) -> None:
        environment, default = dict(os.environ), boto3.DEFAULT_SESSION
        with hashrange.mock() as database:
            create_table(boto3.client("dynamodb"))
            assert boto3.resource("dynamodb").Table("Things").scan()["Items"] == []
            assert len(boto3.client("dynamodbstreams").list_streams()["Streams"]) == 1
            assert database.execute("ListTables", {})["TableNames"] == ["Things"]
        assert os.environ == environment
        assert boto3.DEFAULT_SESSION is default

    def test_made_before_are_answered_only_inside(self) -> None:
        client = boto3.client(
            "dynamodb",
            region_name="eu-west-1",
            endpoint_url="http://127.0.0.1:1",
            config=ONCE,
            **KEYS,
        )
        with hashrange.mock():
            arn = create_table(client)["TableArn"]
        assert arn.split(":")[3] == "eu-west-1"
        with pytest.raises(EndpointConnectionError):
            client.list_tables()

    def test_made_before_without_credentials(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        client = boto3.session.Session().client(
            "dynamodb", "eu-west-1", endpoint_url="http://127.0.0.1:1"
        )
        with hashrange.mock():
            assert create_table(client)["TableArn"].split(":")[3] == "eu-west-1"
        with pytest.raises(NoCredentialsError):
            client.list_tables()

    def test_in_other_threads(self) -> None:
        with hashrange.mock(), ThreadPoolExecutor(1) as pool:
            create_table(boto3.session.Session().client("dynamodb"))
            assert pool.submit(tables).result() == ["Things"]

    def test_of_a_databases_own_session(self, database: hashrange.Database) -> None:
        client = database.boto3_session().client("dynamodb")
        with hashrange.mock():
            create_table(client)
            assert tables() == []
        assert client.list_tables()["TableNames"] == ["Things"]

    def test_other_handlers_that_answer_are_passed_over(self) -> None:
        client = boto3.client("dynamodb", region_name="eu-west-1", config=ONCE, **KEYS)
        called = []

        def other(**_: Any) -> NoReturn:
            called.append("other")
            raise ZeroDivisionError

        client.meta.events.register("before-send", other)
        with hashrange.mock():
            assert client.list_tables()["TableNames"] == []
        assert called == []
        with pytest.raises(ZeroDivisionError):
            client.list_tables()


class TestRefusals:
    def test_another_service(self) -> None:
        with hashrange.mock():
            with pytest.raises(MockError, match=r"^POST https://sts\.\S+ was not sent: "):
                boto3.client("sts").get_caller_identity()
            with pytest.raises(MockError, match=r"^GET https://\S+ was not sent: .*mock_aws"):
                boto3.client("s3").list_buckets()

    def test_the_metadata_of_the_machine(self) -> None:
        with hashrange.mock(), pytest.raises(MockError, match="was not sent"):
            InstanceMetadataFetcher().retrieve_iam_role_credentials()

    def test_a_mistaken_database(self) -> None:
        with pytest.raises(TypeError, match=r"takes a database .*, not 'app\.db'"):
            hashrange.mock("app.db")  # type: ignore[call-overload]


class TestSeveral:
    def test_the_inner_answers(self, database: hashrange.Database) -> None:
        with hashrange.mock():
            with hashrange.mock(database):
                add_a_table()
            assert tables() == []
        assert len(database.execute("ListTables", {})["TableNames"]) == 1

    def test_entered_twice(self) -> None:
        mock = hashrange.mock()
        with mock:
            with pytest.raises(
                MockError, match=r"^this .*, opened at \S+test_mock\.py:\d+, is still open;"
            ):
                mock.__enter__()
            assert tables() == []
        with mock:
            assert tables() == []
        with pytest.raises(MockError, match="is not open"):
            mock.__exit__(None, None, None)

    def test_an_inner_one_left_open(self) -> None:
        inner = hashrange.mock()
        left_open = pytest.raises(MockError, match=r"at \S+test_mock\.py:\d+ is still open$")
        with left_open, hashrange.mock():
            inner.__enter__()
        assert tables() == []
        inner.__exit__(None, None, None)

    def test_one_left_open_at_the_end(self) -> None:
        program = "import hashrange\nhashrange.mock().__enter__()"
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert run.stderr == "hashrange.mock() opened at <string>:2 was never closed\n"


class TestTheEnd:
    def test_with_an_exception_too(self) -> None:
        environment = dict(os.environ)
        methods = URLLib3Session.send, Endpoint._do_get_response, RequestSigner.sign
        with pytest.raises(ZeroDivisionError), hashrange.mock():
            os.environ["AWS_ACCESS_KEY_ID"] += str(1 // 0)
        assert os.environ == environment
        assert methods == (URLLib3Session.send, Endpoint._do_get_response, RequestSigner.sign)

    def test_variables_that_are_set_are_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mine too")
        environment = dict(os.environ)
        with hashrange.mock():
            assert os.environ == environment
            arn = create_table(boto3.session.Session().client("dynamodb"))["TableArn"]
        assert arn.split(":")[3] == "eu-north-1"
        assert os.environ == environment

    def test_a_change_made_meanwhile_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def other(*_: Any) -> None: ...

        with monkeypatch.context() as patch:
            with hashrange.mock():
                patch.setattr(URLLib3Session, "send", other)
            assert URLLib3Session.send is other
        client = boto3.client("dynamodb", region_name="eu-west-1", config=ONCE, **KEYS)
        with pytest.raises(EndpointConnectionError):
            client.list_tables()


class TestFunctions:
    def test_each_call_starts_empty(self) -> None:
        @hashrange.mock()
        def decorated(number: int) -> int:
            return number * add_a_table()

        assert [decorated(number=2), decorated(3)] == [2, 3]
        assert decorated.__name__ == "decorated"

    def test_without_parentheses(self) -> None:
        assert hashrange.mock(add_a_table)() == 1

    def test_with_a_database(self, database: hashrange.Database) -> None:
        decorated = hashrange.mock(database)(add_a_table)
        assert [decorated(), decorated()] == [1, 2]

    def test_a_coroutine(self) -> None:
        @hashrange.mock()
        async def decorated() -> int:
            await asyncio.sleep(0)
            return add_a_table()

        assert inspect.iscoroutinefunction(decorated)
        assert asyncio.run(decorated()) == 1

    def test_generators(self) -> None:
        @hashrange.mock()
        def fixture() -> Iterator[int]:
            yield add_a_table()
            yield add_a_table()

        @hashrange.mock()
        async def async_fixture() -> AsyncIterator[int]:
            yield add_a_table()
            yield add_a_table()

        async def collected() -> list[int]:
            return [number async for number in async_fixture()]

        assert list(fixture()) == asyncio.run(collected()) == [1, 2]

    @pytest.mark.parametrize("target", [staticmethod(add_a_table), 5])
    def test_only_functions_and_classes_are_decorated(self, target: Any) -> None:
        with pytest.raises(TypeError, match="decorates functions and test classes, not"):
            hashrange.mock()(target)

    def test_a_class_without_tests(self) -> None:
        with pytest.raises(TypeError, match="Empty has no test"):
            hashrange.mock()(type("Empty", (), {}))


SUITE = """
import unittest
import boto3
import hashrange

def add_a_table():
    client = boto3.client("dynamodb", region_name="us-east-1")
    client.create_table(
        TableName=f"table-{len(client.list_tables()['TableNames'])}",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return len(client.list_tables()["TableNames"])

@hashrange.mock()
class Each(unittest.TestCase):
    def setUp(self): assert add_a_table() == 1
    def test_one(self): assert add_a_table() == 2
    def test_two(self): assert add_a_table() == 2
    def tearDown(self): assert add_a_table() == 3

class Inherited(Each):
    pass

@hashrange.mock
class Awaited(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): assert add_a_table() == 1
    async def test_one(self): assert add_a_table() == 2

@hashrange.mock()
class Together(unittest.TestCase):
    @classmethod
    def setUpClass(cls): assert add_a_table() == 1
    def test_1(self): assert add_a_table() == 2
    def test_2(self): assert add_a_table() == 3
    @classmethod
    def tearDownClass(cls): assert add_a_table() == 4
"""
PYTEST_SUITE = """
@hashrange.mock()
class TestEach:
    def setup_method(self): assert add_a_table() == 1
    def test_one(self): assert add_a_table() == 2
    def test_two(self, tmp_path): assert add_a_table() == 2
    def teardown_method(self, method): assert add_a_table() == 3

@hashrange.mock()
class TestBare:
    def test_one(self): assert add_a_table() == 1

@hashrange.mock()
class TestTogether:
    @classmethod
    def setup_class(cls): assert add_a_table() == 1
    def test_1(self): assert add_a_table() == 2
    def test_2(self): assert add_a_table() == 3
    @classmethod
    def teardown_class(cls): assert add_a_table() == 4

@hashrange.mock()
def test_function(tmp_path): assert add_a_table() == 1

class TestWithout:
    def test_closed(self):
        from hashrange.embedded import mock
        assert mock._open == []
"""


@pytest.mark.parametrize(
    ("runner", "suite", "count"),
    [("unittest", SUITE, "Ran 7 tests"), ("pytest", SUITE + PYTEST_SUITE, "14 passed")],
)
def test_whole_classes(runner: str, suite: str, count: str, tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(suite)
    run = subprocess.run(
        [sys.executable, "-m", runner, "test_suite.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert count in run.stdout + run.stderr


def test_the_environment_of_a_failed_start() -> None:
    """A database that cannot be opened leaves nothing behind."""
    environment = dict(os.environ)
    with pytest.raises(FileNotFoundError), hashrange.mock(access="no/such/file"):
        pass
    assert os.environ == environment
