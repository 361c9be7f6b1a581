"""Two servers on one file, of which one or both are killed again and again.

What their clients do, and what is checked: see `clients`.
"""

import sys
import time
from pathlib import Path
from random import Random

import pytest

import hashrange

from .clients import Lying, Mixed, Saw, check, create, working
from .runs import Violation, chance, times
from .serving import Server

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9"),
]

KILLS = times(4, 1_000)
KILLS_A_LIFE = min(30, KILLS)
CLIENTS = 4
SECONDS_MAX = 0.25
"""Between two kills, beside the time that a server needs to start."""


def live(path: Path, kills: int, random: Random, client: type[Mixed] = Mixed) -> int:
    """Kill servers `kills` times, then check everything. Returns the number of answers."""
    with hashrange.connect(path) as database:
        create(database, random)
    saw = Saw()
    servers = [Server(str(path)), Server(str(path))]
    clients = [
        client(str(number), servers, saw, Random(random.random())) for number in range(CLIENTS)
    ]
    try:
        with working(clients):
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
    with hashrange.connect(path) as database:
        check(database, saw)
    return saw.acknowledged


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
        live(tmp_path / "a.db", 1, random, Lying)
