"""A server in the place of LocalStack or DynamoDB Local: their health checks, and all else as
before; and the shim that takes DynamoDB Local's command line."""

import http.client
import json
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from programs import fault, serving
from waiting import SECONDS_MAX

import hashrange
from hashrange.model.caller import Caller
from hashrange.model.errors import LimitExceededException
from hashrange.server.workers.apart import DATABASES_MAX, Apart
from hashrange.server.workers.likeness import LIKENESSES
from hashrange.tools.dynamodb_local import arguments

pytestmark = pytest.mark.slow


def test_the_port_is_that_of_localstack() -> None:
    assert LIKENESSES["localstack"].port == 4566


@pytest.mark.parametrize("like", [True, False])
def test_the_health_of_localstack(like: bool) -> None:
    def get(path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS_MAX)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()

    with serving(*(["--like", "localstack"] if like else [])) as server:
        status, body = get("/_localstack/health")
        assert status == (200 if like else 404)
        if like:
            services = json.loads(body)["services"]
            assert services == {"dynamodb": "running", "dynamodbstreams": "running"}
        assert get("/")[0] == 200
        assert get("/_localstack/other")[0] == 404


SHARED = ("-Djava.library.path=./lib", "-jar", "DynamoDBLocal.jar", "-sharedDb")


def test_the_command_line_of_dynamodb_local_serves() -> None:
    command = (sys.executable, "-m", "hashrange.tools.dynamodb_local", *SHARED, "-inMemory")
    with subprocess.Popen((*command, "-port", "0"), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            first, second = process.stdout.readline(), process.stdout.readline()
            assert first.startswith("Initializing DynamoDB Local with the following configuration")
            port = re.search(r":(\d+) ", second)
            assert port, second
            client = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=SECONDS_MAX)
            client.request("GET", "/")
            answer = client.getresponse()
            assert answer.status == 400
            assert b"MissingAuthenticationToken" in answer.read()
        finally:
            process.terminate()


def test_options_of_dynamodb_local(tmp_path: Path) -> None:
    asked = arguments((*SHARED, "-dbPath", str(tmp_path), "-cors", "http://a,http://b"))
    assert asked[:2] == ["serve", str(tmp_path / "hashrange.db")]
    assert asked[-4:] == ["--cors", "http://a", "--cors", "http://b"]
    alone = arguments(("-jar", "DynamoDBLocal.jar", "-inMemory"))
    assert alone[:2] == ["serve", "--apart"]
    files = arguments(("-jar", "DynamoDBLocal.jar", "-dbPath", str(tmp_path)))
    assert files[:3] == ["serve", str(tmp_path), "--apart"]
    assert arguments(("-jar", "x", "-version")) == ["--version"]


@pytest.mark.parametrize("in_files", [False, True])
def test_each_key_and_region_has_its_database(tmp_path: Path, in_files: bool) -> None:
    place = [tmp_path] if in_files else []

    def client(port: int, key: str, region: str) -> Any:
        return boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name=region,
            aws_access_key_id=key,
            aws_secret_access_key="x",
        )

    def names(one: Any) -> list[str]:
        found: list[str] = one.list_tables()["TableNames"]
        return found

    with serving(*place, "--apart") as server:
        first = client(server.port, "one", "us-east-1")
        first.create_table(
            TableName="things",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        first.put_item(TableName="things", Item={"pk": {"S": "a" * 1000}})
        assert names(first) == ["things"]
        assert names(client(server.port, "two", "us-east-1")) == []
        assert names(client(server.port, "one", "eu-west-1")) == []
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            names(client(server.port, "..one", "us-east-1"))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait() == 0
    files = sorted(path.name for path in tmp_path.glob("*.db"))
    assert len(files) == (3 if in_files else 0)
    if in_files:
        with serving(tmp_path, "--apart") as server:
            assert names(client(server.port, "one", "us-east-1")) == ["things"]


def test_databases_apart_have_a_limit() -> None:
    with hashrange.connect() as first, closing(Apart(first, None, opened)) as apart:
        for number in range(DATABASES_MAX):
            apart.call("ListTables", b"{}", Caller("us-east-1", access_key=f"k{number}"))
        with pytest.raises(LimitExceededException):
            apart.call("ListTables", b"{}", Caller("us-east-1", access_key="more"))


def opened(path: Path | None) -> hashrange.Database:
    return hashrange.connect(path)


def test_what_apart_excludes(tmp_path: Path) -> None:
    assert "--apart cannot be combined with --console" in fault("serve", "--apart", "--console")
    assert "name a folder" in fault("serve", "--apart", tmp_path / "a.db")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((*SHARED, "-cors", "*"), "name the origins"),
        ((*SHARED, "-inMemory", "-dbPath", "."), "cannot be combined"),
        ((*SHARED, "-delayTransientStatuses"), "unknown option"),
        ((*SHARED, "-port"), "needs a value"),
    ],
)
def test_what_the_shim_refuses(options: tuple[str, ...], reason: str) -> None:
    with pytest.raises(SystemExit, match=reason):
        arguments(options)


@pytest.mark.parametrize("name", ["shared-local-instance.db", "x_us-east-1.db"])
def test_a_file_of_dynamodb_local_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"theirs")
    with pytest.raises(SystemExit, match="was not changed"):
        arguments((*SHARED, "-dbPath", str(tmp_path)))
    (tmp_path / "hashrange.db").touch()
    assert arguments((*SHARED, "-dbPath", str(tmp_path)))[0] == "serve"
