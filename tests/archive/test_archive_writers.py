"""Several processes and machines that would write to one archive."""

import random
import time
from pathlib import Path

import pytest
from forking import in_child

from .archiving import Archived, keys, put, rows, ship


@pytest.mark.usefixtures("small_archive")
def test_what_a_replaced_server_wrote_is_ignored_before_the_next_copy(
    archived: Archived, monkeypatch: pytest.MonkeyPatch
) -> None:
    with archived.open() as old:
        put(old, "first")
        ship(old)
        archived.clock.advance(10)
        path, _ = archived.restore()
        with monkeypatch.context() as patch:
            patch.setattr("hashrange.archive.shipper.Shipper._copy_is_due", lambda shipper: False)
            with archived.open(path) as new:
                put(new, "new")
                ship(new)
        archived.clock.advance(10)
        put(old, "late")
        ship(old)
        assert keys(archived.restore()[0]) == {"first"}
        put(old, "x" * 1000, random.randbytes(100_000).hex())
        ship(old)
        assert len(archived.contents.snapshots(1)) == 2
        assert keys(archived.restore()[0]) == {"first"}


def test_only_one_process_ships(archived: Archived) -> None:
    with archived.open() as database, archived.open() as other:
        ship(database)
        put(other, "of the other")
        ship(other)
        assert "archive_lag_seconds" not in other.figures()
        ship(database)
        assert keys(archived.restore()[0]) == {"of the other"}
        database.close()
        put(other, "later")
        ship(other)
        assert keys(archived.restore()[0]) == {"of the other", "later"}
    assert archived.generations() == 1


def test_a_fork_leaves_the_archive_to_the_parent(archived: Archived) -> None:
    with archived.open() as database:
        put(database, "before")
        ship(database)

        def work() -> None:
            put(database, "of the child")
            ship(database)
            assert "archive_lag_seconds" not in database.figures()

        in_child(work)
        put(database, "after")
        ship(database)
        expected = rows(archived.path)
    assert archived.generations() == 1
    assert archived.restored_rows() == expected


def test_a_server_that_was_replaced_is_harmless(
    archived: Archived, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was paused, the file was restored elsewhere, and then it goes on for a moment."""
    with archived.open() as old:
        put(old, "first")
        ship(old)
        archived.clock.advance(10)
        path, _ = archived.restore()
        with archived.open(path) as new:
            put(new, "new")
            ship(new)
            archived.clock.advance(10)
            put(old, "old")
            ship(old)
            archived.clock.advance(10)
            assert keys(archived.restore()[0]) == {"first", "new"}
            later = time.monotonic() + 100
            monkeypatch.setattr("hashrange.archive.shipper.monotonic", lambda: later)
            ship(old)
            ship(old)
            monkeypatch.undo()
            put(old, "older")
            put(new, "newer")
            ship(old)
            ship(new)
            assert old.figures()["archive_failures"] > 0
    assert keys(archived.restore()[0]) == {"first", "new", "newer"}


def test_two_that_write_the_same_segment_destroy_nothing(archived: Archived) -> None:
    """The file was copied with its log, and both copies are served."""
    with archived.open() as database:
        put(database, "first")
    copy = archived.path.parent / "copy.db"
    for end in ("", "-wal"):
        Path(f"{copy}{end}").write_bytes(Path(f"{archived.path}{end}").read_bytes())
    with archived.open() as one, archived.open(copy) as other:
        ship(other)  # it has compared its log with the archive
        put(one, "one")
        ship(one)
        put(other, "other")
        ship(other)
        assert other.figures()["archive_failures"] > 0
    assert archived.contents.verify()
    assert len(keys(archived.restore()[0])) == 2
