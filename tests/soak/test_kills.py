"""Two servers on one file, of which one or both are killed again and again.

Clients use both. What they saw must be linearizable for each key; money is neither made nor lost;
every acknowledged value is in the list once, in an order that all reads agree with; the stream
replays to the table; and indexes and counters equal their recomputation.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest

import hashrange
from hashrange import Database

from .histories import INITIAL, Appended, History
from .runs import Violation, chance, times
from .serving import Connection, NoAnswerError, Server
from .tables import DEFINITION, TABLE, key, scanned

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9"),
]

KILLS = times(30, 1_000)
KILLS_A_LIFE = 30
CLIENTS = 4
REGISTERS = 3
ACCOUNTS = 5
OPENING = 100
COLORS = ("red", "green")
SECONDS_MAX = 0.25
"""Between two kills, beside the time that a server needs to start."""


class Saw:
    """What all clients saw."""

    def __init__(self) -> None:
        self.history = History()
        self.list = Appended()
        self.acknowledged = 0
        self.problems: list[Exception] = []


class Client(Thread):
    """Asks one server until it is gone, then the other. One that `lies` makes up an answer."""

    def __init__(self, name: str, servers: list[Server], saw: Saw, random: Random, lies: bool):
        super().__init__(name=name)
        self.servers = servers
        self.saw = saw
        self.random = random
        self.lies = lies
        self.stop = Event()
        self._connection: Connection | None = None
        self._number = 0

    def run(self) -> None:
        acts = [
            self.write,
            self.write,
            self.read,
            self.transfer,
            self.audit,
            self.append,
            self.look,
        ]
        try:
            while not self.stop.is_set():
                with suppress(NoAnswerError):
                    self.random.choice(acts)()
                    self.saw.acknowledged += 1
        except Exception as error:
            self.saw.problems.append(error)
        if self._connection:
            self._connection.close()

    def ask(self, operation: str, request: dict[str, Any], refused: str = "") -> dict[str, Any]:
        """Returns the answer; nothing for the one error that may be the answer."""
        if self._connection is None:
            self._connection = Connection(self.random.choice(self.servers).port)
        try:
            status, body = self._connection.ask(operation, request)
        except NoAnswerError:
            self._connection.close()
            self._connection = None
            time.sleep(0.01)
            raise
        if status != 200 and refused not in body.get("__type", ""):
            raise Violation(f"{operation} is answered with {body}")
        return body if status == 200 else {}

    def unique(self) -> str:
        self._number += 1
        return f"{self.name}-{self._number}"

    def write(self) -> None:
        register, value, start = self.register(), self.unique(), monotonic()
        item = key(register)["Key"] | {
            "v": {"S": value},
            "color": {"S": self.random.choice(COLORS)},
        }
        answered = False
        try:
            self.ask("PutItem", {"TableName": TABLE, "Item": item})
            answered = True
        finally:
            self.saw.history.add(register, True, value, start, answered)

    def read(self) -> None:
        register, start = self.register(), monotonic()
        answer = self.ask("GetItem", key(register) | {"ConsistentRead": True})
        value = answer["Item"]["v"]["S"] if "Item" in answer else INITIAL
        if self.lies:
            value = INITIAL
        self.saw.history.add(register, False, value, start, True)

    def register(self) -> str:
        return f"register {self.random.randrange(REGISTERS)}"

    def transfer(self) -> None:
        one, other = self.random.sample(range(ACCOUNTS), 2)
        values = {"ExpressionAttributeValues": {":n": {"N": str(self.random.randint(1, 40))}}}
        take = account(one) | values
        take["UpdateExpression"] = "SET balance = balance - :n"
        take["ConditionExpression"] = "balance >= :n"
        give = account(other) | values | {"UpdateExpression": "ADD balance :n"}
        request = {"TransactItems": [{"Update": take}, {"Update": give}]}
        self.ask("TransactWriteItems", request, refused="TransactionCanceledException")

    def audit(self) -> None:
        gets = [{"Get": account(number)} for number in range(ACCOUNTS)]
        answer = self.ask("TransactGetItems", {"TransactItems": gets})
        balances = [int(found["Item"]["balance"]["N"]) for found in answer["Responses"]]
        if sum(balances) != OPENING * ACCOUNTS:
            raise Violation(f"the balances are {balances}")

    def append(self) -> None:
        value = self.unique()
        request = key("list") | {
            "UpdateExpression": "SET l = list_append(l, :l)",
            "ExpressionAttributeValues": {":l": {"L": [{"S": value}]}},
        }
        self.ask("UpdateItem", request)
        self.saw.list.acknowledged.append(value)

    def look(self) -> None:
        item = self.ask("GetItem", key("list") | {"ConsistentRead": True})["Item"]
        self.saw.list.reads.append(values_of(item))


def account(number: int) -> dict[str, Any]:
    return key("account", str(number))


def values_of(item: dict[str, Any]) -> list[str]:
    return [value["S"] for value in item["l"]["L"]]


def create(path: Path) -> None:
    with hashrange.connect(path) as database:
        database.execute("CreateTable", DEFINITION)
        for number in range(ACCOUNTS):
            item = account(number)["Key"] | {"balance": {"N": str(OPENING)}, "color": {"S": "red"}}
            database.execute("PutItem", {"TableName": TABLE, "Item": item})
        empty = key("list")["Key"] | {"l": {"L": []}}
        database.execute("PutItem", {"TableName": TABLE, "Item": empty})


@contextmanager
def clients(servers: list[Server], saw: Saw, random: Random, lies: bool) -> Iterator[None]:
    running = [
        Client(f"{number}", servers, saw, Random(random.random()), lies)
        for number in range(CLIENTS)
    ]
    for client in running:
        client.start()
    try:
        yield
    finally:
        for client in running:
            client.stop.set()
        for client in running:
            client.join()


def live(path: Path, kills: int, random: Random, lies: bool = False) -> int:
    """Kill so many servers, then check everything. Returns how many answers there were."""
    create(path)
    saw = Saw()
    servers = [Server(str(path)), Server(str(path))]
    try:
        with clients(servers, saw, random, lies):
            killed = 0
            while killed < kills and not saw.problems:
                time.sleep(random.uniform(0.01, SECONDS_MAX))
                victims = servers if random.random() < 0.3 else [random.choice(servers)]
                for server in victims:
                    server.kill()
                for server in victims:
                    server.start()
                killed += len(victims)
            time.sleep(SECONDS_MAX)
    finally:
        for server in servers:
            server.kill()
    for problem in saw.problems:
        raise problem
    with hashrange.connect(path) as database:
        check(database, saw)
    return saw.acknowledged


def check(database: Database, saw: Saw) -> None:
    saw.history.check()
    saw.list.check(values_of(database.execute("GetItem", key("list"))["Item"]))
    items = scanned(database.execute)
    colored = scanned(database.execute, IndexName="by-color")
    if sorted(map(str, colored)) != sorted(str(item) for item in items if "color" in item):
        raise Violation("the index does not show the items")
    if sum(int(item["balance"]["N"]) for item in items if "balance" in item) != OPENING * ACCOUNTS:
        raise Violation("money was made or lost")
    if problems := list(database.check()):
        raise Violation("; ".join(problems))
    replayed = replay(database)
    if sorted(map(str, replayed.values())) != sorted(map(str, items)):
        raise Violation("the stream does not replay to the table")


def replay(database: Database) -> dict[str, dict[str, Any]]:
    """The items that the stream ends with. Each record begins where the one before it ended."""
    execute = database.execute
    items: dict[str, dict[str, Any]] = {}
    arn = execute("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
    for shard in execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
        start = {"StreamArn": arn, "ShardIteratorType": "TRIM_HORIZON", "ShardId": shard["ShardId"]}
        page = {"NextShardIterator": execute("GetShardIterator", start)["ShardIterator"]}
        while iterator := page.get("NextShardIterator"):
            page = execute("GetRecords", {"ShardIterator": iterator})
            if not page["Records"]:
                break
            for record in page["Records"]:
                images = record["dynamodb"]
                where = str(images["Keys"])
                if items.get(where) != images.get("OldImage"):
                    raise Violation(f"{images} does not follow {items.get(where)}")
                items[where] = images["NewImage"]
    return items


def test_kills(tmp_path: Path) -> None:
    answers = killed = 0
    with chance() as random:
        while killed < KILLS:
            answers += live(tmp_path / f"{killed}.db", KILLS_A_LIFE, random)
            killed += KILLS_A_LIFE
    print(f"{killed} kills, {answers} answers")
    assert answers > 20 * killed


def test_stale_reads_are_found_out(tmp_path: Path) -> None:
    with chance() as random, pytest.raises(Violation):
        live(tmp_path / "a.db", 1, random, lies=True)
