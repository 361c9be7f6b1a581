"""Flipped bits: an answer is right or an error, or the search for damage finds the cause.

A bit of the file is flipped, and everything is read. Where a row has vanished, reads cannot know
it; then `scrub`, which a server runs in the background, must find damage.

A bit of the log is flipped after a kill. Then the file is refused, or nothing is lost but what an
interrupted write explains: the last commit, or the last two if the end of the first is damaged.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from planting import bug_in

from hashrange import Database, StoreError
from hashrange.kv import SYSTEM_SPACE, Damaged, Put, Range
from hashrange.model.errors import ApiError
from hashrange.storage import SqliteStore
from hashrange.storage.sqlite import log
from hashrange.testing.store_access import commit, keys, read
from hashrange.testing.store_model import value_of
from hashrange.upkeep import scrubber
from hashrange.upkeep.scrubber import scrub

from .runs import Violation, chance, times
from .tables import DEFINITION, TABLE, key, put, scanned

pytestmark = pytest.mark.deep

FLIPS = times(300, 20_000)
ITEMS = 60
PAGE = 4096
TREE_PAGES = (2, 5, 10, 13)
COLORS = ("red", "green", "blue")
PARTS = 10
COMMITS = 20


def fill(database: Database) -> None:
    database.execute("CreateTable", DEFINITION)
    for number in range(ITEMS):
        request = put(
            str(number % PARTS),
            str(number),
            color=COLORS[number % 3],
            size=str(number % 4),
            text="y" * (20 if number % 10 else 5_000),
        )
        database.execute("PutItem", request)


def read_all(database: Database) -> dict[str, Any]:
    """What clients can read: each item, each index, and the stream."""
    execute = database.execute
    found: dict[str, Any] = {
        f"item {number}": execute("GetItem", key(str(number % PARTS), str(number)))
        for number in range(ITEMS)
    }
    for name, value in [("color", color) for color in COLORS] + [("pk", str(n)) for n in range(3)]:
        request: dict[str, Any] = {
            "TableName": TABLE,
            "KeyConditionExpression": "#n = :v",
            "ExpressionAttributeNames": {"#n": name},
            "ExpressionAttributeValues": {":v": {"S": value}},
        }
        found[f"{name} {value}"] = execute(
            "Query", request | {"IndexName": "by-color" if name == "color" else "by-size"}
        )
        if name == "pk":
            found[f"items of {value}"] = execute("Query", request)
    found["scan"] = scanned(execute)
    found["records"] = list(records(database))
    return found


def records(database: Database) -> Iterator[dict[str, Any]]:
    execute = database.execute
    arn = execute("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
    for shard in execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
        start = {"StreamArn": arn, "ShardIteratorType": "TRIM_HORIZON", "ShardId": shard["ShardId"]}
        iterator = execute("GetShardIterator", start)["ShardIterator"]
        yield from execute("GetRecords", {"ShardIterator": iterator})["Records"]


def flipped(content: bytes, random: Random) -> bytes:
    at = random.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << random.randrange(8)]) + content[at + 1 :]


def with_hidden_rows(content: bytes) -> Iterator[bytes]:
    """For each page, the file with one cell less in the page's header."""
    for at in range(PAGE, len(content), PAGE):
        cells = int.from_bytes(content[at + 3 : at + 5], "big")
        if content[at] in TREE_PAGES and cells > 1:
            yield content[: at + 3] + (cells - 1).to_bytes(2, "big") + content[at + 5 :]


def outcome(path: Path, truth: dict[str, Any]) -> str:
    """`right`, `error`, or `found`: a wrong answer whose cause the search finds."""
    try:
        store = SqliteStore(str(path), durability="memory")
        database = Database(store)
    except StoreError:
        return "error"
    try:
        if read_all(database) == truth:
            return "right"
        if any(scrubber.scrub(store, 1.0)):
            return "found"
        raise Violation("a wrong answer, and the search finds no damage")
    except (ApiError, StoreError):
        return "error"
    finally:
        database.close()


@pytest.fixture
def sound(tmp_path: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a file, and what is read from it."""
    path = tmp_path / "sound.db"
    with Database(SqliteStore(str(path), durability="memory")) as database:
        fill(database)
        truth = read_all(database)
        assert not any(scrub(database._store, 1.0))
    return path.read_bytes(), truth


def test_flips_in_the_file(sound: tuple[bytes, dict[str, Any]], tmp_path: Path) -> None:
    content, truth = sound
    seen: Counter[str] = Counter()
    with chance() as random:
        for _ in range(FLIPS):
            path = tmp_path / "a.db"
            path.write_bytes(flipped(content, random))
            seen[outcome(path, truth)] += 1
    print(f"flips in the file: {dict(seen)}")
    assert seen["right"] > FLIPS // 4
    assert seen["error"] > FLIPS // 20


def test_hidden_rows_are_found_only_by_the_search(
    sound: tuple[bytes, dict[str, Any]], tmp_path: Path
) -> None:
    content, truth = sound
    path = tmp_path / "a.db"

    def outcomes() -> Counter[str]:
        seen: Counter[str] = Counter()
        for damaged in with_hidden_rows(content):
            path.write_bytes(damaged)
            seen[outcome(path, truth)] += 1
        return seen

    assert outcomes()["found"]
    with bug_in(scrubber, "scrub", lambda *_: iter(())), pytest.raises(Violation):
        outcomes()


# ---- the log ----


@pytest.fixture(params=[False, True], ids=["log", "log that is copied in part"])
def killed(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[bytes, bytes]:
    """The file and the log of a process that was killed after its commits."""
    path = tmp_path / "killed.db"
    store = SqliteStore(str(path))
    for number in range(COMMITS):
        commit(store, Put(SYSTEM_SPACE, b"%03d" % number, value_of(1, bytes([number]) * 2_000)))
        if request.param and number == COMMITS // 2:
            store._checkpointer.committed(1_000_000)
            store._checkpointer.wait()
    left = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    store.close()
    return left


def commits_left(path: Path) -> int | None:
    """How many commits are there, without a gap; None if the file is refused."""
    try:
        store = SqliteStore(str(path))
    except Damaged:
        return None
    try:
        found = keys(read(store, Range(SYSTEM_SPACE, b"", None)))
        if found != [b"%03d" % number for number in range(len(found))]:
            raise Violation(f"{found} are left")
        return len(found)
    finally:
        store.close()


def flip_log(path: Path, killed: tuple[bytes, bytes], random: Random) -> str:
    content, wal = killed
    path.write_bytes(content)
    Path(f"{path}-wal").write_bytes(flipped(wal, random))
    Path(f"{path}-shm").unlink(missing_ok=True)
    left = commits_left(path)
    if left is None:
        return "refused"
    if left < COMMITS - 2:
        raise Violation(f"{COMMITS - left} commits are lost")
    return f"{COMMITS - left} lost"


def test_flips_in_the_log(killed: tuple[bytes, bytes], tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    with chance() as random:
        for _ in range(FLIPS // 2):
            seen[flip_log(tmp_path / "a.db", killed, random)] += 1
    print(f"flips in the log: {dict(seen)}")
    assert seen["refused"] > FLIPS // 4


def test_lost_commits_are_found_out(killed: tuple[bytes, bytes], tmp_path: Path) -> None:
    """SQLite by itself says nothing."""

    def flip_some(random: Random) -> None:
        for _ in range(50):
            flip_log(tmp_path / "a.db", killed, random)

    unseen = bug_in(log, "lost_commits", lambda *_: None)
    with chance() as random, unseen, pytest.raises(Violation):
        flip_some(random)
