"""Power cuts: every acknowledged commit is there afterwards, whole, and no file is refused.

A database lives through many of them, one after another. In each life it makes transactions,
checkpoints, rollbacks and restarts of its log, and its disk remembers every write and sync. Then
the power fails at many random moments, each of which is checked, and one of them begins the next
life.
"""

from bisect import bisect
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from small import log_of

from hashrange.kv import Add, CreateSpace, Delete, Durability, Page, Put, Range, StoreError, Write
from hashrange.storage import SqliteStore
from hashrange.storage.sqlite import format as file_format
from hashrange.testing.store_access import commit, counted, read
from hashrange.testing.store_model import value_of

from .power import Disk, Recorder, recorder
from .runs import Violation, chance, times

pytestmark = pytest.mark.deep

CUTS = times(250, 200_000)
CUTS_A_LIFE = 40
TRANSACTIONS_A_LIFE = 25
SPACE = 5
COUNT = b"commits"
NUMBER = b"the number of commits"

Files = dict[str, bytes]
State = dict[bytes, bytes]
"""The rows of the space."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few pages are enough for a checkpoint, a new log, and writes before a commit."""
    monkeypatch.setattr(file_format, "_CACHE_KIB", 40)
    with log_of(8):
        yield


@pytest.fixture
def disk() -> Iterator[Recorder]:
    with recorder() as made:
        yield made


class Life:
    """What happened between two power cuts, on the files in `folder`.

    `states` are those after each transaction, and `acknowledged` the steps of the disk by then.
    """

    def __init__(self, disk: Recorder, random: Random, folder: Path) -> None:
        self.random = random
        self.before = files_in(folder)
        self.states, self.acknowledged = [found(folder, "relaxed")], [0]
        put_files(folder, self.before)
        self._disk = disk
        self._path = str(folder / "a.db")
        disk.steps, disk.watched = [], folder

    def run(self, durability: Durability) -> None:
        store = SqliteStore(self._path, durability=durability)
        if not self.states[0]:
            self._commit(store, [CreateSpace(SPACE)], {})
        for _ in range(TRANSACTIONS_A_LIFE):
            act = self.random.random()
            if act < 0.06:
                store.close()
                store = SqliteStore(self._path, durability=durability)
            elif act < 0.14:
                transaction = store.begin()
                transaction.write(self._writes(self.random.randint(5, 40))[0])
                transaction.rollback()
            else:
                self._commit(store, *self._writes(self.random.choice([1, 1, 2, 5, 30])))
        self._disk.watched = None
        store.close()
        self.steps = self._disk.steps

    def cuts(self, number: int, lying: bool = False) -> Iterator[tuple[Files, range]]:
        """What is left after cuts at random moments, and the states that it may be in."""
        disk = Disk(self.before, lying)
        done = 0
        for at in sorted(self.random.randrange(len(self.steps)) for _ in range(number)):
            for step in self.steps[done:at]:
                disk.advance(step)
            done = at
            last = bisect(self.acknowledged, at) - 1
            under_way = min(last + 2, len(self.states))
            yield disk.cut(self.random, self.steps[at]), range(last, under_way)

    def _commit(self, store: SqliteStore, writes: list[Write], state: State) -> None:
        state[NUMBER] = numbered(number_of(self.states[-1]) + 1)
        commit(store, *writes, Put(SPACE, NUMBER, state[NUMBER]), Add(COUNT, 1))
        self.states.append(state)
        self.acknowledged.append(len(self._disk.steps))
        store._checkpointer.wait()

    def _writes(self, rows: int) -> tuple[list[Write], State]:
        """Changes of some rows, and the state after them."""
        state, changed = dict(self.states[-1]), State()
        writes: list[Write] = []
        for _ in range(rows):
            key = b"%02d" % self.random.randrange(40)
            if key in state and key not in changed and self.random.random() < 0.2:
                del state[key]
                writes.append(Delete(SPACE, key))
            else:
                size = self.random.choice([10, 300, 3_000, 9_000])
                changed[key] = value_of(1, self.random.randbytes(8) * (size // 8))
        puts = [Put(SPACE, key, value) for key, value in changed.items()]
        return [*writes, *puts], state | changed


def numbered(number: int) -> bytes:
    return value_of(1, number.to_bytes(4, "big"))


def number_of(state: State) -> int:
    return int.from_bytes(state[NUMBER][-4:], "big") if state else 0


def files_in(folder: Path) -> Files:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix != ".db-shm"}


def put_files(folder: Path, files: Files) -> None:
    for file in folder.iterdir():
        file.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def found(folder: Path, durability: Durability) -> State:
    """The state of a database that must not be refused, be damaged, or have half a commit."""
    try:
        store = SqliteStore(str(folder / "a.db"), durability=durability)
    except StoreError as error:
        raise Violation(f"refused: {error}") from error
    try:
        if problems := list(store.verify()):
            raise Violation("; ".join(problems))
        page = read(store, Range(SPACE, b"", None))
        assert isinstance(page, Page)
        state = dict(page.rows)
        if counted(store, COUNT) != number_of(state):
            raise Violation(f"commit {number_of(state)}, and {counted(store, COUNT)} are counted")
        return state
    finally:
        store.close()


def check(folder: Path, files: Files, life: Life, may: range, durability: Durability) -> None:
    """Only `relaxed` may lose the last commits of a life; then it takes leave of them for good."""
    put_files(folder, files)
    state = found(folder, durability)
    if durability == "relaxed":
        may = range(may.stop)
        if found(folder, "full") != state:
            raise Violation("another state when it is opened again")
    if state not in life.states[may.start : may.stop]:
        at = life.states.index(state) if state in life.states else "none of the states"
        raise Violation(f"the state is {at}, not one of {may}")


def live(
    disk: Recorder, random: Random, tmp_path: Path, cuts: int, durability: Durability, lying: bool
) -> None:
    folder, image = tmp_path / "life", tmp_path / "image"
    folder.mkdir()
    image.mkdir()
    for _ in range(-(-cuts // CUTS_A_LIFE)):
        life = Life(disk, random, folder)
        life.run(durability)
        left: Files = {}
        for files, may in life.cuts(CUTS_A_LIFE, lying):
            check(image, files, life, may, durability)
            if random.random() < 0.1:
                left = files
        put_files(folder, left)


@pytest.mark.parametrize(("durability", "part"), [("full", 0.8), ("relaxed", 0.2)])
def test_power_cuts(disk: Recorder, tmp_path: Path, durability: Durability, part: float) -> None:
    with chance() as random:
        live(disk, random, tmp_path, int(CUTS * part), durability, lying=False)


def test_a_disk_that_only_claims_to_sync_is_found_out(disk: Recorder, tmp_path: Path) -> None:
    with chance() as random, pytest.raises(Violation):
        live(disk, random, tmp_path, 500, "full", lying=True)
