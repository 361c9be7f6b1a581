"""Steps without a database: partly processed batches, and an asynchronous client."""

import asyncio
from types import SimpleNamespace
from typing import Any, Protocol

import pytest
from botocore.stub import Stubber

import hashrange
from hashrange import design as st
from hashrange.design.execute import batches
from hashrange.design.execute.steps import ApiCall, Pause


def test_unprocessed_requests_are_sent_again_after_a_pause() -> None:
    requests = [{"PutRequest": {"Item": {"pk": {"N": str(n)}}}} for n in range(30)]
    steps = batches.write_all("t", requests)
    sent = next(steps)
    assert isinstance(sent, ApiCall)
    assert len(sent.payload["RequestItems"]["t"]) == 25
    paused = steps.send({"UnprocessedItems": {"t": requests[20:25]}})
    assert isinstance(paused, Pause)
    assert 0 <= paused.seconds <= batches.FIRST_PAUSE_SECONDS
    again = steps.send({})
    assert isinstance(again, ApiCall)
    assert again.payload["RequestItems"]["t"] == requests[20:25]
    last = steps.send({"UnprocessedItems": {}})
    assert isinstance(last, ApiCall)
    assert last.payload["RequestItems"]["t"] == requests[25:]
    with pytest.raises(StopIteration):
        steps.send({})


def test_a_batch_that_is_never_processed_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "DEADLINE_SECONDS", 0)
    requests = [{"DeleteRequest": {"Key": {"pk": {"N": str(n)}}}} for n in range(30)]
    steps = batches.write_all("t", requests)
    next(steps)
    with pytest.raises(st.Unprocessed) as failed:
        steps.send({"UnprocessedItems": {"t": requests[:1]}})
    assert failed.value.requests == [requests[0], *requests[25:]]


def test_reads_keep_their_order_in_whatever_order_they_are_answered() -> None:
    keys = [{"pk": {"S": str(n)}} for n in (3, 1, 2, 1)]
    steps = batches.get_all("t", keys)
    sent = next(steps)
    assert isinstance(sent, ApiCall)
    assert sent.payload["RequestItems"]["t"]["Keys"] == keys[:3]
    unread = {"t": {"Keys": [keys[1]]}}
    assert isinstance(
        steps.send({"Responses": {"t": [keys[2], keys[0]]}, "UnprocessedKeys": unread}), Pause
    )
    steps.send({})
    with pytest.raises(StopIteration) as stop:
        steps.send({"Responses": {"t": []}})
    assert stop.value.value == [keys[0], None, keys[2], None]


class Thing(st.Item):
    key = st.key("thing#{name}", "info")

    name: st.Slug


class Things(st.AsyncStore, Protocol):
    async def thing(self, name: str) -> Thing | None: ...


table = st.Table("things", Things)


class AsyncClient:
    """The shape of an aiobotocore client, over a database."""

    def __init__(self, database: hashrange.Database) -> None:
        self._client = database.boto3_session().client("dynamodb")
        self.meta = SimpleNamespace(
            service_model=self._client.meta.service_model,
            method_to_api_mapping=self._client.meta.method_to_api_mapping,
        )

    async def _make_api_call(self, operation: str, request: dict[str, Any]) -> None:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name not in self.meta.method_to_api_mapping:
            raise AttributeError(name)

        async def call(**request: Any) -> Any:
            return getattr(self._client, name)(**request)

        return call


def test_an_asynchronous_client(database: hashrange.Database) -> None:
    table.create(database)

    async def session() -> None:
        db = table.open(Things, AsyncClient(database))
        await db.create(Thing(name="a"))
        assert await db.thing("a") == Thing(name="a")
        with pytest.raises(st.AlreadyExists) as refused:
            await db.create(Thing(name="a"))
        assert type(refused.value.__cause__).__name__ == "ConditionalCheckFailedException"

    asyncio.run(session())


class Plain(st.Store, Protocol):
    def thing(self, name: str) -> Thing | None: ...


def test_an_asynchronous_client_is_refused_as_a_blocking_one(database: hashrange.Database) -> None:
    with pytest.raises(TypeError, match="AsyncStore"):
        st.Table("things", Plain).open(Plain, AsyncClient(database))


def test_the_clients_own_errors_pass_through(database: hashrange.Database) -> None:
    db = st.Table("nowhere", Plain).open(Plain, database)
    with pytest.raises(Exception, match="not found") as raised:
        db.thing("a")
    assert type(raised.value).__name__ == "ResourceNotFoundException"


class Sealed(st.Item):
    key = st.key("sealed#{name}", "info")

    name: st.Slug
    seal: bytes = b""


class Seals(st.Store, Protocol):
    def sealed(self, name: str) -> Sealed | None: ...


def test_a_client_converts_no_values_for_the_toolkit(
    database: hashrange.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = database.boto3_session().client("dynamodb")
    table = st.Table("seals", Seals)
    table.create(client)
    db = table.open(Seals, client)
    with monkeypatch.context() as without:
        without.delattr("botocore.validate.ParamValidator.validate")
        without.delattr("botocore.serialize.JSONSerializer._serialize_type_map")
        without.delattr("botocore.parsers.BaseJSONParser._handle_map")
        db.create(Sealed(name="a", seal=b"\xff"))
        assert db.sealed("a") == Sealed(name="a", seal=b"\xff")
    key = {"pk": {"S": "sealed#a"}, "sk": {"S": "info"}}
    shown = client.get_item(TableName="seals", Key=key)["Item"]["seal"]
    assert shown == {"B": b"\xff"}  # for the client's own user, all is as it was
    with pytest.raises(st.AlreadyExists) as refused:
        db.create(Sealed(name="a"))
    assert "/w==" in str(refused.value.item)


def test_answers_of_a_stub_are_converted(database: hashrange.Database) -> None:
    client = database.boto3_session().client("dynamodb")
    table = st.Table("seals", Seals)
    raw = table.dump(Sealed(name="a"))
    with Stubber(client) as stub:
        stub.add_response("get_item", {"Item": {**raw, "other": {"B": b"\xff"}}})
        item = table.open(Seals, client).sealed("a")
    assert item is not None
    assert table.dump(item)["other"] == {"B": "/w=="}


class Busy(st.Store, Protocol):
    def connection(self, name: str) -> Thing | None: ...
    def core(self, name: str) -> Thing | None: ...
    def run(self, name: str) -> Thing | None: ...


def test_patterns_may_have_any_name(database: hashrange.Database) -> None:
    table = st.Table("things", Busy)
    table.create(database)
    db = table.open(Busy, database)
    thing = db.create(Thing(name="a"))
    for pattern in (db.connection, db.core, db.run):
        assert pattern("a") == thing
