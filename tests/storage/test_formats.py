"""Files of older formats are upgraded completely or not at all, and never misread."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

import hashrange
from hashrange import kv
from hashrange.engine import upgrade
from hashrange.engine.keyspace import system
from hashrange.kv import Append, Damaged, Dropped, Full, Range
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage import MemoryStore, SqliteStore
from hashrange.storage.sqlite import format as file_format
from hashrange.testing import FaultyStore
from hashrange.testing.store_access import commit, counted, keys, read, row
from hashrange.testing.store_model import value_of

from .conftest import OpenStore
from .formats.tables import NOON, ORDERS, SESSIONS, answers, collection_sizes, connect

FORMATS = Path(__file__).parent / "formats"
LATER = NOON + 1000


# ---- the file ----


@pytest.mark.parametrize("version", range(1, file_format.VERSION + 1))
def test_files_of_every_version_open(path: Path, open_store: OpenStore, version: int) -> None:
    """Each `v<number>.db` in `formats` was written by the version it is named after."""
    shutil.copy(FORMATS / f"v{version}.db", path)
    store = open_store()
    assert (counted(store, b"rows"), row(store, (5, b"a"))) == (2, value_of(1, b"first"))
    assert keys(read(store, Range(5, b"", None))) == [b"a", b"b", b"l" + bytes(7) + b"\x01"]
    assert read(store, Dropped()) == [6]
    assert list(store.verify()) == []
    commit(store, Append(5, 0, b"l", value_of(1)))
    assert keys(read(store, Range(5, b"l", b"m")))[1] == b"l" + bytes(7) + b"\x02"


def test_an_older_file_is_upgraded_completely_or_not_at_all(
    path: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = file_format.VERSION
    shutil.copy(FORMATS / f"v{newest}.db", path)

    def upgrade(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE news (n)")

    def fail(connection: apsw.Connection) -> None:
        upgrade(connection)
        raise apsw.FullError("no room")

    with monkeypatch.context() as later:
        later.setattr(file_format, "VERSION", newest + 1)
        later.setitem(file_format.UPGRADES, newest, fail)
        with pytest.raises(Full):
            open_store()
        later.setitem(file_format.UPGRADES, newest, upgrade)
        store = open_store()
        assert (counted(store, b"rows"), row(store, (5, b"a"))) == (2, value_of(1, b"first"))
        store.close()
    connection = apsw.Connection(str(path))
    assert connection.pragma("user_version") == newest + 1
    assert connection.execute("SELECT count(*) FROM news").get == 0
    connection.close()
    with pytest.raises(Damaged, match="install a newer one"):
        open_store()


def test_the_page_about_the_bytes_is_of_these_versions() -> None:
    page = (Path(__file__).parents[2] / "docs" / "keyspace.md").read_text()
    assert f"in version {upgrade.VERSION} of their" in page
    *_, last = re.findall(r"^\| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert tuple(map(int, last)) == (file_format.VERSION, upgrade.VERSION)


# ---- what the engine has stored ----


@pytest.fixture(params=range(1, upgrade.VERSION))
def older_tables(path: Path, request: pytest.FixtureRequest) -> Path:
    """Tables with local and global indexes, streams, expiry, tags and a token: see `formats`.

    Each `v<number>-tables.db` was written by the version that it is named after.
    """
    shutil.copy(FORMATS / f"v{request.param}-tables.db", path)
    return path


@pytest.fixture
def expected(older_tables: Path, request: pytest.FixtureRequest) -> list[object]:
    """The answers of the older version itself."""
    version = request.node.callspec.params["older_tables"]
    found: list[object] = json.loads((FORMATS / f"v{version}-tables.json").read_text())
    return found


def without_ids(answer: Any) -> Any:
    """An answer without the ids of stream records, which the version that reads them makes."""
    if isinstance(answer, list):
        return [without_ids(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    kept = answer.keys() - {"eventID"}
    return {n: without_ids(answer[n]) for n in kept if not n.endswith("SequenceNumber")}


def test_an_upgraded_database_answers_as_before(older_tables: Path, expected: list[object]) -> None:
    for opening in range(2):  # the second finds it upgraded
        with connect(str(older_tables), LATER + opening * 100) as database:
            assert list(database.check()) == []
            found = [*answers(database), *collection_sizes(database)]
            assert without_ids(found) == without_ids(expected)
            assert list(database.check()) == []


def test_an_upgraded_database_can_be_used_further(older_tables: Path) -> None:
    """New tables get spaces of their own; sizes and streams continue."""
    with connect(str(older_tables), LATER) as database:
        item = {"customer": {"S": "a"}, "number": {"N": "100"}, "total": {"N": "9"}}
        database.execute("PutItem", {"TableName": "orders", "Item": item})
        for table in (ORDERS, SESSIONS):
            database.execute("CreateTable", table | {"TableName": f"{table['TableName']}-again"})
        database.execute("PutItem", {"TableName": "orders-again", "Item": item})
        assert database.execute("Scan", {"TableName": "sessions-again"})["Items"] == []
        assert database.execute("Scan", {"TableName": "orders-again"})["Items"] == [item]
        assert list(database.check()) == []
        database.execute("DeleteTable", {"TableName": "orders"})
    with connect(str(older_tables), LATER + 100) as database:
        left = ["orders-again", "sessions", "sessions-again"]
        assert database.execute("ListTables", {})["TableNames"] == left
        assert list(database.check()) == []


def test_an_interrupted_upgrade_starts_again(older_tables: Path, expected: list[object]) -> None:
    """Whichever step fails, nothing has changed."""
    store = SqliteStore(str(older_tables))
    old = (counted(store, b"spaces"), read(store, Range(kv.SYSTEM_SPACE, b"", None)))
    assert old[1] != kv.Page([], True)
    faults = dict.fromkeys(("begin", "read", "write", "commit"), (Full,))
    for countdown in range(1000):
        faulty = FaultyStore(store, countdown=countdown, faults=faults)
        try:
            Runtime(faulty)
        except Full:
            now = (counted(store, b"spaces"), read(store, Range(kv.SYSTEM_SPACE, b"", None)))
            assert now == old
        else:
            break
    assert countdown > 10
    store.close()
    with connect(str(older_tables), LATER) as database:
        found = [*answers(database), *collection_sizes(database)]
        assert without_ids(found) == without_ids(expected)
        assert list(database.check()) == []


def test_a_lost_race_to_upgrade_is_not_upgraded_twice(older_tables: Path) -> None:
    store = SqliteStore(str(older_tables))
    Runtime(FaultyStore(store, countdown=0, faults={"commit": (kv.Conflict,)}))
    assert counted(store, b"spaces") == 0
    made = row(store, system.SPACES)
    Runtime(store).close()
    reopened = SqliteStore(str(older_tables))
    assert row(reopened, system.SPACES) == made
    reopened.close()


def test_a_store_of_a_newer_version_is_refused(path: Path) -> None:
    store = SqliteStore(str(path))
    newer = system.encode_number(upgrade.VERSION + 1)
    commit(store, kv.Put(*system.FORMAT, newer))
    store.close()
    with pytest.raises(Damaged, match=r"^[^\n]*install a newer one$"):
        hashrange.connect(path)
    store = SqliteStore(str(path))  # which the refusal has closed
    assert row(store, system.FORMAT) == newer
    store.close()


@pytest.mark.parametrize(
    "damaged",
    [
        kv.Delete(*system.FORMAT),
        kv.Put(*system.FORMAT, system.encode_number(upgrade.VERSION - 1)),
        kv.Put(*system.FORMAT, bytes(16)),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_a_store_whose_version_is_damaged_is_refused(
    path: Path, damaged: kv.Write, streams: bool
) -> None:
    definition: dict[str, Any] = {
        "TableName": "items",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    }
    if streams:
        stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        definition["StreamSpecification"] = stream
    with hashrange.connect(path) as database:
        database.execute("CreateTable", definition)
    store = SqliteStore(str(path))
    commit(store, damaged)
    before = read(store, Range(kv.SYSTEM_SPACE, b"", None))
    store.close()
    with pytest.raises(Damaged, match=r"^[^\n]*is damaged[^\n]*restore it from a backup$"):
        hashrange.connect(path)
    store = SqliteStore(str(path))
    assert read(store, Range(kv.SYSTEM_SPACE, b"", None)) == before
    store.close()


def test_a_new_store_is_of_the_newest_version() -> None:
    store = MemoryStore()
    Runtime(store)
    assert system.decode_number(row(store, system.FORMAT)) == upgrade.VERSION
