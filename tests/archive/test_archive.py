"""A file is restored from its archive alone."""

import random
import threading
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
from waiting import wait_until

import hashrange
from hashrange import StoreError
from hashrange.archive import ArchiveError, Limits, Shipper, restore
from hashrange.archive.retention import delete_old
from hashrange.storage.sqlite.tail import Tail

from .archiving import TABLE, Archived, create, keys, put, rows, ship


def test_what_was_committed_before_the_end_is_restored(archived: Archived) -> None:
    with archived.open() as database:
        for number in range(20):
            put(database, number)
    assert keys(archived.restore()[0]) == {str(number) for number in range(20)}


def test_a_file_that_nobody_writes_any_more(archived: Archived) -> None:
    """Its archive has a copy, and a segment without frames."""
    with hashrange.connect(archived.path, clock=archived.clock) as database:
        create(database)
        put(database, "key", "x" * 10_000)
    tail = Tail(str(archived.path), "full")
    shipper = Shipper(tail, archived.contents.objects, Limits(), archived.clock.now, pytest.fail)
    shipper.run_once()
    shipper.close()
    path, restored = archived.restore()
    assert (restored.segment.number, restored.segment.size) == (1, 0)
    assert keys(path) == {"key"}


@pytest.mark.usefixtures("small_archive")
def test_every_moment_is_restored(archived: Archived) -> None:
    """Over many logs and copies. Each moment is one at which everything had been shipped."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    moments = []
    for _ in range(3):
        with archived.open() as database:
            for _ in range(8):
                for _ in range(rng.randrange(30)):
                    put(database, rng.randrange(100), rng.randbytes(rng.randrange(900)).hex())
                ship(database)
                moments.append((archived.clock.now(), rows(archived.path)))
                archived.clock.advance(1)
    assert archived.generations() == 1
    assert len(archived.contents.snapshots()) > 2
    logs = {read.segment.log for read in archived.contents.chain(1, 1)}
    assert len(logs) > 2
    for at, expected in rng.sample(moments, 8):
        assert archived.restored_rows(at) == expected
    assert archived.restored_rows() == moments[-1][1]


@pytest.mark.usefixtures("small_archive")
def test_a_copy_of_a_file_that_changes_is_consistent(archived: Archived) -> None:
    ended = threading.Event()
    written: list[int] = []

    def write() -> None:
        rng = random.Random(1)
        while not ended.is_set():
            put(database, rng.randrange(300), rng.randbytes(400).hex())
            written.append(1)

    with archived.open() as database:
        for number in range(300):
            put(database, number, "x" * 800)
        thread = threading.Thread(target=write)
        thread.start()
        while len(archived.contents.snapshots()) < 4 or len(written) < 100:
            ship(database)
        ended.set()
        thread.join()
        ship(database)
        expected = rows(archived.path)
    assert archived.contents.verify() > 10
    for snapshot in archived.contents.snapshots():
        keys(archived.restore(snapshot.time)[0])
    assert archived.restored_rows() == expected


def test_the_chain_goes_on_after_a_restart(archived: Archived) -> None:
    for number in range(3):
        with archived.open() as database:
            put(database, number)
    assert archived.generations() == 1
    assert keys(archived.restore()[0]) == {"0", "1", "2"}


def test_a_restored_file_may_go_on_with_the_same_archive(archived: Archived) -> None:
    with archived.open() as database:
        put(database, "first")
    archived.clock.advance(10)
    path, _ = archived.restore()
    with archived.open(path) as database:
        put(database, "second")
    assert archived.generations() == 2
    assert keys(archived.restore()[0]) == {"first", "second"}


def test_another_program_that_empties_the_log_breaks_the_chain(
    archived: Archived, caplog: pytest.LogCaptureFixture
) -> None:
    with archived.open() as database:
        put(database, "first")
    archived.clock.advance(10)
    with hashrange.connect(archived.path, clock=archived.clock) as database:
        put(database, "unseen")
    archived.clock.advance(10)
    with archived.open() as database:
        put(database, "last")
    assert "generation 2 of the archive begins: the log does not continue" in caplog.text
    assert keys(archived.restore()[0]) == {"first", "unseen", "last"}
    assert keys(archived.restore(archived.clock.now() - 5)[0]) == {"first"}


def test_no_other_program_can_empty_the_log_while_it_is_archived(archived: Archived) -> None:
    with archived.open() as database:
        other = apsw.Connection(str(archived.path))
        other.pragma("user_version")  # before it has read, its checkpoints do nothing
        for number in range(30):
            put(database, number, "x" * 3000)
            for mode in (apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_TRUNCATE):
                try:
                    other.wal_checkpoint(mode=mode)
                except apsw.BusyError:
                    continue
            if number % 7 == 0:
                ship(database)
        other.close()
        ship(database)
        expected = rows(archived.path)
    assert archived.generations() == 1
    assert archived.restored_rows() == expected


@pytest.mark.usefixtures("small_archive")
def test_a_copy_has_what_a_long_read_keeps_in_the_log(archived: Archived) -> None:
    with archived.open() as database:
        put(database, "before")
        ship(database)
        reader = apsw.Connection(str(archived.path))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM s0").fetchall()
        for number in range(5):
            put(database, number)
            ship(database)
        put(database, 5, random.randbytes(150_000).hex())  # more than the first copy has
        ship(database)
        assert len(archived.contents.snapshots()) == 2
        reader.close()
    assert keys(archived.restore()[0]) == {"before", *"012345"}


@pytest.mark.usefixtures("small_archive")
def test_another_program_cannot_slip_in_while_pages_are_moved(
    archived: Archived, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It commits, and empties the log, just before the guard is replaced."""
    new_guard = Tail._new_guard
    slipped: list[int] = []

    def after_others(tail: Tail) -> apsw.Connection:
        if tail.page_bytes and not tail._connections[1].in_transaction:
            put(database, f"slipped {len(slipped)}")
            slipped.append(1)
            with suppress(apsw.BusyError):
                other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            put(database, "after")
        return new_guard(tail)

    with archived.open() as database:
        other = apsw.Connection(str(archived.path))
        other.pragma("user_version")
        ship(database)
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(Tail, "_new_guard", after_others)
            for number in range(100):
                put(database, number)
                ship(database)
        other.close()
        ship(database)
        expected = rows(archived.path)
    assert slipped
    assert archived.generations() == 1
    assert archived.restored_rows() == expected


def test_a_file_that_becomes_smaller_is_restored(archived: Archived) -> None:
    with archived.open() as database:
        for number in range(100):
            put(database, number, "x" * 4000)
        ship(database)
        archived.clock.advance(10)
        large = rows(archived.path)
        for number in range(1, 100):
            key = {"pk": {"S": str(number)}}
            database.execute("DeleteItem", {"TableName": TABLE, "Key": key})
        other = apsw.Connection(str(archived.path))
        other.execute("VACUUM")
        other.close()
        ship(database)
        small = rows(archived.path)
    assert archived.generations() == 1
    before, _ = archived.restore(archived.clock.now() - 5)
    after, _ = archived.restore()
    assert after.stat().st_size < before.stat().st_size / 4
    assert (rows(before), rows(after)) == (large, small)


def test_commits_that_a_power_cut_undid_break_the_chain(archived: Archived) -> None:
    """The log goes on with other commits, and soon has as many frames as before."""
    with archived.open() as database:
        put(database, "before")
    both = [Path(f"{archived.path}{end}") for end in ("", "-wal")]
    kept = [path.read_bytes() for path in both]
    with archived.open() as database:
        for number in range(5):
            put(database, f"undone {number}")
    for path, content in zip(both, kept, strict=True):
        path.write_bytes(content)
    archived.clock.advance(10)
    with hashrange.connect(archived.path, clock=archived.clock) as keeps_the_log:
        for number in range(10):
            put(keeps_the_log, f"later {number}")
        with archived.open() as database:
            ship(database)
            expected = rows(archived.path)
    assert archived.generations() == 2
    assert archived.restored_rows() == expected


def test_the_thread_ships_by_itself(archived: Archived) -> None:
    with archived.open() as database:
        put(database, "key")
        wait_until(lambda: bool(archived.contents.snapshots()))
        count = len(archived.contents.segment_sizes(1))
        put(database, "other")
        wait_until(lambda: len(archived.contents.segment_sizes(1)) > count)
        assert database.figures()["archive_failures"] == 0
        assert "other" in keys(archived.restore()[0])


@pytest.mark.usefixtures("small_archive")
def test_old_moments_are_deleted(archived: Archived) -> None:
    day = 86_400
    states = []
    with archived.open(archive_seconds=2 * day) as database:
        for number in range(6):
            put(database, number)
            ship(database)
            states.append((archived.clock.now(), rows(archived.path)))
            archived.clock.advance(day)
    contents = archived.contents
    assert contents.verify()
    for at, expected in states[-2:]:
        assert archived.restored_rows(at) == expected
    with pytest.raises(ArchiveError, match=r"2030-01-01.* is too early"):
        archived.restore(states[0][0])
    assert contents.segment_sizes(1)[0][0] > 1
    needed = {snapshot.id for snapshot in contents.snapshots()}
    assert {each.name.split("/")[2] for each in contents.objects.list("parts/")} == needed


def test_nothing_is_deleted_while_a_restore_runs(archived: Archived) -> None:
    with archived.open() as database:
        put(database, "x")
    objects = archived.contents.objects
    now = archived.clock.now()
    before = [each.name for each in objects.list()]
    objects.put(f"restores/x-{int(now)}", b"")
    assert list(delete_old(archived.contents, now + 1000, 0)) == []
    assert [each.name for each in objects.list() if "restores" not in each.name] == before
    list(delete_old(archived.contents, now + 90_000, 0))
    assert [each.name for each in objects.list("restores/")] == []
    archived.restore()


def test_a_file_that_exists_is_not_replaced(archived: Archived) -> None:
    with archived.open() as database:
        put(database, "x")
    for name in ("there.db", "there.db-wal"):
        there = archived.path.parent / name
        there.write_bytes(b"something")
        with pytest.raises(StoreError, match=f"{name}: exists already"):
            restore(archived.contents.objects, str(archived.path.parent / "there.db"))
        assert there.read_bytes() == b"something"
        there.unlink()


def test_a_database_without_a_file_has_no_archive(tmp_path: Path) -> None:
    settings = hashrange.Settings(archive=str(tmp_path))
    for path in (None, "postgresql://127.0.0.1:1/x"):
        with pytest.raises(StoreError, match="an archive needs a database file"):
            hashrange.connect(path, settings=settings)


def test_a_place_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    settings = hashrange.Settings(archive=str(tmp_path / "file"))
    with pytest.raises(StoreError, match=r"the archive cannot be used: .*file"):
        hashrange.connect(tmp_path / "app.db", settings=settings)
