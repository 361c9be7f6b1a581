"""The place of an archive fails, is slow, is away, or does what it was asked without an answer."""

import random
from pathlib import Path
from typing import Any

import pytest
from fake_s3 import FakeS3, Fault

from .archiving import Archived, keys, put, rows, ship

PLACE = "s3://bucket/some/prefix"


@pytest.fixture
def in_bucket(tmp_path: Path, s3: FakeS3) -> Archived:
    return Archived(tmp_path, PLACE)


def away(method: str, key: str) -> Fault:
    return "lost before"


def present(method: str, key: str) -> Fault:
    return None


def test_an_archive_in_a_bucket_is_restored(in_bucket: Archived) -> None:
    with in_bucket.open() as database:
        put(database, "key")
    assert keys(in_bucket.restore()[0]) == {"key"}
    assert in_bucket.contents.verify() > 3


@pytest.mark.usefixtures("small_archive")
def test_random_faults_lose_nothing(in_bucket: Archived, s3: FakeS3) -> None:
    """More in a row than are repeated, so whole steps fail. A restored moment is a state that was,
    and once everything could be shipped, it is the present one.
    """
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    kinds: list[Fault] = ["error", "lost before", "lost after"]
    with in_bucket.open() as database:
        s3.fault = lambda method, key: rng.choice(kinds) if rng.random() < 0.4 else None
        for number in range(30):
            put(database, number, rng.randbytes(300).hex())
            if rng.random() < 0.3:
                ship(database)
        s3.fault = present
        ship(database)
        expected = rows(in_bucket.path)
        assert in_bucket.restored_rows() == expected
        assert database.figures()["archive_failures"] == 0
    assert in_bucket.generations() == 1
    assert in_bucket.contents.verify()


@pytest.mark.usefixtures("small_archive")
def test_while_the_place_is_away_writes_go_on_and_the_log_is_kept(
    in_bucket: Archived,
    s3: FakeS3,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with in_bucket.open() as database:
        put(database, "before")
        ship(database)
        s3.fault = away
        for number in range(60):
            put(database, number, "x" * 2000)
        ship(database)
        ship(database)
        assert database.figures()["archive_failures"] >= 2
        assert caplog.text.count("the archive cannot be written") == 1
        s3.fault = present
        ship(database)
        assert "the archive can be written again" in caplog.text
        assert keys(in_bucket.restore()[0]) == {"before", *map(str, range(60))}
    assert in_bucket.generations() == 1


@pytest.mark.deep
@pytest.mark.parametrize("limit", ["archive_log_bytes", "archive_log_seconds"])
@pytest.mark.usefixtures("small_archive")
def test_beyond_a_limit_the_log_is_not_kept(
    in_bucket: Archived,
    s3: FakeS3,
    caplog: pytest.LogCaptureFixture,
    limit: str,
) -> None:
    """The chain is broken, writes go on, and a new generation begins when the place is back."""
    settings: dict[str, Any] = {limit: 200_000 if limit == "archive_log_bytes" else 1e-6}
    with in_bucket.open() as database:
        put(database, "before")
        ship(database)
    in_bucket.clock.advance(5)
    with in_bucket.open(**settings) as database:
        s3.fault = away
        for number in range(120):
            put(database, "lost", "x" * 2000 + str(number))
            if number % 20 == 0:
                ship(database)
        log_bytes = database.figures()["wal_bytes"]
        assert log_bytes < 1_000_000, "it does not begin again"
        assert "commits that are not in the archive yet will never be restorable" in caplog.text
        in_bucket.clock.advance(5)
        s3.fault = present
        put(database, "after")
        ship(database)
        expected = rows(in_bucket.path)
    assert in_bucket.generations() == 2
    assert in_bucket.restored_rows() == expected
    path, restored = in_bucket.restore(in_bucket.clock.now() - 1)
    assert keys(path) == {"before"}
    assert restored.gap == ""
    in_bucket.contents.objects.delete(in_bucket.snapshots()[-1])
    path, restored = in_bucket.restore()
    assert keys(path) == {"before"}
    reason = "writing failed for so long that the log reached its limit"
    assert str(restored).endswith(f"; later commits are not in the archive: {reason}")


def test_a_server_starts_while_the_place_is_away(
    in_bucket: Archived, s3: FakeS3, caplog: pytest.LogCaptureFixture
) -> None:
    s3.fault = away
    with in_bucket.open() as database:
        put(database, "early")
        s3.fault = present
        ship(database)
        assert keys(in_bucket.restore()[0]) == {"early"}


def test_a_place_that_replaces_objects_is_refused(in_bucket: Archived, s3: FakeS3) -> None:
    s3.honours_conditions = False
    with pytest.raises(Exception, match="ignores the header If-None-Match"), in_bucket.open():
        pass
