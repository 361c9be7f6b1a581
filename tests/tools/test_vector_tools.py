"""What commands, time to live and several processes make of vector indexes."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from programs import serving
from running_workers import client, workers
from waiting import wait_until

import hashrange
from hashrange import Database, kv
from hashrange.testing import TestClock

INDEX: dict[str, Any] = {
    "IndexName": "nearest",
    "VectorAttribute": {"AttributeName": "e"},
    "SearchSchema": [{"AttributeName": "kind", "SearchSchemaElementType": "INLINE_FILTER"}],
    "Projection": {"ProjectionType": "ALL"},
    "Dimensions": 2,
    "DistanceFunction": "EUCLIDEAN",
}
TABLE: dict[str, Any] = {
    "TableName": "docs",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "kind")
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "VectorIndexes": [INDEX],
}


def item(name: str, x: float, y: float, **attributes: Any) -> dict[str, Any]:
    vector = {"L": [{"N": str(x)}, {"N": str(y)}]}
    return {"pk": {"S": name}, "kind": {"S": "k"}, "e": vector, **attributes}


def put(db: Database, *items: dict[str, Any]) -> None:
    for each in items:
        db.execute("PutItem", {"TableName": "docs", "Item": each})


def search(x: float, y: float, top: int = 1) -> dict[str, Any]:
    vector = [{"N": str(x)}, {"N": str(y)}]
    return {"TableName": "docs", "IndexName": "nearest", "SearchVector": vector, "TopK": top}


def names(answer: dict[str, Any]) -> list[str]:
    return [result["Item"]["pk"]["S"] for result in answer["SearchResults"]]


def run(*arguments: str, given: str = "") -> str:
    command = [sys.executable, "-m", "hashrange", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, input=given).stdout


def test_commands_show_check_and_copy_a_vector_index(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.db"), str(tmp_path / "two.db")
    with hashrange.connect(one) as db:
        db.execute("CreateTable", TABLE)
        put(db, *(item(f"p{number}", number, 0) for number in range(10)))
    assert "  vector index nearest: 10 items" in run("inspect", one)
    assert "no problem found" in run("check", one)
    request = {"PutItem": {"TableName": "docs", "Item": item("new", 1, 1)}}
    explained = run("explain", one, json.dumps(request))
    assert "docs, vector index nearest: the entry changes: 1,024 vector write bytes" in explained
    run("copy", one, two)
    with hashrange.connect(two) as db:
        described = db.execute("DescribeTable", {"TableName": "docs"})["Table"]
        [shown] = described["VectorIndexes"]
        assert {name: shown[name] for name in INDEX} == INDEX
        assert names(db.execute("SearchVectors", search(7.1, 0))) == ["p7"]


def test_the_shell_describes_a_vector_index(tmp_path: Path) -> None:
    path = str(tmp_path / "one.db")
    with hashrange.connect(path) as db:
        db.execute("CreateTable", TABLE)
        put(db, item("p", 1, 1))
    for command in (".schema docs", ".indexes"):
        shown = run("shell", path, given=command)
        wanted = "vector index nearest: e of 2 dimensions by euclidean; kind (S) filter; "
        assert wanted + "all attributes; 1 item, " in shown


@pytest.mark.skipif(sys.platform != "linux" or os.cpu_count() == 1, reason="counts threads")
def test_a_search_starts_no_threads_in_a_server(tmp_path: Path) -> None:
    """The library below numpy starts one for each processor, unless it is told otherwise."""
    pytest.importorskip("numpy")
    with serving(tmp_path / "app.db") as server:
        one = client(server)
        one.create_table(**TABLE)
        put_one = {"TableName": "docs", "Item": item("p", 1, 1)}
        for _ in range(3):
            one.put_item(**put_one)
            one.scan(TableName="docs")
        tasks = Path(f"/proc/{server.process.pid}/task")
        before = len(list(tasks.iterdir()))
        assert names(one.search_vectors(**search(1, 1))) == ["p"]
        assert "numpy" in Path(f"/proc/{server.process.pid}/maps").read_text()
        # A thread of ours that has just imported numpy may still be ending.
        wait_until(lambda: len(list(tasks.iterdir())) <= before)


def test_a_damaged_row_of_an_index_is_found(tmp_path: Path) -> None:
    with hashrange.connect(tmp_path / "one.db") as db:
        db.execute("CreateTable", TABLE)
        put(db, item("p", 1, 1), item("q", 2, 2))
        runtime: Any = db.runtime
        transaction = runtime._store.begin()
        page = transaction.read(kv.Range(2, b"", None))
        [(key, _), _] = page.rows
        transaction.write([kv.Delete(2, key)])
        transaction.commit()
        problems = list(db.check())
        assert any("index nearest: row" in each and "is missing" in each for each in problems)


def test_expired_items_leave_the_index_and_streams_do_not_show_it() -> None:
    clock = TestClock(1_800_000_000)
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    with hashrange.connect(clock=clock) as db:
        db.execute("CreateTable", TABLE | {"StreamSpecification": stream})
        expiry = {"Enabled": True, "AttributeName": "at"}
        request = {"TableName": "docs", "TimeToLiveSpecification": expiry}
        db.execute("UpdateTimeToLive", request)
        put(db, item("stays", 0, 0), item("goes", 1, 1, at={"N": "1800000010"}))
        assert names(db.execute("SearchVectors", search(1, 1))) == ["goes"]
        clock.advance(60)
        wait_until(lambda: names(db.execute("SearchVectors", search(1, 1))) == ["stays"])
        assert list(db.check()) == []


@pytest.mark.slow
@pytest.mark.deep
def test_a_search_sees_each_write_that_was_acknowledged(tmp_path: Path) -> None:
    """Writers and searches race over two processes on one file."""
    failures: list[str] = []
    with workers(tmp_path / "app.db") as server:
        client(server).create_table(**TABLE)

        def work(lane: int) -> None:
            writer, reader = client(server), client(server)
            for step in range(60):
                name, at = f"{lane}-{step % 7}", lane * 1000.0 + step
                writer.put_item(TableName="docs", Item=item(name, at, 0))
                found = names(reader.search_vectors(**search(at, 0)))
                if found != [name]:
                    failures.append(f"{name} at {at}: {found}")

        threads = [threading.Thread(target=work, args=(lane,)) for lane in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
