"""No interleaving of the protocol of a migration gives a wrong answer, and each rule is needed."""

import os

import pytest

from .protocol import FLAWS, Copy, Program, World, Wrong, explore, value_of

PUT_AND_DELETE = ((1,), (None,))
TWO_PUTS = ((1,), (2,))
STORED = Copy(0, 0)
IN_THE_SOAK = pytest.mark.skipif(
    not os.environ.get("HASHRANGE_SOAK"), reason="only with HASHRANGE_SOAK: half a minute"
)
NEEDS_A_REPLACED_MIGRATOR = "does not check the term"


def world(
    values: tuple[tuple[int | None, ...], ...],
    old: Copy | None = STORED,
    new: Copy | None = None,
    kills: int = 1,
) -> World:
    programs = tuple(Program(None, one) for one in values)
    return World(old=old, new=new, truth=value_of(old), programs=programs, kills=kills)


@pytest.mark.deep
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(world(PUT_AND_DELETE, kills=0), id="put-and-delete"),
        pytest.param(world(((1,), ()), old=None, new=Copy(9, 0)), id="beside-a-mirror-left-over"),
        pytest.param(world(PUT_AND_DELETE), id="replaced", marks=IN_THE_SOAK),
    ],
)
def test_every_read_is_right_in_every_interleaving(first: World) -> None:
    worlds, finished = explore(first)
    print(f"{worlds:,} worlds")
    assert finished


@pytest.mark.deep
@pytest.mark.parametrize("flaw", FLAWS)
def test_without_one_of_its_rules_a_read_is_wrong(flaw: str) -> None:
    kills = int(flaw == NEEDS_A_REPLACED_MIGRATOR)
    for values in (PUT_AND_DELETE, TWO_PUTS):
        try:
            explore(world(values, kills=kills), flaw)
        except Wrong as wrong:
            print(wrong)
            return
    pytest.fail(f"a protocol that {flaw} gives no wrong answer")
