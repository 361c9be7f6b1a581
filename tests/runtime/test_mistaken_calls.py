"""Errors for wrong arguments, missing operations and closed databases."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from traceback import format_exception
from typing import Any

import boto3
import pytest
from running import TABLE, create_table

import hashrange
from hashrange import Database, StoreError, kv
from hashrange.model.errors import ApiError, SerializationException, UnknownOperationException

CLOSED = "^the database is closed; connect to it again$"


Execute = Callable[[Database, str, Any], dict[str, Any]]


def awaited(database: Database, operation: str, request: Any) -> dict[str, Any]:
    return asyncio.run(database.execute_async(operation, request))


@pytest.fixture(params=[Database.execute, awaited])
def execute(request: pytest.FixtureRequest) -> Execute:
    way: Execute = request.param
    return way


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("put_item", "'put_item' is not an operation of DynamoDB; did you mean 'PutItem'?"),
        ("Querry", "'Querry' is not an operation of DynamoDB; did you mean 'Query'?"),
        ("zzz", "'zzz' is not an operation of DynamoDB"),
        (None, "None is not an operation of DynamoDB"),
        ("upkeep.Pending", "'upkeep.Pending' is not an operation of DynamoDB"),
    ],
)
def test_an_unknown_operation(store: kv.Store, execute: Execute, name: Any, told: str) -> None:
    with Database(store) as database, pytest.raises(UnknownOperationException) as unknown:
        execute(database, name, {})
    assert str(unknown.value) == told


@pytest.mark.parametrize("value", ["plain", 1, 1.5, True, b"x", ["x"], {1}, {"N": 1}, {"S": 1.5}])
def test_a_plain_value(store: kv.Store, execute: Execute, value: object) -> None:
    with Database(store) as database:
        create_table(database.execute)
        request = {"TableName": TABLE, "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}, "v": value}}
        with pytest.raises(SerializationException) as refused:
            execute(database, "PutItem", request)
    [note] = refused.value.__notes__
    assert note.startswith("A request is a dict, and so is each attribute value in it: ")


@pytest.mark.parametrize("request_", [None, "{}", b"{}", []])
def test_a_request_that_is_not_a_dict(store: kv.Store, execute: Execute, request_: object) -> None:
    with Database(store) as database, pytest.raises(SerializationException) as refused:
        execute(database, "ListTables", request_)
    assert refused.value.__notes__


def test_a_closed_database(store: kv.Store, execute: Execute) -> None:
    with Database(store) as database:
        client = database.boto3_session().client("dynamodb")
        create_table(database.execute)
        assert execute(database, "ListTables", {}) == {"TableNames": [TABLE]}
        assert client.list_tables()["TableNames"] == [TABLE]
    for operation in ("ListTables", "Scan", "PutItem", "none"):
        with pytest.raises(StoreError, match=CLOSED):
            execute(database, operation, {"TableName": TABLE})
    runtime: Any = database.runtime
    with pytest.raises(StoreError, match=CLOSED):
        runtime.call_all("BatchWriteItem", [b"{}"])
    with pytest.raises(StoreError, match=CLOSED):
        client.list_tables()
    with hashrange.mock(database), pytest.raises(StoreError, match=CLOSED):
        boto3.client("dynamodb", region_name="us-east-1").list_tables()


def test_the_name_of_memory_in_sqlite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", Path(":memory:")):
        with pytest.raises(StoreError, match=r"omit the path for a database in memory$"):
            hashrange.connect(name)
    assert list(tmp_path.iterdir()) == []


def test_a_path_of_any_kind(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    for name in (path, str(path), bytes(path)):
        with hashrange.connect(name) as database:
            assert database.execute("ListTables", {}) == {"TableNames": []}
    with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike object, not int"):
        hashrange.connect(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", [None, "app.db"])
def test_invalid_arguments(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^durability must be one of .*, not 'fulll'$"):
        hashrange.connect(path, durability="fulll")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^settings must be a hashrange\.Settings, not {}$"):
        hashrange.connect(path, settings={})  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_without_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    for name in ("clients.boto", "embedded.mock"):
        monkeypatch.delitem(sys.modules, f"hashrange.{name}", raising=False)
    with hashrange.connect() as database:
        for use in (database.boto3_session, lambda: hashrange.mock):
            with pytest.raises(ModuleNotFoundError) as refused:
                use()
            note = "Install it with: pip install 'hashrange[boto3]'"
            assert refused.value.__notes__ == [note]


@pytest.mark.parametrize(
    "key", [{"pk": {"S": "a"}, "sk": 1}, {"pk": {"S": "a"}, "sk": {"B": b"", "S": ""}}]
)
def test_a_refusal_has_no_chained_exception(store: kv.Store, execute: Execute, key: Any) -> None:
    with Database(store) as database, pytest.raises(ApiError) as refused:
        execute(database, "GetItem", {"TableName": TABLE, "Key": key})
    assert "another exception" not in "".join(format_exception(refused.value))


def test_the_address_of_a_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=r"^http://127\.0\.0\.1:8000 is the address of a server; "):
        hashrange.connect("http://127.0.0.1:8000")
    assert not list(tmp_path.iterdir())


def test_a_backup_of_a_database_in_memory() -> None:
    with hashrange.connect() as database, pytest.raises(StoreError, match="no file to copy"):
        database.backup("copy.db")
