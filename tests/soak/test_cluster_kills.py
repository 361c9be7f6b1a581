"""Three servers on a real Citus cluster: servers and nodes are killed again and again.

Only `make soak` runs it, and only where a PostgreSQL has Citus.
"""

import time
from collections.abc import Iterator
from random import Random

import pytest

from hashrange.testing.postgres_cluster import Cluster
from hashrange.testing.postgres_server import NoPostgres

from .clients import UNCLEAR
from .runs import SOAK, chance, times
from .test_postgres_kills import SECONDS_MAX, life, told

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not SOAK, reason="a cluster is killed by make soak alone"),
]

NODES = 3
KILLS = times(5, 100)
KILLS_A_LIFE = 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    try:
        made = Cluster(NODES)
    except NoPostgres as error:
        pytest.skip(str(error))
    yield made
    made.stop()


def test_kills(cluster: Cluster) -> None:
    with chance() as random:
        total = 0
        while total < KILLS:
            total += live_through_kills(cluster, random)


def live_through_kills(cluster: Cluster, random: Random) -> int:
    killed = 0
    with life(cluster.new_distributed_database(), random) as lived:
        lived.saw.unclear = UNCLEAR
        while killed < KILLS_A_LIFE and not lived.saw.problems:
            lived.goes_on()
            time.sleep(random.uniform(0.01, SECONDS_MAX))
            if random.random() < 0.5:
                lived.kill(random.sample(lived.servers, random.choice([1, 2])))
            else:
                node = random.choice(cluster.nodes)
                node.kill()
                time.sleep(random.uniform(0, 3 * SECONDS_MAX))
                node.start()
            killed += 1
    print(f"{killed} kills, {told(lived.saw)}")
    return killed
