"""Recorded loads: a replay through the meter gives the same refusals, one by one."""

import json
import os
import random
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import hashrange
from hashrange import Settings, StoreError
from hashrange.model.errors import ApiError
from hashrange.runtime.prediction.proof import prove
from hashrange.runtime.prediction.reading import Trace, TraceError
from hashrange.testing import TestClock

TABLE = {
    "TableName": "orders",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("id", "at", "customer")
    ],
    "KeySchema": [
        {"AttributeName": "id", "KeyType": "HASH"},
        {"AttributeName": "at", "KeyType": "RANGE"},
    ],
    "ProvisionedThroughput": {"ReadCapacityUnits": 8, "WriteCapacityUnits": 20},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_customer",
            "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 9},
        }
    ],
}


def recorded(path: Path, keys: Any = "exact", **settings: Any) -> tuple[Any, TestClock]:
    clock = TestClock("2026-11-21")
    made = {"throughput": "enforced", "partition_write_units": 15, "index_backlog_units": 20}
    found = Settings(record=str(path), record_keys=keys, **{**made, **settings})
    db = hashrange.connect(clock=clock, settings=found)
    db.execute("CreateTable", TABLE)
    return db, clock


def request(random: random.Random) -> tuple[str, dict[str, Any]]:
    """A request of any kind."""

    def key() -> dict[str, Any]:
        return {"id": {"S": f"o{random.randrange(12)}"}, "at": {"S": f"{random.randrange(30)}"}}

    def item() -> dict[str, Any]:
        size = random.choice((10, 10, 3000))
        customer = f"c{random.randrange(3)}"
        return {**key(), "customer": {"S": customer}, "text": {"S": "x" * size}}

    def keys() -> list[dict[str, Any]]:
        return list({json.dumps(each): each for each in (key(), key(), key())}.values())

    name = {"TableName": "orders"}
    puts = [{"PutRequest": {"Item": {**item(), **each}}} for each in keys()]
    condition = {"ConditionExpression": "attribute_not_exists(id)"}
    by_customer = {
        **name,
        "IndexName": "by_customer",
        "KeyConditionExpression": "customer = :c",
        "ExpressionAttributeValues": {":c": {"S": "c1"}},
    }
    requests: list[tuple[str, dict[str, Any]]] = [
        ("PutItem", {**name, "Item": item()}),
        ("PutItem", {**name, "Item": item(), **condition}),
        ("GetItem", {**name, "Key": key()}),
        ("DeleteItem", {**name, "Key": key()}),
        ("Query", by_customer),
        ("Scan", name),
        ("BatchGetItem", {"RequestItems": {"orders": {"Keys": keys()}}}),
        ("BatchWriteItem", {"RequestItems": {"orders": puts}}),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Put": {**name, "Item": item()}}]},
        ),
    ]
    return random.choice(requests)


def send(db: Any, random: random.Random, number: int) -> None:
    for _ in range(number):
        with suppress(ApiError):
            db.execute(*request(random))


def test_a_replay_gives_the_same_refusals(tmp_path: Path) -> None:
    path = tmp_path / "load"
    db, clock = recorded(path, heat_seconds=20)
    drawn = random.Random(1)
    for second in range(60):
        send(db, drawn, 12)
        clock.advance(drawn.random())
        if second == 30:
            units = {"ReadCapacityUnits": 30, "WriteCapacityUnits": 10}
            db.execute("UpdateTable", {"TableName": "orders", "ProvisionedThroughput": units})
    db.close()
    proof = prove(Trace(str(path)))
    assert proof.difference is None
    assert proof.asks > 600
    assert proof.refusals > 50


def test_a_replay_of_many_threads_gives_the_same_refusals(tmp_path: Path) -> None:
    path = tmp_path / "load"
    db, _ = recorded(path)
    with ThreadPoolExecutor(4) as threads:
        for seed in range(4):
            threads.submit(send, db, random.Random(seed), 100)
    db.close()
    proof = prove(Trace(str(path)))
    assert proof.difference is None
    assert proof.refusals > 20


def test_a_replay_that_differs_is_found(tmp_path: Path) -> None:
    path = tmp_path / "load"
    db, _ = recorded(path)
    send(db, random.Random(2), 60)
    db.close()
    changed = path.read_text().replace('"initial_burst_seconds":1', '"initial_burst_seconds":2')
    path.write_text(changed)
    proof = prove(Trace(str(path)))
    assert proof.differences
    assert "line" in (proof.difference or "")


def test_a_trace_is_its_owners_and_has_no_values(tmp_path: Path) -> None:
    for keys in ("exact", "hmac"):
        path = tmp_path / keys
        db, _ = recorded(path, keys)
        put = {"id": {"S": "secret-id"}, "at": {"S": "1"}, "value": {"S": "secret-value"}}
        db.execute("PutItem", {"TableName": "orders", "Item": put})
        db.close()
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        text = path.read_text()
        assert "secret" not in text
        assert ("UwAAAAlz" in text) == (keys == "exact")  # the raw key, in base64


def test_measured_load_is_recorded_without_refusals(tmp_path: Path) -> None:
    path = tmp_path / "load"
    db, _ = recorded(path, throughput="measured")
    send(db, random.Random(3), 200)
    db.close()
    events = [line for line in path.read_text().splitlines() if line.startswith("[")]
    assert len(events) == 200
    with pytest.raises(TraceError, match="measured"):
        prove(Trace(str(path)))


def test_what_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "there"
    path.write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        recorded(path)
    assert path.read_text() == "mine"
    with pytest.raises(StoreError, match="No such file"):
        recorded(tmp_path / "nowhere" / "load")
    with pytest.raises(ValueError, match="record needs"):
        recorded(tmp_path / "load", throughput="off")


HEAD = '{"hashrange_trace":1,"keys":"exact","started":0.0,"throughput":"measured","settings":{}}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a trace"),
        ("hello\n", "not a trace"),
        ("[1]\n", "not a trace"),
        (HEAD.replace(":1,", ":2,"), "version 2; this program reads version 1"),
        (HEAD.replace("{}", '{"colour":1}'), "line 1: .*colour"),
        (HEAD.replace("{}", '{"heat_share":7}'), "line 1: heat_share"),
        (HEAD + '[5,1,"",1,"Get",false,[],[]]\n[4,1,"",1,"G",false,[],[]]\n', "line 3: .*back"),
        (HEAD + '[5,1,"",1,"Get",false,[[9,"","",true,1]],[]]\n', "line 2: no table .* space 9"),
        (HEAD + "[5,1\n[6,1]\n", "line 2"),
        (HEAD + '{"table":7}\n', "line 2"),
        (HEAD + '{"other":7}\n', "line 2"),
    ],
)
def test_a_bad_trace_gets_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "load"
    path.write_text(text)
    with pytest.raises(TraceError, match=message) as error:
        list(Trace(str(path)).lines())
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "load"
    path.write_text(HEAD + '[5,1,"",1,"Get",false,[],[]]\n[6,1,"",1,"Ge')
    trace = Trace(str(path))
    assert len(list(trace.lines())) == 1
    assert trace.cut == 3
