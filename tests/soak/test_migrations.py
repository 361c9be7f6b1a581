"""Migrations for longer: larger worlds of the protocol, and many random histories."""

import pytest

from design.migrate.histories import run
from design.migrate.protocol import World, explore
from design.migrate.test_protocol import TWO_PUTS, world

from .runs import SOAK, chance, times


@pytest.mark.skipif(SOAK < 0.1, reason="a smaller soak leaves the larger worlds out")
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(world(TWO_PUTS), id="two-puts"),
        pytest.param(world(TWO_PUTS, old=None), id="two-creates"),
        pytest.param(world(((None, 1), (2,))), id="three-writes"),
    ],
)
def test_every_interleaving_of_a_larger_world(first: World) -> None:
    worlds, finished = explore(first)
    print(f"{worlds:,} worlds")
    assert finished


def test_random_histories() -> None:
    with chance() as random:
        for _ in range(times(10, 100_000)):
            run(random.getrandbits(40))
