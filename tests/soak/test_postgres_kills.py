"""Three servers on one PostgreSQL database, killed again and again; and PostgreSQL itself killed.

Beside the clients that `clients` describes, one adds and removes an index, and one reads the
stream through whichever server answers.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random

import pytest

import hashrange
from hashrange.testing.postgres_server import PostgresServer

from .clients import UNCLEAR, Client, Indexing, Mixed, Saw, Streaming, check, create, working
from .runs import Violation, chance, times
from .serving import Server

pytestmark = pytest.mark.deep

KILLS = times(5, 300)
KILLS_A_LIFE = min(20, KILLS)
OUTAGES = times(1, 30)
OUTAGES_A_LIFE = 5
SERVERS = 3
CLIENTS = 4
SECONDS_MAX = 0.3
"""Between two kills, beside the time that a server needs to start."""
RECOVERY_SECONDS_MAX = 60

ANSWERS_TOO_EARLY = """
from random import random
from hashrange.storage.postgres import settle
commit = settle.commit
async def planted(*arguments):
    return random() > 0.3 and await commit(*arguments)
settle.commit = planted
"""


class Life:
    """Servers and their clients on one database."""

    def __init__(self, dsn: str, servers: list[Server], random: Random) -> None:
        self.dsn = dsn
        self.servers = servers
        self.random = random
        self.saw = Saw()
        self.streaming = Streaming("stream", servers, self.saw, Random(random.random()))
        self._clients: list[Client] = [self.streaming]
        self._clients.append(Indexing("index", servers, self.saw, Random(random.random())))
        for number in range(CLIENTS):
            self._clients.append(Mixed(str(number), servers, self.saw, Random(random.random())))

    def kill(self, victims: list[Server]) -> None:
        for server in victims:
            server.kill()
        start_all(victims)

    def goes_on(self) -> None:
        """Wait until requests are answered again."""
        before, end = self.saw.acknowledged, time.monotonic() + RECOVERY_SECONDS_MAX
        while self.saw.acknowledged < before + 50 and not self.saw.problems:
            if time.monotonic() > end:
                raise Violation("the servers do not recover")
            time.sleep(0.01)

    @contextmanager
    def lived(self) -> Iterator[None]:
        """Everything is checked at the end."""
        try:
            with working(self._clients):
                yield
                self.goes_on()
        finally:
            for server in self.servers:
                server.kill()
        with hashrange.connect(self.dsn) as database:
            database.run_upkeep()
            if list(database.check()):
                raise Violation("; ".join(database.check()))
            while any(each.lag_seconds for each in database.runtime.capacities()):
                database.run_upkeep()
            check(database, self.saw, [self.streaming.reader])


@contextmanager
def life(dsn: str, random: Random, program: str = "") -> Iterator[Life]:
    with hashrange.connect(dsn) as database:
        create(database, random)
    with ThreadPoolExecutor(SERVERS) as starting:
        servers = list(starting.map(lambda _: Server(dsn, program=program), range(SERVERS)))
    made = Life(dsn, servers, random)
    with made.lived():
        yield made


def start_all(servers: list[Server]) -> None:
    with ThreadPoolExecutor(len(servers)) as starting:
        list(starting.map(Server.start, servers))


def told(saw: Saw) -> str:
    return f"{saw.acknowledged} answers, {saw.built} indexes built, errors {dict(saw.errors)}"


@pytest.mark.parametrize("options", ["", "&dialect=citus"], ids=["plain", "citus"])
def test_kills_of_servers(durable_postgres_server: PostgresServer, options: str) -> None:
    with chance() as random:
        total = 0
        while total < KILLS:
            killed = 0
            with life(durable_postgres_server.new_schema() + options, random) as lived:
                while killed < KILLS_A_LIFE and not lived.saw.problems:
                    time.sleep(random.uniform(0.01, SECONDS_MAX))
                    victims = random.sample(lived.servers, random.choice([1, 2, 3]))
                    lived.kill(victims)
                    killed += len(victims)
                # A lease of a killed server may have kept the others from building.
                deadline = time.monotonic() + RECOVERY_SECONDS_MAX
                while not (lived.saw.built or lived.saw.problems) and time.monotonic() < deadline:
                    time.sleep(0.1)
            total += killed
            print(f"{killed} kills, {told(lived.saw)}")
            # On Citus writers wait for seconds if a server ends while it changes a definition.
            assert lived.saw.acknowledged > (2 if options else 10) * killed
            assert lived.saw.built


def test_kills_of_the_database(mortal_postgres_server: PostgresServer) -> None:
    """The servers recover by themselves. Meanwhile they answer with errors that SDKs retry."""
    with chance() as random:
        total = 0
        while total < OUTAGES:
            total += live_through_outages(mortal_postgres_server, random)


def live_through_outages(postgres: PostgresServer, random: Random) -> int:
    killed = 0
    with life(postgres.new_schema(), random) as lived:
        lived.saw.unclear = UNCLEAR
        for _ in range(min(OUTAGES, OUTAGES_A_LIFE)):
            lived.goes_on()
            time.sleep(random.uniform(0, SECONDS_MAX))
            postgres.kill()
            killed += 1
            time.sleep(random.uniform(0, 3 * SECONDS_MAX))
            postgres.start()
    print(f"{killed} outages, {told(lived.saw)}")
    return killed


def test_answers_before_the_commit_are_found_out(durable_postgres_server: PostgresServer) -> None:
    dsn = durable_postgres_server.new_schema()
    with (
        chance() as random,
        pytest.raises(Violation),
        life(dsn, random, ANSWERS_TOO_EARLY) as lived,
    ):
        lived.goes_on()
