"""A disk that fails at any read, write or sync: no acknowledged write is lost, none is half done.

A request is answered, or refused with an error. If the outcome of its commit is known, an error
means that nothing was written. When the disk works again, so does the database, at the latest when
it is opened again, and `check` finds nothing.
"""

import errno
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest
from msgspec import DecodeError
from small import log_of

from hashrange import Database, StoreError
from hashrange.kv import OutcomeUnknown
from hashrange.model.errors import InternalServerError
from hashrange.storage import SqliteStore
from storage.disk import Disk, after, disk, is_broken, is_full, lies, takes_no_more

from .runs import Violation, chance, times
from .tables import DEFINITION, count, increment, key, put, scanned

pytestmark = pytest.mark.deep

FAULTS = times(60, 1_000)
REQUESTS = 15
KINDS: list[tuple[str, Callable[[], None]]] = [
    ("on_write", is_full),
    ("on_write", is_broken),
    ("on_write", takes_no_more),
    ("on_sync", is_broken),
    ("on_read", is_broken),
]


class Store(SqliteStore):
    """Counts the commits whose outcome is unknown."""

    unknown = 0

    def _explain_write(self, error: apsw.Error, committing: bool) -> StoreError:
        problem = super()._explain_write(error, committing)
        self.unknown += isinstance(problem, OutcomeUnknown)
        return problem


class Client:
    """Increments, and pairs of items that are always equal. It counts what was acknowledged."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.increments = 0
        self.pair = 0
        self.refused = 0

    def request(self, random: Random) -> None:
        try:
            match random.randrange(4):
                case 0:
                    scanned(self.database.execute, IndexName="by-color")
                case 1:
                    self.database.execute("TransactWriteItems", pair(self.pair + 1, random))
                    self.pair += 1
                case _:
                    self.database.execute("UpdateItem", increment("count"))
                    self.increments += 1
        except InternalServerError:
            self.refused += 1

    def check(self, database: Database, unknown: int) -> None:
        found = count(database.execute, "count") - self.increments
        twins = [database.execute("GetItem", key("twin", name)).get("Item") for name in "ab"]
        one, other = (int(twin["number"]["S"]) if twin else 0 for twin in twins)
        if one != other:
            raise Violation(f"half a transaction: {one} and {other}")
        if found < 0 or one < self.pair:
            raise Violation("an acknowledged write is lost")
        if found + (one > self.pair) > unknown:
            raise Violation(f"a refused write was done ({unknown} outcomes are unknown)")
        if problems := list(database.check()):
            raise Violation("; ".join(problems))


def pair(number: int, random: Random) -> dict[str, Any]:
    text = "y" * random.choice([10, 6_000])
    twins = (put("twin", n, number=str(number), color="red", text=text) for n in "ab")
    return {"TransactItems": [{"Put": twin} for twin in twins]}


@pytest.fixture(autouse=True)
def small_and_silent() -> Iterator[None]:
    logger = logging.getLogger("hashrange")
    logger.disabled = True
    with log_of(20):
        yield
    logger.disabled = False


@pytest.fixture
def the_disk() -> Iterator[Disk]:
    with disk() as made:
        made.on_sync = lies  # no sync is needed here, and they take time
        yield made


def fail_once(the_disk: Disk, path: Path, random: Random, place: str, fault: Any) -> str:
    """One fault, at a random step of a random kind. Returns what came of it."""
    store = Store(str(path), durability=random.choice(["full", "relaxed"]))
    with Database(store) as database:
        database.execute("CreateTable", DEFINITION)
        client = Client(database)
        the_disk.reason = random.choice([errno.EDQUOT, errno.EFBIG, errno.EIO])
        healthy = getattr(the_disk, place)
        setattr(the_disk, place, after(random.randrange(25), fault, healthy))
        for _ in range(REQUESTS):
            client.request(random)
        setattr(the_disk, place, healthy)
        the_disk.reason = 0
        refused = client.refused
        store._checkpointer.wait()
        client.request(random)
        client.request(random)
        recovered = client.refused == refused
        if fault is is_full and not recovered:
            raise Violation("it does not write when there is room again")
        client.check(database, store.unknown)
    with Database(SqliteStore(str(path), durability="relaxed")) as database:
        client.database = database
        client.request(random)
        client.check(database, store.unknown)
    if not refused:
        return "nothing was refused"
    return "it recovered" if recovered else "it was opened again"


def test_io_faults(the_disk: Disk, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    with chance() as random:
        for number in range(FAULTS):
            place, fault = KINDS[number % len(KINDS)]
            path = tmp_path / f"{number}.db"
            came = fail_once(the_disk, path, random, place, fault)
            seen[f"{place} {fault.__name__}: {came}"] += 1
            path.unlink()
    for line, number in sorted(seen.items()):
        print(f"{number:6} {line}")
    assert any("opened again" in line for line in seen)


def test_a_disk_that_loses_writes_is_found_out(the_disk: Disk, tmp_path: Path) -> None:
    def fail_some(random: Random) -> None:
        for number in range(20):
            fail_once(the_disk, tmp_path / f"{number}.db", random, "on_write", lies)

    found_out = Violation, StoreError, InternalServerError, DecodeError
    with chance() as random, pytest.raises(found_out):
        fail_some(random)
