"""Comparing how long two pieces of work take, on a machine that does other things as well."""

import time
from collections.abc import Callable

_ROUNDS = 5


def ratio(work: Callable[[], object], other: Callable[[], object]) -> float:
    """How many times as much processor time `work` takes as `other`: the best of five each."""
    return processor_seconds(work) / processor_seconds(other)


def processor_seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)
