"""Small steps and short waits: a few rows show what many would, and a moment what minutes would.

They change where work is cut and how long it waits, and never what is answered.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import pytest


@contextmanager
def with_constants(values: Mapping[str, object]) -> Iterator[None]:
    """In the block, these constants of `hashrange` have other values."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(f"hashrange.{name}", value)
        yield


def steps_of(rows: int) -> AbstractContextManager[None]:
    """Reads, builds, copies and restores are cut after so many rows."""
    names = "engine.fetch.CHUNK_ROWS", "engine.history.STEP_ROWS", "runtime.cut.CHUNK_ROWS"
    return with_constants(dict.fromkeys(names, rows))


def log_of(pages: int) -> AbstractContextManager[None]:
    """The log of a file is emptied whenever it has so many pages more, and kept short."""
    names = {"_EVERY_PAGES": pages, "_PAGES_MAX": 4 * pages}
    return with_constants({f"storage.sqlite.checkpoint.{name}": n for name, n in names.items()})


@pytest.fixture
def small_steps() -> Iterator[None]:
    """Every long read, build, copy and restore is cut after a few rows, and others run then."""
    with steps_of(7), with_constants({"runtime.drive.SLICE_SECONDS": 0.0}):
        yield


@pytest.fixture
def small_jobs() -> Iterator[None]:
    """An import and a bulk write put a few items in a step, and a file of an export has two."""
    values = {"GROUP_ITEMS": 40, "STEP_ITEMS": 10, "TURN_STEPS": 1}
    constants = {f"transfers.loading.{name}": value for name, value in values.items()}
    with with_constants({**constants, "formats.s3_export.FILE_ITEMS": 2}):
        yield


@pytest.fixture
def small_archive() -> Iterator[None]:
    """Logs begin again, and copies are made, after kilobytes instead of megabytes."""
    values = {
        "storage.sqlite.tail.FRAMES_EVERY": 30,
        "archive.shipper._COPY_BYTES_MIN": 40_000,
        "archive.format.PART_BYTES": 16_384,
    }
    with with_constants(values):
        yield


@pytest.fixture
def small_blocks() -> Iterator[None]:
    """The vectors of an index are in many blocks, and a search holds few of them."""
    values = {"blocks.ROWS_MAX": 8, "search._HELD_ROWS_MAX": 16}
    with with_constants({f"engine.vectors.{name}": value for name, value in values.items()}):
        yield


@pytest.fixture
def no_pauses() -> Iterator[None]:
    """What is refused or lost is tried again at once, and clocks of machines agree."""
    names = (
        *("design.migrate.migrator.SKEW_SECONDS", "design.migrate.following.LONGEST_PAUSE_SECONDS"),
        *("design.migrate.patience._PAUSE_SECONDS", "design.migrate.patience._LONGEST_SECONDS"),
        *("design.execute.work.PAUSE", "server.triggers.lanes.PAUSE_SECONDS_MIN"),
    )
    with with_constants(dict.fromkeys(names, 0.0)):
        yield


@pytest.fixture
def little_patience() -> Iterator[None]:
    """A PostgreSQL that cannot be reached, or does not answer, is given up after a moment."""
    names = {
        "pool.CONNECT_SECONDS_MAX": 0.3,
        "pool.WAIT_SECONDS_MAX": 0.1,
        "settle.SETTLE_SECONDS_MAX": 0.2,
        "cluster.fences.RESCUE_SECONDS": 0.0,
    }
    with with_constants({f"storage.postgres.{name}": value for name, value in names.items()}):
        yield


@pytest.fixture
def eager_search() -> Iterator[None]:
    """The search for damage does not rest, and soon asks again whether it is elected."""
    values = {"SHARE": 1.0, "PASS_SECONDS_MIN": 0.0, "ELECTION_SECONDS": 0.01}
    with with_constants({f"upkeep.scrubber.{name}": value for name, value in values.items()}):
        yield


@pytest.fixture
def no_lateness() -> Iterator[None]:
    """The moment that has just passed can be restored, and a period of any length exported."""
    names = "backups.continuous.LATENESS_SECONDS", "transfers.export_table.PERIOD_SECONDS_MIN"
    with with_constants({f"operations.{name}": 0 for name in names}):
        yield


@pytest.fixture
def by_hand() -> Iterator[None]:
    """No thread works in the background: a test does each step itself, as with `run_upkeep`."""
    with with_constants({"runtime.background.Background.wake": lambda self: None}):
        yield
