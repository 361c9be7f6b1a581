"""Servers that are killed while they write and restore a table: every moment comes back.

`HASHRANGE_SOAK=1` restores 20,000 moments, a third of them on each store.
"""

import time
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import moments
import pytest
from backed_up import NAMED
from small import no_lateness as no_lateness

import hashrange
from hashrange.testing.postgres_server import PostgresServer

from .runs import SOAK, chance, times
from .serving import Connection, NoAnswerError, Server

pytestmark = pytest.mark.deep

STORES = ["file", "postgresql", "citus"] if SOAK else ["postgresql"]
MOMENTS = times(4, 6_700)
MOMENTS_A_LIFE = 40
ROUNDS = 10 if SOAK else 1
"""The rounds of restores in a life. Most are made after the servers are gone: those cost little."""
KILLS_A_LIFE = 4 if SOAK else 1
SERVERS = 2
SECONDS_MAX = 0.5
RESTORE_AT_ONCE = """
from hashrange.operations.backups import continuous
continuous.LATENESS_SECONDS = 0
"""
RETRIED = ("InternalServerError", "ThrottlingException")


class Asking:
    """Asks one of the servers until it is gone, then another."""

    def __init__(self, servers: list[Server], random: Random) -> None:
        self._servers = servers
        self._random = random
        self._connection: Connection | None = None

    def __call__(self, operation: str, request: dict[str, Any]) -> Any:
        if self._connection is None:
            self._connection = Connection(self._random.choice(self._servers).port)
        try:
            status, answer = self._connection.ask(operation, request)
        except NoAnswerError:
            self._connection.close()
            self._connection = None
            time.sleep(0.01)
            raise moments.NoAnswer from None
        if status != 200 and answer["__type"].endswith(RETRIED):
            raise moments.NoAnswer
        assert status == 200, answer
        return answer


@pytest.mark.usefixtures("no_lateness")
@pytest.mark.parametrize("store", STORES)
def test_kills(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    restored = 0
    with chance() as random:
        while restored < MOMENTS:
            address = str(tmp_path / f"{restored}.db")
            if store != "file":
                postgres: PostgresServer = request.getfixturevalue("durable_postgres_server")
                address = postgres.new_schema() + ("&dialect=citus" if store == "citus" else "")
            restored += lived(address, random, min(MOMENTS_A_LIFE, MOMENTS))
            print(f"{restored} moments")


def lived(address: str, random: Random, count: int) -> int:
    """How many moments were restored, with servers that were killed again and again."""
    with closing(hashrange.connect(address)) as database:
        moments.create(database.execute)
        time.sleep(moments.TICK_SECONDS)
        since = time.time()
    servers = [Server(address, program=RESTORE_AT_ONCE) for _ in range(SERVERS)]
    asks = [Asking(servers, Random(random.random())) for _ in range(moments.WRITERS)]
    writers = moments.counting(asks)
    wanted: dict[str, float] = {}
    try:
        for _ in range(KILLS_A_LIFE):
            time.sleep(random.uniform(0.05, SECONDS_MAX))
            begun = Asking(servers, random)
            for _ in range(count // KILLS_A_LIFE // 2):
                wanted |= moments.restore_some(begun, random, since, 1)
            victim = random.choice(servers)
            victim.kill()
            victim.start()
        moments.ended(writers)
    finally:
        for writer in writers:
            writer.stop.set()
        for server in servers:
            server.kill()
    restored = 0
    with closing(hashrange.connect(address)) as database:
        for rounds_left in reversed(range(ROUNDS)):
            wanted |= moments.restore_some(database.execute, random, since, count - len(wanted))
            if not rounds_left and random.random() < 0.5:
                database.execute("DeleteTable", NAMED)
            deadline = time.monotonic() + 60
            while waiting(database, wanted) and time.monotonic() < deadline:
                database.run_upkeep()  # a killed server may have the lease for some seconds
                time.sleep(0.05)
            moments.check(database, writers, wanted)
            restored += len(wanted)
            for name in wanted if rounds_left else ():
                database.execute("DeleteTable", {"TableName": name})
            wanted = {}
        assert list(database.check()) == []
    return restored


def waiting(database: hashrange.Database, wanted: dict[str, float]) -> bool:
    states = (database.execute("DescribeTable", {"TableName": name}) for name in wanted)
    return any(state["Table"]["TableStatus"] != "ACTIVE" for state in states)
