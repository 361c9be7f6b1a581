"""The commands, and servers in a process of their own."""

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from command_line import command_line as run
from waiting import SECONDS_MAX

import hashrange


def command(*arguments: object) -> list[str]:
    program = "from hashrange.tools.cli import main; main()"
    return [sys.executable, "-c", program, *map(str, arguments)]


def run_apart(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in a process of its own, with the variables in its environment."""
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
        env=os.environ | variables,
    )


def fault(*arguments: object, **variables: Any) -> str:
    """The one line that a failing command prints."""
    ended = run(*arguments, **variables)
    assert ended.returncode == 1
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    assert line.startswith("hashrange: ")
    return line.removeprefix("hashrange: ")


class Serving:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout
        self.greeting = process.stdout.readline()
        port = re.search(r":(\d+) ", self.greeting)
        assert port, self.greeting
        self.port = int(port[1])
        self.admin_port = 0

    def admin(self) -> tuple[int, str]:
        """The admin port and its token, from the second line."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        found = re.search(r":(\d+) - Authorization: Bearer (\S+)$", line)
        assert found, line
        return int(found[1]), found[2]

    def client(self) -> Any:
        return boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            region_name="us-east-1",
            aws_access_key_id="x",
            aws_secret_access_key="y",
        )

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """The exit status, and the output on stderr."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=SECONDS_MAX)
        return self.process.returncode, said


@contextmanager
def serving(*arguments: object, **variables: str) -> Iterator[Serving]:
    process = subprocess.Popen(
        command("serve", "--port", 0, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )
    with process:
        try:
            yield Serving(process)
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with one table and one item."""
    path = tmp_path / "app.db"
    with hashrange.connect(path) as database:
        database.execute(
            "CreateTable",
            {
                "TableName": "Things",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        database.execute("PutItem", {"TableName": "Things", "Item": {"pk": {"S": "kept"}}})
    return path


def get(port: int, path: str, headers: Mapping[str, str] = {}) -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)) as connection:
        connection.request("GET", path, headers=dict(headers))
        response = connection.getresponse()
        return response.status, response.read().decode()
