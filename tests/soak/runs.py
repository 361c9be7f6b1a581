"""How often a harness repeats its work, and with which seeds."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

SOAK = float(os.environ.get("HASHRANGE_SOAK", "0"))


def times(short: int, soak: int) -> int:
    """`short` in CI; in a soak the part of `soak` that the environment variable asks for."""
    return max(short, int(soak * SOAK))


@contextmanager
def chance() -> Iterator[Random]:
    """Random numbers whose seed is printed, and so shown for a test that fails."""
    seed = int(os.environ.get("HASHRANGE_SEED", "0")) or int.from_bytes(os.urandom(4), "big")
    print(f"HASHRANGE_SEED={seed}")
    yield Random(seed)


class Violation(AssertionError):
    """The database has broken its promise."""
