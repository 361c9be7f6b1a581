"""The load generator: wrk replays a file of prepared requests on a few connections."""

import resource
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import NamedTuple

CONNECTIONS = 16
SCRIPT = Path(__file__).with_name("replay.lua")
HEAD = (
    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n"
    "X-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\n"
    "Authorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={signature}\r\n"
    "Content-Length: {length}\r\n\r\n"
)
"""The head of each request. It is well formed, so that every implementation accepts it. None of
them verifies the signature."""


class Load(NamedTuple):
    """What one run of the generator measured.

    `busy` is the share of one core that the generator took. `server_us` is the processor time
    that the server took for one request, in all its threads and in the kernel: the figure that
    a busy machine disturbs least. `others` is the number of cores that other programs took.
    """

    requests_per_second: float
    p50_ms: float
    p99_ms: float
    failed: int
    busy: float = 0.0
    server_us: float = 0.0
    others: float = 0.0


def http_request(operation: str, body: bytes) -> bytes:
    head = HEAD.format(operation=operation, signature="0" * 64, length=len(body))
    return head.encode() + body


def write_requests(path: Path, requests: Iterable[bytes]) -> None:
    """Write the requests in the form that replay.lua reads."""
    with path.open("wb") as file:
        for request in requests:
            file.write(b"%d\n" % len(request) + request)


def missing() -> str | None:
    """Why the generator cannot run here, or None."""
    return None if shutil.which("wrk") else "wrk is not installed: apt-get install wrk"


def start(
    port: int, requests: Path, seconds: int, connections: int = CONNECTIONS
) -> subprocess.Popen[str]:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s"]
    command += ["-s", str(SCRIPT), f"http://127.0.0.1:{port}/", "--", str(requests)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(generator: subprocess.Popen[str]) -> Load:
    output, _ = generator.communicate()
    [line] = [line for line in output.splitlines() if line.startswith("RESULT ")]
    count, microseconds, failed, p50, p99 = map(int, line.split()[1:])
    return Load(count / microseconds * 1e6, p50 / 1e3, p99 / 1e3, failed)


def drive(port: int, requests: Path, seconds: int) -> Load:
    """Run the generator to its end. Raises ValueError if it prints no result."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    load = finish(start(port, requests, seconds))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return load._replace(busy=used / seconds)


def typical(loads: list[Load]) -> Load:
    """The median of each figure, on which one disturbed run has no effect."""
    return Load(
        median(load.requests_per_second for load in loads),
        median(load.p50_ms for load in loads),
        median(load.p99_ms for load in loads),
        sum(load.failed for load in loads),
        median(load.busy for load in loads),
        median(load.server_us for load in loads),
        median(load.others for load in loads),
    )
