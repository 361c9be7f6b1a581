"""Commands that move data, run in this process, and the tables that they are run on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drawn_items
import pytest
from command_line import command_line

import hashrange
from hashrange.model.values import normalize_item

Item = dict[str, Any]


class Ended:
    def __init__(self, status: int, out: str, error: str) -> None:
        self.status = status
        self.out = out
        self.error = error


Run = Callable[..., Ended]


@pytest.fixture
def run() -> Run:
    """Run a command in this process."""

    def ended(*words: object, **given: Any) -> Ended:
        found = command_line(*words, **given)
        return Ended(found.returncode, found.stdout, found.stderr)

    return ended


def fault(ended: Ended) -> str:
    assert (ended.status, ended.out) == (1, "")
    [line] = ended.error.splitlines()
    return line.removeprefix("hashrange: ")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def numbered(number: int) -> Item:
    return {"pk": {"S": f"p{number % 97}"}, "sk": {"N": str(number)}, "v": {"S": f"x{number}"}}


def fill(path: str, items: list[Item]) -> None:
    with hashrange.connect(path, durability="memory") as db:
        db.execute("CreateTable", drawn_items.TABLE)
        for at in range(0, len(items), 25):
            puts = [{"PutRequest": {"Item": item}} for item in items[at : at + 25]]
            db.execute("BatchWriteItem", {"RequestItems": {"table": puts}})


def content(path: str, table: str = "table") -> list[Item]:
    found: list[Item] = []
    with hashrange.connect(path) as db:
        request: Item = {"TableName": table}
        while True:
            page = db.execute("Scan", request)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                for item in found:
                    normalize_item(item)  # a Scan has number sets in an order of its own
                return ordered(found)
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def ordered(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: json.dumps([item["pk"], item["sk"]]))
