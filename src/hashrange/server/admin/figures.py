"""The figures of stores and servers: their meanings, and how to combine those of several workers.

A figure that is not listed here is an error, because it could not be combined.
"""

from collections.abc import Callable
from typing import NamedTuple


def _added(one: int, other: int) -> int:
    return one + other


class Figure(NamedTuple):
    """A number without labels: a counter if it `rises`, else a gauge."""

    meaning: str
    join: Callable[[int, int], int] = _added
    """How the values of two workers are combined; a figure of the file is the same for all."""
    rises: bool = False


FIGURES = {
    "ready": Figure("1 if the database can read and commit, as /readyz says, else 0.", min),
    "database_bytes": Figure("The size of the database file.", max),
    "format": Figure("The version of the format of the database file.", max),
    "page_bytes": Figure("The size of a page of the database file.", max),
    "free_pages": Figure("Empty pages of the database file, which will be used again.", max),
    "wal_bytes": Figure(
        "The size of the write-ahead log, which the next checkpoints shorten.", max
    ),
    "disk_free_bytes": Figure("The room on the file system of the database.", max),
    "checkpoint_failures": Figure("Checkpoints that failed since the last that succeeded.", max),
    "archive_lag_seconds": Figure(
        "For how long there may have been commits that are not in the archive.", max
    ),
    "archive_failures": Figure(
        "Attempts to write to the archive that failed since the last that succeeded.", max
    ),
    "commits": Figure("Commits; writes that wait together share one.", rises=True),
    "conflicts": Figure("Commits that lost a race and were decided again.", rises=True),
    "database_connections": Figure("Connections to PostgreSQL that are in use."),
    "database_connections_max": Figure("How many connections to PostgreSQL there may be."),
    "database_connections_opened": Figure("Connections to PostgreSQL, opened.", rises=True),
    "database_connections_waiting": Figure("Requests that wait for a connection to PostgreSQL."),
    "in_doubt": Figure(
        "Transactions of a cluster that wait for a node which was lost in the middle of them.", max
    ),
    "clock_skew_milliseconds": Figure("By how much the clocks of a cluster's nodes differ.", max),
    "connections": Figure("Clients that are connected now."),
    "connections_max": Figure("How many clients can be connected at once."),
    "bytes_in_flight": Figure("Bodies of requests that are being received, or wait."),
    "decoded_bytes_in_flight": Figure("About the memory of decoded requests under way."),
    "requests_waiting": Figure("Requests that wait for memory."),
    "workers": Figure("Worker processes that serve now."),
    "worker_restarts": Figure("Workers that have been replaced.", rises=True),
}


def figure(name: str) -> Figure:
    assert name in FIGURES, f"the figure {name} is not listed in {__name__}"
    return FIGURES[name]
