"""Tickets: requests that use the same partition key wait for each other.

Several batches are under way at once. Two requests for the same items must not be in different
batches: their commits would conflict, and the earlier request could fail again and again. So a
request holds a ticket for each partition key of its first read. It holds the tickets from when it
joins a batch until the batch ends. A request that waits for a ticket precedes every later request
for the same ticket.

While the definition of a request's table is not cached, the items of the request are not known.
Such a request waits for all batches to end, and later requests wait for it.

Tickets only avoid conflicts; they guarantee nothing. Another batch or server may still change rows
that a request reads later. Then the commit fails.
"""

from collections import deque
from collections.abc import Iterable

from hashrange import kv
from hashrange.runtime.batch import BATCH_BYTES_MAX, BATCH_REQUESTS_MAX, Submission

Ticket = kv.Key
"""A space, and the digest of a partition key in it."""

EVERY: Ticket = (-1, b"")
"""Stands for all tickets. A request holds it if the tickets that the request needs are not
known."""

LOOKED_AT_MAX = 4 * BATCH_REQUESTS_MAX
"""The largest number of waiting requests that are examined to fill one batch."""


def tickets_of(reads: Iterable[kv.Read]) -> frozenset[Ticket]:
    tickets: list[Ticket] = []
    for read in reads:
        if type(read) is kv.Get:
            tickets += [(space, key[: kv.PARTITION_BYTES]) for space, key in read.keys]
        elif type(read) is kv.Range:
            tickets.append((read.space, read.start[: kv.PARTITION_BYTES]))
    return frozenset(tickets)


def take(
    waiting: deque[Submission], held: set[Ticket], wanted: set[Ticket], requests_max: int
) -> list[Submission]:
    """Take the requests of the next batch out of `waiting`, in the order of their arrival. A
    request is taken if all of its tickets are free.

    A ticket is free if it is neither `held` nor `wanted` by a request that has precedence. The
    tickets of requests that have to wait are added to `wanted`.
    """
    taken: list[Submission] = []
    passed: list[Submission] = []
    size = 0
    for _ in range(min(len(waiting), LOOKED_AT_MAX)):
        if len(taken) >= requests_max or size >= BATCH_BYTES_MAX:
            break
        one = waiting.popleft()
        if _is_free(one.tickets, held) and _is_free(one.tickets, wanted):
            taken.append(one)
            size += len(one.body)
        else:
            passed.append(one)
            wanted |= one.tickets
    waiting.extendleft(reversed(passed))
    return taken


def _is_free(tickets: frozenset[Ticket], others: set[Ticket]) -> bool:
    if EVERY in others or EVERY in tickets:
        return not others
    return others.isdisjoint(tickets)
