"""`python -m benchmarks.vectors`: vector searches of hashrange and of dynoxide.

Each server is filled over HTTP with random vectors of length 1, in two indexes: one that is
searched as a whole, and one with a HASH attribute. Processor time is that of the server, which a
busy machine disturbs least.
"""

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks import load, peers, report
from benchmarks.servers import Running, Server, ServerFailedError

TABLE, TOP = "vectors", 10
PER_PARTITION = 1_000
SEARCHERS = 8
SECONDS = 5
BATCH = 25


class Figures(NamedTuple):
    """Milliseconds of the server's processor time; but `get_p99` and `get_p99_beside` are waiting
    times in milliseconds, and `memory_mb` is memory."""

    put: float
    first: float
    warm: float
    partition: float
    get_p99: float
    get_p99_beside: float
    memory_mb: float


def definition(dimensions: int) -> dict[str, Any]:
    def index(name: str, **more: Any) -> dict[str, Any]:
        return {
            "IndexName": name,
            "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": dimensions,
            "DistanceFunction": "COSINE",
            "Projection": {"ProjectionType": "ALL"},
            **more,
        }

    by_tenant = [{"AttributeName": "tenant", "SearchSchemaElementType": "HASH"}]
    return {
        "TableName": TABLE,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("id", "tenant")
        ],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "VectorIndexes": [index("all"), index("by-tenant", SearchSchema=by_tenant)],
    }


def vector(random: Random, dimensions: int) -> list[dict[str, str]]:
    numbers = [random.gauss(0, 1) for _ in range(dimensions)]
    length = math.sqrt(sum(number * number for number in numbers))
    return [{"N": f"{number / length:.7g}"} for number in numbers]


def batches(rows: int, dimensions: int) -> Iterator[bytes]:
    random = Random(1)
    for first in range(0, rows, BATCH):
        items = [
            {
                "id": {"S": f"d{number}"},
                "tenant": {"S": f"t{number // PER_PARTITION}"},
                "v": {"L": vector(random, dimensions)},
            }
            for number in range(first, min(first + BATCH, rows))
        ]
        puts = [{"PutRequest": {"Item": item}} for item in items]
        yield json.dumps({"RequestItems": {TABLE: puts}}).encode()


def searches(dimensions: int, count: int, tenant: str | None = None) -> list[bytes]:
    random = Random(2)
    more: dict[str, Any] = {"IndexName": "all"}
    if tenant is not None:
        more = {
            "IndexName": "by-tenant",
            "SearchConditionExpression": "tenant = :t",
            "ExpressionAttributeValues": {":t": {"S": tenant}},
        }
    request = {"TableName": TABLE, "TopK": TOP, "ProjectionExpression": "id", **more}
    return [
        json.dumps({**request, "SearchVector": vector(random, dimensions)}).encode()
        for _ in range(count)
    ]


def ask(running: Running, operation: str, body: bytes) -> None:
    status, answer = running.ask(operation, body)
    if status != 200:
        raise ServerFailedError(f"{running.server.name}: {operation}: {answer[:200]!r}")


def processor_ms(running: Running, operation: str, bodies: list[bytes]) -> list[float]:
    """The server's processor time for each request."""
    times = []
    for body in bodies:
        before = running.processor_seconds()
        ask(running, operation, body)
        times.append((running.processor_seconds() - before) * 1e3)
    return times


def measure(
    server: Server, folder: Path, rows: int, dimensions: int, say: Callable[[str], object]
) -> Figures:
    with Running(server, folder / server.name.replace(" ", "-")) as running:
        ask(running, "CreateTable", json.dumps(definition(dimensions)).encode())
        time.sleep(1)  # until the table is ACTIVE
        say(f"{server.name}: {rows:,} vectors are put")
        before = running.processor_seconds()
        for body in batches(rows, dimensions):
            ask(running, "BatchWriteItem", body)
        put = (running.processor_seconds() - before) * 1e3 / rows
        say(f"{server.name}: searches")
        whole = searches(dimensions, 15)
        first, *warm = processor_ms(running, "SearchVectors", whole)
        _, *partition = processor_ms(running, "SearchVectors", searches(dimensions, 40, "t0"))
        quiet, beside = waits(running, folder, whole)
        return Figures(
            put, first, median(warm), median(partition), quiet, beside, running.memory_mb("RssAnon")
        )


def waits(running: Running, folder: Path, bodies: list[bytes]) -> tuple[float, float]:
    """The p99 of GetItem in milliseconds, alone and beside clients that search."""
    key = json.dumps({"TableName": TABLE, "Key": {"id": {"S": "d1"}}}).encode()
    gets, noise = folder / "gets", folder / "searches"
    load.write_requests(gets, [load.http_request("GetItem", key)])
    load.write_requests(noise, [load.http_request("SearchVectors", body) for body in bodies])
    quiet = load.finish(load.start(running.port, gets, SECONDS, 1))
    beside = load.start(running.port, noise, SECONDS + 2, SEARCHERS)
    busy = load.finish(load.start(running.port, gets, SECONDS, 1))
    load.finish(beside)
    return quiet.p99_ms, busy.p99_ms


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=768)
    parser.add_argument("--only", choices=["hashrange", "dynoxide"])
    arguments = parser.parse_args()
    console = Console()
    sources = [peers.hashrange, peers.dynoxide]
    rows = []
    for source in sources:
        if arguments.only in (None, source.__name__):
            try:
                server = source()[0]
            except peers.UnavailableError as reason:
                console.print(f"[yellow]{source.__name__} is left out: {reason}")
                continue
            with tempfile.TemporaryDirectory() as folder:
                seen = measure(
                    server, Path(folder), arguments.rows, arguments.dimensions, console.print
                )
            rows.append([report.heading(server), *(f"{figure:.1f}" for figure in seen)])
    title = f"{arguments.rows:,} vectors of {arguments.dimensions} dimensions, TopK {TOP}"
    columns = [
        *("", "put, ms", "first search, ms", "search, ms", "search of 1,000, ms"),
        *("GetItem p99, ms", "the same beside 8 searchers", "memory, MB"),
    ]
    report.show([report.Grid(title, columns, rows)], console)
    console.print(report.machine())


if __name__ == "__main__":
    main()
