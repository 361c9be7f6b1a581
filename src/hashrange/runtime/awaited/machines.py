"""Chooses the machine of a store on which a request begins.

A store may keep its slots on several machines, and each of them may be slow or unreachable. So
requests are grouped by machine, and a group is answered or committed together.
"""

from collections.abc import Iterable

from hashrange import kv

ONE = 0
"""The machine of all requests if the store has only one machine."""
SEVERAL = -1
"""Stands for the machine of a request that concerns several machines, or whose machine is not
known."""


def machine_of(store: kv.AsyncStore, reads: Iterable[kv.Read]) -> int:
    """The machine that has all rows of these first reads of a request, or SEVERAL if the rows are
    on several machines or their machine is not known."""
    machines: set[int | None] = set()
    for read in reads:
        if type(read) is kv.Get:
            machines.update(store.machine_of(key) for _, key in read.keys)
        elif type(read) is kv.Range:
            machines.add(store.machine_of(read.start))
    [machine] = machines if len(machines) == 1 else [SEVERAL]
    return ONE if machine is None else machine
