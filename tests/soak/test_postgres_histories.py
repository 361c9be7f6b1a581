"""Two servers on one PostgreSQL database: linearizable for each key, serializable in all.

Clients put and get registers, and append to lists and read them in transactions, through both
servers at once. Nothing is killed here, so that there are many more requests.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from time import monotonic, sleep

import pytest

import hashrange
from hashrange.testing.postgres_server import PostgresServer

from .clients import UNCLEAR, Client, Saw, values_of, working
from .histories import Transaction, Transactions
from .runs import Violation, chance, times
from .serving import Server
from .tables import DEFINITION, key, scanned

pytestmark = pytest.mark.deep

OPERATIONS = times(300, 100_000)
CLIENTS = 6
LISTS = 4
GENERATION = 400
"""After this many operations, other lists take their place, so that none grows too long."""

GUARDS_NOTHING = """
from hashrange.storage.postgres import script
script.GUARDED = frozenset()
for part, (text, count) in list(script._PARTS.items()):
    script._PARTS[part] = text.replace("AND r.version = q.expected", ""), count
"""

READS_AGAIN_LATER = """
import asyncio
from hashrange import kv
from hashrange.storage.postgres.store import PostgresStore
async def read(snapshot, reads):
    answers = []
    for asked in reads:
        if isinstance(asked, kv.Get):
            found = []
            for key in asked.keys:
                [[row]] = await snapshot.store.read([kv.Get((key,))])
                found.append(row)
                await asyncio.sleep(0.002)
            answers.append(found)
        else:
            answers += await snapshot.store.read([asked])
    return answers
class Snapshot:
    def __init__(self, store):
        self.store = store
    read = read
    async def close(self):
        pass
async def planted(store):
    return Snapshot(store)
PostgresStore.snapshot = planted
"""


class Registers(Client):
    def act(self) -> None:
        register = f"register {self.saw.acknowledged // GENERATION} {self.random.choice('abcde')}"
        self.random.choice([self.write, self.read])(register)


class Lists(Client):
    """Appends to one or two lists, or reads all; or appends to one and reads it."""

    history: Transactions

    def act(self) -> None:
        generation = self.saw.acknowledged // GENERATION
        names = [f"list {generation} {number}" for number in range(LISTS)]
        acts: list[Callable[[list[str]], None]] = [self.append, self.append_and_read, self.look]
        self.random.choice(acts)(names)

    def append(self, names: list[str]) -> None:
        chosen = {name: self.unique() for name in self.random.sample(names, 2)}
        actions = [{"Update": appended(name, value)} for name, value in chosen.items()]
        start, end = monotonic(), math.inf
        try:
            self.ask("TransactWriteItems", {"TransactItems": actions})
            end = monotonic()
        finally:
            self.history.add(Transaction(chosen, {}, start, end))

    def append_and_read(self, names: list[str]) -> None:
        name, value = self.random.choice(names), self.unique()
        start, end, read = monotonic(), math.inf, {}
        try:
            request = appended(name, value) | {"ReturnValues": "ALL_NEW"}
            read = {name: values_of(self.ask("UpdateItem", request)["Attributes"])}
            end = monotonic()
        finally:
            self.history.add(Transaction({name: value}, read, start, end))

    def look(self, names: list[str]) -> None:
        start = monotonic()
        gets = [{"Get": key(name)} for name in names]
        found = self.ask("TransactGetItems", {"TransactItems": gets})["Responses"]
        read = {
            name: values_of(each["Item"]) if each else []
            for name, each in zip(names, found, strict=True)
        }
        self.history.add(Transaction({}, read, start, monotonic()))


def appended(name: str, value: str) -> dict[str, object]:
    return key(name) | {
        "UpdateExpression": "SET l = list_append(if_not_exists(l, :none), :l)",
        "ExpressionAttributeValues": {":l": {"L": [{"S": value}]}, ":none": {"L": []}},
    }


@contextmanager
def two_servers(dsn: str, program: str = "") -> Iterator[Sequence[Server]]:
    with hashrange.connect(dsn) as database:
        database.execute("CreateTable", DEFINITION)
    servers: list[Server] = []
    try:
        for _ in range(2):
            servers.append(Server(dsn, program=program))
        yield servers
    finally:
        for server in servers:
            server.kill()


def work(clients: Sequence[Client], saw: Saw, operations: int) -> None:
    with working(clients):
        while saw.acknowledged < operations and not saw.problems:
            sleep(0.01)
    for problem in saw.problems:
        raise problem


def check_registers(dsn: str, random: Random, operations: int) -> None:
    saw = Saw()
    with two_servers(dsn) as servers:
        clients = [Registers(str(n), servers, saw, random) for n in range(CLIENTS)]
        work(clients, saw, operations)
    saw.history.check()
    print(f"{len(saw.history.events)} writes and reads of registers")


def check_lists(dsn: str, random: Random, operations: int, program: str = "") -> None:
    saw, history = Saw(UNCLEAR), Transactions()
    with two_servers(dsn, program) as servers:
        clients = [Lists(str(n), servers, saw, random) for n in range(CLIENTS)]
        for client in clients:
            client.history = history
        work(clients, saw, operations)
    with hashrange.connect(dsn) as database:
        items = scanned(database.execute)
    final = {item["pk"]["S"]: values_of(item) for item in items}
    for one in history.all:
        for name in (*one.appends, *one.reads):
            final.setdefault(name, [])
    history.check(final)
    print(f"{len(history.all)} transactions on {len(final)} lists, errors {dict(saw.errors)}")


def test_each_key_is_linearizable(durable_postgres_server: PostgresServer) -> None:
    with chance() as random:
        check_registers(durable_postgres_server.new_schema(), random, OPERATIONS)


def test_transactions_are_serializable(durable_postgres_server: PostgresServer) -> None:
    with chance() as random:
        check_lists(durable_postgres_server.new_schema(), random, OPERATIONS)


@pytest.mark.parametrize("program", [GUARDS_NOTHING, READS_AGAIN_LATER], ids=["writes", "reads"])
def test_what_is_not_guarded_is_found_out(
    durable_postgres_server: PostgresServer, program: str
) -> None:
    """Within a few histories: whether one shows it depends on how its transactions meet."""

    def check_some(random: Random) -> None:
        for _ in range(8):
            check_lists(durable_postgres_server.new_schema(), random, 300, program)

    with chance() as random, pytest.raises(Violation) as found:
        check_some(random)
    print(f"{found.value}"[:160])
