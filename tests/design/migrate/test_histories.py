"""Random histories of migrations keep every promise, and planted bugs are found."""

import time
from contextlib import ExitStack
from random import SystemRandom

import pytest

from .flaws import FLAWS
from .histories import run
from .world import Wrong

SECONDS = 3.0
"""Processor time for histories of the code as it is; one takes about a thirtieth of a second."""
SEEDS = {
    "the backfill is unconditional": 519,
    "a marker has one owner": 4,
    "mirrors that stand alone are left": 25,
    "nothing is swept": 4,
    "the sweep does not wait": 41,
    "the term is not checked": 203,
}
"""Where to begin to look, so that each bug is found soon."""
HISTORIES_MAX = 500


@pytest.mark.deep
def test_random_histories_keep_every_promise() -> None:
    seed = first = SystemRandom().randrange(1 << 40)
    began, requests = time.process_time(), 0
    while time.process_time() - began < SECONDS:
        requests += run(seed)
        seed += 1
    print(f"{seed - first} histories from seed {first}, {requests:,} requests")


@pytest.mark.deep
@pytest.mark.parametrize("flaw", FLAWS)
def test_histories_find_a_planted_bug(flaw: str) -> None:
    with ExitStack() as patches:
        for patch in FLAWS[flaw]:
            patches.enter_context(patch)
        for seed in range(SEEDS[flaw], SEEDS[flaw] + HISTORIES_MAX):
            try:
                run(seed)
            except Wrong as wrong:
                print(wrong)
                return
    pytest.fail(f"{HISTORIES_MAX} histories do not find that {flaw}")
