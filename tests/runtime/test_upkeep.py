"""Work in the background: in bounded steps, any of which any process may do."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from running import (
    TABLE,
    RecordingStore,
    add_index,
    create_table,
    get,
    increment,
    index_status,
    put,
    scanned,
)
from waiting import wait_until

import hashrange
from hashrange import Database, Settings, kv
from hashrange.model.errors import ValidationException
from hashrange.operations.upkeep.empty_space import ROWS_PER_STEP
from hashrange.runtime.background import Duty
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.testing import TestClock
from hashrange.upkeep.upkeep import Upkeep

ROWS = 2 * ROWS_PER_STEP + 7


class Driven(Database):
    """A database whose upkeep runs when the test says so, and not in a thread."""

    def start_upkeep(self) -> None:
        pass

    def step(self) -> bool:
        return self._upkeep.run_once()


def fill(database: Database, rows: int) -> None:
    for start in range(0, rows, 25):
        numbers = range(start, min(start + 25, rows))
        puts = [{"PutRequest": {"Item": put(str(n), color="red")["Item"]}} for n in numbers]
        database.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})


def dropped(store: kv.Store) -> kv.Answer:
    snapshot = store.snapshot()
    try:
        return snapshot.read(kv.Dropped())
    finally:
        snapshot.close()


def test_a_table_is_deleted_at_once_and_its_rows_in_steps(store: kv.Store) -> None:
    recording = RecordingStore(store)
    with Driven(recording) as database:
        create_table(database.execute)
        fill(database, ROWS)
        recording.recorded.clear()
        database.execute("DeleteTable", {"TableName": TABLE})
        [deletion] = recording.recorded
        assert deletion[kv.DropSpace] == 1
        assert deletion.total() < 10  # whatever the size of the table
        with pytest.raises(Exception, match="not found"):
            database.execute("GetItem", get("1"))
        create_table(database.execute)
        database.execute("PutItem", put("new"))
        assert len(scanned(database.execute)) == 1

        assert dropped(store)
        steps = 1
        while database.step():
            steps += 1
        assert max(recording.purged) <= ROWS_PER_STEP
        assert steps > ROWS / ROWS_PER_STEP
        assert dropped(store) == []
        assert len(scanned(database.execute)) == 1
        assert not list(database.check())


def test_a_deleted_index_is_emptied(store: kv.Store) -> None:
    with Driven(store) as database:
        create_table(database.execute)
        fill(database, 50)
        add_index(database.execute)
        while database.step():
            pass
        delete = [{"Delete": {"IndexName": "by-color"}}]
        request = {"TableName": TABLE, "GlobalSecondaryIndexUpdates": delete}
        database.execute("UpdateTable", request)
        assert dropped(store)
        while database.step():
            pass
        assert dropped(store) == []
        assert len(scanned(database.execute)) == 50


@pytest.mark.usefixtures("small_steps")
def test_a_build_continues_where_it_stopped(store: kv.Store) -> None:
    """Another runtime, as after a restart, does not start from the beginning."""
    recording = RecordingStore(store)
    with Driven(recording) as database:
        create_table(database.execute)
        fill(database, 100)
        add_index(database.execute)
        for _ in range(8):
            database.step()
        assert index_status(database.execute) == "CREATING"
        with pytest.raises(Exception, match="backfilling"):
            scanned(database.execute, IndexName="by-color")
        assert not list(database.check())

        recording.recorded.clear()
        again = Upkeep(Runtime(recording))
        while again.run_once():
            pass
        built = sum(writes[kv.Put] for writes in recording.recorded)
        assert built < 80  # 50 entries; the table's definition and a version at each step
        assert index_status(database.execute) == "ACTIVE"
        assert len(scanned(database.execute, IndexName="by-color")) == 100
        assert not list(database.check())


def test_a_step_of_a_build_is_bounded_in_bytes(store: kv.Store) -> None:
    recording = RecordingStore(store)
    with Driven(recording) as database:
        create_table(database.execute)
        for number in range(10):
            item = put(str(number), color="red", text="x" * 300_000)
            database.execute("PutItem", item)
        add_index(database.execute)
        recording.recorded.clear()
        while database.step():
            pass
        # 4 entries of 300 KB come to a megabyte; then the table's definition and a version.
        assert max(writes[kv.Put] for writes in recording.recorded) <= 4 + 2
        assert len(scanned(database.execute, IndexName="by-color")) == 10


def test_it_runs_by_itself(path: str) -> None:
    """It runs after a commit that makes work, and when a file with unfinished work is opened."""
    import hashrange

    for _ in range(2):
        with hashrange.connect(path, durability="relaxed") as database:
            if not database.execute("ListTables", {})["TableNames"]:
                create_table(database.execute)
                fill(database, 100)
                add_index(database.execute)
            wait_until(lambda: index_status(database.execute) == "ACTIVE")
            assert len(scanned(database.execute, IndexName="by-color")) == 100


@pytest.mark.parametrize(
    ("color", "indexed"),
    [
        ({"S": "c" * 2048}, True),
        ({"S": "c" * 2049}, False),
        ({"S": ""}, False),
        ({"N": "1"}, False),
        ({"BOOL": True}, False),
        ({"L": [{"S": "red"}]}, False),
    ],
    ids=lambda value: str(value)[:12],
)
def test_older_items_that_cannot_be_indexed_are_left_out(
    store: kv.Store, color: dict[str, Any], indexed: bool
) -> None:
    """They can be written to, as long as the attribute that cannot be a key stays as it is."""
    with Driven(store) as database:
        create_table(database.execute)
        item = put("a")["Item"] | {"color": color}
        database.execute("PutItem", {"TableName": TABLE, "Item": item})
        add_index(database.execute)
        while database.step():
            pass
        assert len(scanned(database.execute, IndexName="by-color")) == indexed
        database.execute("UpdateItem", increment("a"))
        assert not list(database.check())
        again = {"TableName": TABLE, "Item": item | {"n": {"N": "2"}}}
        if indexed:
            database.execute("PutItem", again)
        else:
            with pytest.raises(ValidationException):
                database.execute("PutItem", again)
        database.execute("PutItem", put("a", color="red"))
        assert len(scanned(database.execute, IndexName="by-color")) == 1
        assert not list(database.check())


# ---- several processes ----


class Watched:
    """A runtime, as a process of its own sees it. It notes the operations that are called."""

    def __init__(self, runtime: Runtime) -> None:
        self.called: list[str] = []
        self._runtime = runtime

    def call_upkeep(self, name: str, body: bytes, /) -> bytes:
        self.called.append(name)
        return self._runtime.call_upkeep(name, body)


def test_one_of_several_processes_does_the_upkeep(store: kv.Store) -> None:
    first, second = Watched(Runtime(store)), Watched(Runtime(store))
    one, other = Upkeep(first, shared=True), Upkeep(second, shared=True)
    one.wake()
    wait_until(lambda: "upkeep.Pending" in first.called)
    other.wake()
    wait_until(lambda: bool(second.called))
    other.wake()
    wait_until(lambda: len(second.called) > 1)
    assert set(second.called) == {"upkeep.Lease"}
    one.close()
    other.wake()
    wait_until(lambda: "upkeep.Pending" in second.called)
    other.close()


def test_a_child_process_has_no_part_in_the_lease(store: kv.Store) -> None:
    duty = Duty(Runtime(store), "upkeep", shared=True)
    assert duty.is_ours()
    duty.after_fork_in_child()
    assert not duty.is_ours()


def test_the_upkeep_of_a_process_that_died_is_taken_over(store: kv.Store) -> None:
    clock = TestClock(1_000_000)
    runtime = Runtime(store, clock)

    def granted(holder: str) -> bool:
        body = msgspec.json.encode({"Holder": holder, "Seconds": 10})
        answer = msgspec.json.decode(runtime.call_upkeep("upkeep.Lease", body))
        return bool(answer["Granted"])

    assert granted("one")
    assert not granted("other")
    clock.advance(9)
    assert granted("one")
    clock.advance(9)
    assert not granted("other")
    clock.advance(2)
    assert granted("other")
    assert not granted("one")


def test_whoever_ran_upkeep_finds_it_done() -> None:
    """Also if another thread did some of its steps meanwhile."""
    with hashrange.connect(settings=Settings(partition_bytes=10_000)) as database:
        create_table(database.execute)
        for number in range(100):
            item = put(str(number))["Item"] | {"text": {"S": "x" * 1000}}
            database.execute("PutItem", {"TableName": TABLE, "Item": item})

        def largest() -> int:
            database.run_upkeep()
            [table] = database.inspect(TABLE)
            return max(int(partition["bytes"]) for partition in table["partitions"])

        with ThreadPoolExecutor(4) as pool:
            assert max(pool.map(lambda _: largest(), range(4))) <= 10_000
