"""Servers that archive one file are killed again and again, and the file is restored each time.

Each client writes items with consecutive numbers, one after the other was acknowledged. So in every
state that the database ever had, the items of a client are those up to some number.
"""

import sys
import time
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest

import hashrange
from hashrange.archive import Contents, Restored, restore
from hashrange.objects import Objects, open_objects

from .runs import Violation, chance, times
from .serving import Connection, NoAnswerError, Server

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9"),
]

KILLS = times(3, 500)
CLIENTS = 3
SECONDS_MAX = 0.6
PART_BYTES = 1 << 16
TABLE = "Numbers"

# Everything that happens once in a while happens all the time.
OFTEN = f"""
import hashrange.archive.format, hashrange.archive.shipper, hashrange.storage.sqlite.tail
hashrange.archive.format.PART_BYTES = {PART_BYTES}
hashrange.archive.shipper.EVERY_SECONDS = 0.03
hashrange.archive.shipper._COPY_BYTES_MIN = 100_000
hashrange.storage.sqlite.tail.FRAMES_EVERY = 60
"""


class Writer(Thread):
    """`acknowledged` has the time of the answer to each number."""

    def __init__(self, name: str, servers: list[Server], random: Random) -> None:
        super().__init__(name=name)
        self.servers = servers
        self.random = random
        self.stop = Event()
        self.acknowledged: list[float] = []

    def run(self) -> None:
        connection: Connection | None = None
        while not self.stop.is_set():
            try:
                connection = connection or Connection(self.random.choice(self.servers).port)
                self.put(connection)
                self.acknowledged.append(time.time())
            except NoAnswerError:
                connection = None
                time.sleep(0.01)

    def put(self, connection: Connection) -> None:
        item = {
            "pk": {"S": self.name},
            "number": {"N": str(len(self.acknowledged))},
            "text": {"S": "x" * self.random.randrange(600)},
        }
        status, body = connection.ask("PutItem", {"TableName": TABLE, "Item": item})
        if status != 200 and "InternalServerError" in str(body):
            raise NoAnswerError
        assert status == 200, body


def create(path: Path) -> None:
    with hashrange.connect(path) as database:
        database.execute(
            "CreateTable",
            {
                "TableName": TABLE,
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "number", "KeyType": "RANGE"},
                ],
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "number", "AttributeType": "N"},
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )


def counts(path: Path, writers: list[Writer]) -> list[int]:
    """How many numbers of each writer there are. Raises Violation unless they are a prefix."""
    found = []
    with hashrange.connect(path) as database:
        for problem in database.check():
            raise Violation(problem)
        for writer in writers:
            numbers: list[int] = []
            for page in pages(database, writer.name):
                numbers += [int(item["number"]["N"]) for item in page]
            if numbers != list(range(len(numbers))):
                raise Violation(f"{writer.name}: a state that never was: {numbers}")
            found.append(len(numbers))
    return found


def pages(database: hashrange.Database, name: str) -> "list[list[dict[str, dict[str, str]]]]":
    request = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": name}},
    }
    answers = [database.execute("Query", request)]
    while last := answers[-1].get("LastEvaluatedKey"):
        answers.append(database.execute("Query", {**request, "ExclusiveStartKey": last}))
    return [answer["Items"] for answer in answers]


class Drill:
    def __init__(self, folder: Path, objects: Objects, writers: list[Writer]) -> None:
        self.folder = folder
        self.objects = objects
        self.writers = writers
        self.restores = 0

    def restored(self, at: float | None = None) -> tuple[list[int], Restored]:
        self.restores += 1
        path = self.folder / f"restored-{self.restores}.db"
        state = restore(self.objects, str(path), at)
        found = counts(path, self.writers)
        path.unlink()
        return found, state

    def latest(self) -> None:
        """What was acknowledged before the last segment but one was stamped is in the last."""
        found, state = self.restored()
        at = state.segment
        before = Contents(self.objects).segment(at.generation, at.number - 1)
        for writer, count in zip(self.writers, found, strict=True):
            due = sum(
                answered < before.segment.time if before else False
                for answered in list(writer.acknowledged)
            )
            if count < due:
                raise Violation(f"{writer.name}: {due} were acknowledged, {count} are restored")

    def earlier(self, random: Random) -> None:
        """Of two moments, the later one has everything that the earlier one has."""
        first = min(snapshot.time for snapshot in Contents(self.objects).snapshots())
        one, other = sorted(random.uniform(first, time.time()) for _ in range(2))
        (before, at), (after, _) = self.restored(one), self.restored(other)
        assert at.segment.time <= one
        if any(a < b for a, b in zip(after, before, strict=True)):
            raise Violation(f"{before} at {one}, {after} at {other}")


def live(folder: Path, kills: int, random: Random) -> Drill:
    path, place = folder / "app.db", folder / "archive"
    create(path)
    arguments = (str(path), "--archive", str(place))
    servers = [Server(*arguments, program=OFTEN) for _ in range(2)]
    writers = [Writer(f"writer-{n}", servers, Random(random.random())) for n in range(CLIENTS)]
    drill = Drill(folder, open_objects(str(place)), writers)
    for writer in writers:
        writer.start()
    try:
        while not Contents(drill.objects).snapshots():
            time.sleep(0.01)
        for _ in range(kills):
            time.sleep(random.uniform(0.01, SECONDS_MAX))
            victims = servers if random.random() < 0.5 else [random.choice(servers)]
            for server in victims:
                server.kill()
            drill.latest()
            for server in victims:
                server.start()
        drill.earlier(random)
        for writer in writers:
            writer.stop.set()
            writer.join()
        for server in servers:
            server.process.terminate()
            server.process.wait()
    finally:
        for writer in writers:
            writer.stop.set()
        for server in servers:
            server.kill()
    found, _ = drill.restored()
    for writer, count in zip(writers, found, strict=True):
        if count < len(writer.acknowledged):
            raise Violation(f"{writer.name}: {count} of {len(writer.acknowledged)} are restored")
    if found != counts(path, writers):
        raise Violation("the file and its archive differ")
    Contents(drill.objects).verify()
    return drill


def test_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashrange.archive.format.PART_BYTES", PART_BYTES)
    with chance() as random:
        drill = live(tmp_path, KILLS, random)
    written = sum(len(writer.acknowledged) for writer in drill.writers)
    generations = len(Contents(drill.objects).generations())
    print(f"{KILLS} kills, {drill.restores} restores, {written} writes, {generations} generations")
    assert written > 10
