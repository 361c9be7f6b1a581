"""Servers over PostgreSQL in processes of their own, and clients of them."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from waiting import SECONDS_MAX


class Serving:
    """`hashrange serve` with an admin port, on any free ports or on a given one.

    `program` is run before.
    """

    def __init__(self, dsn: str, port: str = "0", program: str = "") -> None:
        start = f"{program}\nfrom hashrange.tools.cli import main; main()"
        command = [sys.executable, "-c", start, "serve", dsn, "--port", port]
        self.process = subprocess.Popen(
            [*command, "--admin-port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(2)]
        self.url, self.admin = map(_url, lines)
        self.token = lines[1].split()[-1]

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    def end(self) -> str:
        """Send SIGTERM, as a supervisor does. Returns what the server has logged."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=SECONDS_MAX)
        assert self.process.returncode == 0, log
        return log


def _url(line: str) -> str:
    found = re.search(r"http://\S+", line)
    assert found, line
    return found.group()


@contextmanager
def serving(dsn: str, program: str = "") -> Iterator[Serving]:
    server = Serving(dsn, program=program)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def client_of(url: str, attempts: int = 4) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
        config=Config(retries={"mode": "standard", "total_max_attempts": attempts}),
    )
