"""Work that becomes due with time is done by one of the processes that have a file open."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from waiting import wait_until

import hashrange
from hashrange import Database
from hashrange.upkeep.scrubber import Scrubber
from hashrange.upkeep.upkeep import Upkeep

pytestmark = pytest.mark.slow

TABLE = "Things"


class Recorder:
    """A runtime that only notes which operations of upkeep are called."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def call_upkeep(self, name: str, body: bytes, /) -> bytes:
        self.called.append(name)
        step = {"Operation": "upkeep.ExpireItems", "Body": {"TableName": TABLE}}
        pending = {"Steps": [step, {"Operation": "upkeep.ForgetTokens", "Body": {}}]}
        return msgspec.json.encode(pending if name == "upkeep.Pending" else {"Done": True})


@pytest.mark.parametrize("elected", [True, False])
def test_only_the_elected_process_expires_items(elected: bool) -> None:
    recorder = Recorder()
    upkeep = Upkeep(recorder, elected=lambda: elected)
    upkeep.wake()  # as a process does that has just changed a table
    wait_until(lambda: "upkeep.ForgetTokens" in recorder.called)
    upkeep.close()
    assert ("upkeep.ExpireItems" in recorder.called) == elected


def table_with_expiry(database: Database) -> None:
    definition: dict[str, Any] = {
        "TableName": TABLE,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    database.execute("CreateTable", definition)
    expiry = {"Enabled": True, "AttributeName": "expires"}
    database.execute("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": expiry})


def put_expired(database: Database) -> None:
    item = {"pk": {"S": "old"}, "expires": {"N": str(int(time.time()) - 60)}}
    database.execute("PutItem", {"TableName": TABLE, "Item": item})


def is_empty(database: Database) -> bool:
    return bool(database.execute("Scan", {"TableName": TABLE})["Count"] == 0)


def test_when_the_elected_process_is_gone_another_takes_over(tmp_path: Path) -> None:
    one = hashrange.connect(tmp_path / "app.db")
    table_with_expiry(one)
    with hashrange.connect(tmp_path / "app.db") as other:
        put_expired(other)
        wait_until(lambda: is_empty(other))
        one.close()
        put_expired(other)
        wait_until(lambda: is_empty(other))


class Searched:
    """A store of which only the election matters."""

    def __init__(self) -> None:
        self.leads = False
        self.asked = 0
        self.searched = 0

    def elected(self) -> bool:
        self.asked += 1
        return self.leads

    def scrub(self, seconds: float, /) -> list[list[str]]:
        self.searched += 1
        return [["damaged"]]


@pytest.mark.usefixtures("eager_search")
def test_only_the_elected_process_looks_for_damage() -> None:
    store: Any = Searched()
    found: list[str] = []

    class Refusing:
        def refuse_writes(self, reason: str, /) -> None:
            found.append(reason)

    scrubber = Scrubber(store, Refusing())
    told: list[str] = []
    scrubber.on_damage(told.append)
    scrubber.start()
    wait_until(lambda: store.asked > 3)
    assert store.searched == 0
    store.leads = True
    wait_until(lambda: told)
    scrubber.close()
    assert told == found
    late: list[str] = []
    scrubber.on_damage(late.append)
    assert late == found
