"""A server in the place of LocalStack or DynamoDB Local: their health checks, and all else as
before; and the shim that takes DynamoDB Local's command line."""

import http.client
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_command_line import serving
from waiting import SECONDS_MAX

from hashrange.interfaces.dynamodb_local import arguments
from hashrange.interfaces.service.likeness import LIKENESSES

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
    command = (sys.executable, "-m", "hashrange.interfaces.dynamodb_local", *SHARED, "-inMemory")
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
    assert arguments(("-jar", "x", "-version")) == ["--version"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("-jar", "DynamoDBLocal.jar", "-inMemory"), "without -sharedDb"),
        ((*SHARED, "-cors", "*"), "name the origins"),
        ((*SHARED, "-inMemory", "-dbPath", "."), "exclude each other"),
        ((*SHARED, "-delayTransientStatuses"), "not an option"),
        ((*SHARED, "-port"), "needs a value"),
    ],
)
def test_what_the_shim_refuses(options: tuple[str, ...], reason: str) -> None:
    with pytest.raises(SystemExit, match=reason):
        arguments(options)


@pytest.mark.parametrize("name", ["shared-local-instance.db", "x_us-east-1.db"])
def test_a_file_of_dynamodb_local_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"theirs")
    with pytest.raises(SystemExit, match="stays as it is"):
        arguments((*SHARED, "-dbPath", str(tmp_path)))
    (tmp_path / "hashrange.db").touch()
    assert arguments((*SHARED, "-dbPath", str(tmp_path)))[0] == "serve"
