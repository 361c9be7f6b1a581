"""A server with several workers, for tests."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from programs import Serving, get, serving

WORKERS = 2
TOKEN = {"Authorization": "Bearer a token of some length"}


def workers_of(server: Serving) -> list[int]:
    found = subprocess.run(
        ["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True, check=False
    )
    return sorted(map(int, found.stdout.split()))


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@contextmanager
def workers(path: Path, *more: object, **environment: str) -> Iterator[Serving]:
    """They have an admin port. Whatever a test leaves behind ends with the supervisor."""
    variables = {"HASHRANGE_ADMIN_TOKEN": "a token of some length", **environment}
    arguments = ("--workers", WORKERS, "--admin-port", 0, *more)
    with serving(path, *arguments, **variables) as server:
        assert server.process.stdout
        found = re.search(r":(\d+) - its token", server.process.stdout.readline())
        assert found
        server.admin_port = int(found[1])
        yield server


def client(server: Serving, service: str = "dynamodb", **config: Any) -> Any:
    """With a single connection, which stays at one worker."""
    return boto3.client(
        service,
        endpoint_url=f"http://127.0.0.1:{server.port}",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
        config=Config(max_pool_connections=1, **config),
    )


def connected(server: Serving, service: str = "dynamodb") -> list[Any]:
    """Clients that are connected to different workers, one after the other."""
    clients = [client(server, service) for _ in range(2 * WORKERS)]
    for one in clients:
        one.list_tables() if service == "dynamodb" else one.list_streams()
    return clients


def create(one: Any, name: str, **more: Any) -> None:
    one.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )


def metric(server: Serving, name: str) -> float:
    status, page = get(server.admin_port, "/metrics", TOKEN)
    assert status == 200, page
    return sum(
        float(line.rsplit(" ", 1)[1])
        for line in page.splitlines()
        if re.match(rf"{name}(\{{|\s)", line)
    )
