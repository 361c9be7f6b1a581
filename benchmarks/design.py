"""`python -m benchmarks.design`: what the toolkit adds to a bare call, beside other libraries.

Each library does the same work on the same database, in process and over HTTP: it gets one item,
queries the 50 items of a partition, puts one item and updates one. The figures are microseconds,
the medians of rounds in which all libraries take turns, so that a busy minute disturbs them all.
In process, processor time is measured.

What the toolkit adds to boto3 is measured as processor time of the client's thread. The two take
turns, call by call, against a server in another process, so neither the server's work nor that of
other programs is part of it. It is a strict measure, as a real caller also waits for the server.
"""

import asyncio
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import boto3

import hashrange
from benchmarks.design_peers import CREDENTIALS, PEERS, REGION, Work
from hashrange import design as st
from hashrange.design.execute.reads.loading import LoadedItems
from hashrange.server.listener import open_listener
from hashrange.server.server import Server

ITEMS = 50
ROUNDS = 25
ROUND_SECONDS = 0.01
ENTITIES = 30
TURNS = 400
OPERATIONS = ("get", "query", "put", "update")


class Sensor(st.Item):
    key = st.key("building#{building_id}", "sensor#{sensor_id}")
    on_floor = st.index("GSI1", "floor#{floor_id}", "sensor#{sensor_id}")
    in_room = st.index("GSI2", "room#{room_id}", "sensor#{sensor_id}")

    building_id: str
    sensor_id: str
    floor_id: str
    room_id: str | None = None
    seen: int = 0


class Sensors(st.Store, Protocol):
    def sensor(self, building_id: str, sensor_id: str) -> Sensor | None: ...
    def sensors(self, building_id: str) -> st.Query[Sensor]: ...


table = st.Table("sensors", Sensors)


def filled() -> hashrange.Database:
    database = hashrange.connect()
    fill(database)
    return database


def fill(connection: Any) -> None:
    table.create(connection)
    with table.open(Sensors, connection).batch() as batch:
        for n in range(ITEMS):
            batch.put(sensor(n))


def client_of(endpoint: str) -> Any:
    return boto3.client("dynamodb", endpoint_url=endpoint, region_name=REGION, **CREDENTIALS)


def sensor(number: int) -> Sensor:
    return Sensor(building_id="b-1", sensor_id=f"s-{number:03d}", floor_id="f-1", room_id="r-1")


def requests() -> dict[str, dict[str, Any]]:
    """GetItem, Query, PutItem and UpdateItem, as the model makes them."""
    one = sensor(1)
    asked = (
        table.request(Sensors.sensor, "b-1", "s-001"),
        table.request(Sensors.sensors, "b-1"),
        table.request(Sensors.put, one),
        table.request(Sensors.add, one, seen=1),
    )
    payloads = (shown.requests[0][1] for shown in asked)
    return dict(zip(OPERATIONS, payloads, strict=True))


# ---- the same work with each library ----


def bare(database: hashrange.Database) -> Work:
    asked = requests()
    return {
        "get": lambda: database.execute("GetItem", asked["get"]),
        "query": lambda: database.execute("Query", asked["query"]),
        "put": lambda: database.execute("PutItem", asked["put"]),
        "update": lambda: database.execute("UpdateItem", asked["update"]),
    }


def ours(connection: Any) -> Work:
    db = table.open(Sensors, connection)
    one = sensor(1)
    return {
        "get": lambda: db.sensor("b-1", "s-001"),
        "query": lambda: list(db.sensors("b-1")),
        "put": lambda: db.put(one),
        "update": lambda: db.add(one, seen=1),
    }


def plain_boto3(client: Any) -> Work:
    asked = requests()
    return {
        "get": lambda: client.get_item(**asked["get"]),
        "query": lambda: client.query(**asked["query"]),
        "put": lambda: client.put_item(**asked["put"]),
        "update": lambda: client.update_item(**asked["update"]),
    }


def over_http(endpoint: str, client: Any) -> dict[str, Work]:
    """The work of each library over HTTP. A library that is not installed is left out, and the
    reason is printed."""
    rows = {"boto3 over HTTP": plain_boto3(client), "design over HTTP": ours(client)}
    for peer in PEERS:
        try:
            rows[f"{peer.__name__} over HTTP"] = peer(endpoint, client)
        except ImportError as reason:
            print(f"{peer.__name__} is left out: {reason}")
    return rows


# ---- the parts of the toolkit's own time ----


def parts(database: hashrange.Database) -> dict[str, Work]:
    """The toolkit's steps before and after a request: it makes the request from arguments, and
    items from the answer."""
    db = table.open(Sensors, database)
    one_call, all_call = db.sensor.call, db.sensors.call  # type: ignore[attr-defined]
    one, entity = sensor(1), table.model.entity(Sensor)
    asked = requests()
    raw = database.execute("GetItem", asked["get"])["Item"]
    raws = database.execute("Query", asked["query"])["Items"]

    def ask_one() -> object:
        bound = one_call.bind(("b-1", "s-001"), {})
        return bound.builder.get(bound.arguments)

    def ask_all() -> object:
        bound = all_call.bind(("b-1",), {})
        return bound.builder.queries(bound.arguments)

    return {
        "  arguments to a request": {
            "get": ask_one,
            "query": ask_all,
            "put": lambda: entity.dump(one),
        },
        "  the answer to items": {
            "get": lambda: one_call.loader.load(entity, raw),
            "query": lambda: all_call.loader.load_all(raws, LoadedItems()),
        },
    }


# ---- a model of thirty entities ----

HEAD = """
from datetime import datetime
from typing import Protocol
from hashrange import design as st
"""
ENTITY = """
class Entity{n}(st.Item):
    key = st.key("owner{n}#{{owner}}", "part#{{part}}")
    by_state = st.index("GSI1", "state{n}#{{state}}", "at#{{at:%Y-%m-%dT%H:%M:%S.%f}}#{{part}}")
    owner: st.Slug
    part: st.Slug
    state: st.Slug
    at: datetime
    name: str = ""
"""
PATTERNS = """
    def one{n}(self, owner: str, part: str) -> Entity{n} | None: ...
    def parts{n}(self, owner: str) -> st.Query[Entity{n}]: ...
    def recent{n}(self, state: str, at: st.AtLeast[datetime]) -> st.Query[Entity{n}]: ...
"""


def many() -> st.Table:
    """ENTITIES entities in one table, each with an index and three patterns."""
    entities, patterns = (
        "".join(text.format(n=n) for n in range(ENTITIES)) for text in (ENTITY, PATTERNS)
    )
    source = f"{HEAD}{entities}\nclass Patterns(st.Store, Protocol):\n{patterns}"
    module: dict[str, Any] = {"__name__": __name__}
    exec(source, module)
    return st.Table("many", module["Patterns"])


# ---- the time of its import ----

IMPORT = """
from time import process_time
import pydantic
class Model(pydantic.BaseModel):
    field: int = 0
started = process_time()
import hashrange.design
print((process_time() - started) * 1000)
"""
"""Pydantic, and what it loads for any model, are imported before the time starts."""


def import_ms() -> float:
    """The processor time of `IMPORT` in a new process, in milliseconds."""
    command = (sys.executable, "-c", IMPORT)
    runs = (subprocess.run(command, capture_output=True, check=True) for _ in range(10))
    return statistics.median(float(run.stdout) for run in runs)


# ---- measuring and printing ----


def in_turns(
    rows: dict[str, Work], clock: Callable[[], float] = time.thread_time
) -> dict[str, list[float]]:
    """The median microseconds of a call, by row, one for each operation. The default clock counts
    the processor time of this thread."""
    medians: dict[str, list[float]] = {name: [] for name in rows}
    for operation in OPERATIONS:
        works = {name: row[operation] for name, row in rows.items() if operation in row}
        calls = {
            name: round(ROUND_SECONDS / seconds(work, clock)) or 1 for name, work in works.items()
        }
        rounds: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(ROUNDS):
            for name, work in works.items():
                rounds[name].append(seconds(work, clock, calls[name]) * 1e6)
        for name, measured in rounds.items():
            medians[name].append(statistics.median(measured))
    return medians


def seconds(work: Callable[[], object], clock: Callable[[], float], calls: int = 10) -> float:
    """Seconds per call."""
    started = clock()
    for _ in range(calls):
        work()
    return (clock() - started) / calls


def show(rows: dict[str, list[float]]) -> None:
    for name, medians in rows.items():
        print(f"{name:28}" + "".join(f"{median:10.1f}" for median in medians))


def added(client: Any) -> dict[str, list[float]]:
    """Processor time of this thread for a call with boto3 alone, and with the toolkit."""
    theirs, mine = plain_boto3(client), ours(client)
    rows: dict[str, list[float]] = {"boto3": [], "design": [], "added, per cent": []}
    for operation in OPERATIONS:
        works = theirs[operation], mine[operation]
        taken = [0.0, 0.0]
        for turn in range(-TURNS // 10, TURNS):
            for n, work in enumerate(works):
                started = time.thread_time()
                work()
                if turn >= 0:  # earlier turns warm up
                    taken[n] += time.thread_time() - started
        for row, value in zip(rows.values(), taken, strict=False):
            row.append(value / TURNS * 1e6)
        rows["added, per cent"].append(100 * (taken[1] / taken[0] - 1))
    return rows


@contextmanager
def served_apart() -> Iterator[str]:
    """Serves a database in memory from another process. Gives its endpoint."""
    command = (sys.executable, "-m", "hashrange", "serve", "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield re.search(r"http://\S+", process.stdout.readline())[0]  # type: ignore[index]
        finally:
            process.terminate()


@contextmanager
def served(database: hashrange.Database) -> Iterator[str]:
    """Serves this database from a thread. Gives its endpoint."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    listener = open_listener("127.0.0.1", 0)
    server = Server(database.runtime, listener)
    asyncio.run_coroutine_threadsafe(server.start(), loop).result()
    try:
        yield f"http://127.0.0.1:{listener.port}"
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def main() -> None:
    database = filled()
    print(f"{'microseconds':28}{'get':>10}{f'query {ITEMS}':>10}{'put':>10}{'update':>10}")
    show(in_turns({"Database.execute": bare(database), "design in process": ours(database)}))
    with served(database) as endpoint:
        show(in_turns(over_http(endpoint, client_of(endpoint)), time.perf_counter))
    show(in_turns(parts(database)))
    with served_apart() as endpoint:
        client = client_of(endpoint)
        fill(client)
        print("processor time in the client's thread:")
        show(added(client))
    entity, one = table.model.entity(Sensor), sensor(1)
    there_and_back = statistics.median(
        seconds(lambda: entity.load(entity.dump(one)), time.thread_time, 1000)
        for _ in range(ROUNDS)
    )
    print(f"a sensor to keys and back: {there_and_back * 1e6:.1f} us")
    print(f"import hashrange.design, beyond pydantic: {import_ms():.0f} ms")
    model = many()
    linting = seconds(lambda: st.lint(model), time.thread_time)
    print(f"linting {ENTITIES} entities: {linting * 1000:.0f} ms")


if __name__ == "__main__":
    main()
