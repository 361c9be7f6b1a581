"""The figures of stores and servers: their meanings, and how workers' figures are combined.

Each figure must be listed here. Any other figure raises an error.
"""

from collections.abc import Callable
from typing import NamedTuple


def _added(one: int, other: int) -> int:
    return one + other


class Figure(NamedTuple):
    """A number without labels: a counter if it `rises`, else a gauge."""

    meaning: str
    join: Callable[[int, int], int] = _added
    """Combines the values of two workers. A figure of the database file has the same value in all
    workers, so either of the two values will do."""
    rises: bool = False


FIGURES = {
    "ready": Figure("1 if the database can read and commit, as /readyz says, else 0.", min),
    "database_bytes": Figure("The size of the database file.", max),
    "format": Figure("The version of the format of the database file.", max),
    "page_bytes": Figure("The size of a page of the database file.", max),
    "free_pages": Figure("Empty pages of the database file, which will be reused.", max),
    "wal_bytes": Figure(
        "The size of the write-ahead log, which the next checkpoints shorten.", max
    ),
    "disk_free_bytes": Figure("The free space on the file system of the database.", max),
    "checkpoint_failures": Figure("Failed checkpoints since the last successful one.", max),
    "archive_lag_seconds": Figure(
        "The age of the oldest commit that may be missing from the archive.", max
    ),
    "archive_failures": Figure("Failed writes to the archive since the last successful one.", max),
    "commits": Figure("Commits. Writes that wait at the same time share a commit.", rises=True),
    "conflicts": Figure(
        "Commits that failed because of another server's commit; their requests were run again.",
        rises=True,
    ),
    "database_connections": Figure("Connections to PostgreSQL that are in use."),
    "database_connections_max": Figure("The maximum number of connections to PostgreSQL."),
    "database_connections_opened": Figure(
        "Connections to PostgreSQL that were opened.", rises=True
    ),
    "database_connections_waiting": Figure("Requests that wait for a connection to PostgreSQL."),
    "in_doubt": Figure(
        "Transactions of a cluster that wait for a node that failed during their commit.", max
    ),
    "clock_skew_milliseconds": Figure(
        "The difference between a cluster's fastest and slowest clock.", max
    ),
    "connections": Figure("Clients that are connected now."),
    "connections_max": Figure("The maximum number of connected clients."),
    "bytes_in_flight": Figure(
        "Bytes reserved for requests that are being received, or wait to be run."
    ),
    "decoded_bytes_in_flight": Figure(
        "The approximate memory, in bytes, of decoded requests that are not answered yet."
    ),
    "requests_waiting": Figure("Requests that wait for memory."),
    "workers": Figure("Worker processes that serve now."),
    "worker_restarts": Figure("Workers that have been replaced.", rises=True),
}


def figure(name: str) -> Figure:
    assert name in FIGURES, f"the figure {name} must be listed in {__name__}"
    return FIGURES[name]
