"""Every request fills a receipt, whether the client or the runtime reads it.

The receipt is compared with the ConsumedCapacity that clients see.
"""

import json
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from hashrange import Database, Settings, kv
from hashrange.engine import fetch, transition
from hashrange.engine.capacity import Charge
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Moment
from hashrange.model.tables import Table
from hashrange.operations import OPERATIONS
from hashrange.storage import MemoryStore

NAME = "orders"
STATEMENT = f'SELECT * FROM "{NAME}"'
KEY = {"pk": {"S": "a"}, "sk": {"S": "1"}}
ITEM = {**KEY, "state": {"S": "open"}, "text": {"S": "x" * 900}}
CHANGED = {**ITEM, "state": {"S": "sent"}}
ABSENT = {"pk": {"S": "b"}, "sk": {"S": "1"}}
ONE_KEY = "KeyConditionExpression"
PK = {":pk": {"S": "a"}}

Requests = dict[str, tuple[str, dict[str, Any]]]
READS: Requests = {
    "GetItem": ("GetItem", {"TableName": NAME, "Key": KEY}),
    "BatchGetItem": ("BatchGetItem", {"RequestItems": {NAME: {"Keys": [KEY, ABSENT]}}}),
    "TransactGetItems": (
        "TransactGetItems",
        {"TransactItems": [{"Get": {"TableName": NAME, "Key": key}} for key in (KEY, ABSENT)]},
    ),
    "Query": (
        "Query",
        {"TableName": NAME, ONE_KEY: "pk = :pk", "ExpressionAttributeValues": PK},
    ),
    "Query of an index": (
        "Query",
        {
            "TableName": NAME,
            "IndexName": "by_state",
            ONE_KEY: "#s = :s",
            "ExpressionAttributeNames": {"#s": "state"},
            "ExpressionAttributeValues": {":s": {"S": "open"}},
        },
    ),
    "Query that fetches items": (
        "Query",
        {
            "TableName": NAME,
            "IndexName": "by_text",
            "Select": "ALL_ATTRIBUTES",
            ONE_KEY: "pk = :pk",
            "ExpressionAttributeValues": PK,
        },
    ),
    "Scan": ("Scan", {"TableName": NAME}),
    "Scan of an index": ("Scan", {"TableName": NAME, "IndexName": "by_state"}),
    "SELECT": ("ExecuteStatement", {"Statement": f"{STATEMENT} WHERE pk IN ['a', 'b']"}),
    "SELECT of all": ("ExecuteStatement", {"Statement": STATEMENT}),
    "BatchExecuteStatement": (
        "BatchExecuteStatement",
        {"Statements": [{"Statement": f"{STATEMENT} WHERE pk = 'a' AND sk = '1'"}]},
    ),
    "ExecuteTransaction": (
        "ExecuteTransaction",
        {"TransactStatements": [{"Statement": f"{STATEMENT} WHERE pk = 'a' AND sk = '1'"}]},
    ),
}
UPDATE = {
    "TableName": NAME,
    "Key": KEY,
    "UpdateExpression": "SET #s = :s",
    "ExpressionAttributeNames": {"#s": "state"},
    "ExpressionAttributeValues": {":s": {"S": "sent"}},
}
CHECK = {"TableName": NAME, "Key": ABSENT, "ConditionExpression": "attribute_not_exists(pk)"}
SENT = f"UPDATE \"{NAME}\" SET state = 'sent' WHERE pk = 'a' AND sk = '1'"
WRITES: Requests = {
    "PutItem": ("PutItem", {"TableName": NAME, "Item": CHANGED}),
    "UpdateItem": ("UpdateItem", UPDATE),
    "DeleteItem": ("DeleteItem", {"TableName": NAME, "Key": KEY}),
    "BatchWriteItem": (
        "BatchWriteItem",
        {"RequestItems": {NAME: [{"PutRequest": {"Item": CHANGED}}]}},
    ),
    "TransactWriteItems": (
        "TransactWriteItems",
        {"TransactItems": [{"Update": UPDATE}, {"ConditionCheck": CHECK}]},
    ),
    "UPDATE": ("ExecuteStatement", {"Statement": SENT}),
    "UPDATE in a batch": ("BatchExecuteStatement", {"Statements": [{"Statement": SENT}]}),
    "UPDATE in a transaction": (
        "ExecuteTransaction",
        {"TransactStatements": [{"Statement": SENT}]},
    ),
}


class Opened(NamedTuple):
    database: Database
    store: kv.Store

    def run(self, steps: Generator[Any, Any, Any]) -> Any:
        """Answer a generator's reads from the current state of the store."""
        snapshot = self.store.snapshot()
        try:
            reply: Any = None
            while True:
                read = steps.send(reply)
                if isinstance(read, fetch.TableNamed):
                    reply = self.table() if read.name == NAME else None
                else:
                    reply = snapshot.read(read)
        except StopIteration as end:
            return end.value
        finally:
            snapshot.close()

    def table(self) -> Table:
        [table] = self.run(fetch.all_tables())
        assert isinstance(table, Table)
        return table

    def decide(self, name: str, request: dict[str, Any], metered: bool = False) -> Decision:
        """The decision of a request, which is not committed."""
        operation = OPERATIONS[name]
        parsed = operation.request(json.dumps(request).encode())
        settings = Settings(throughput="measured" if metered else "off")
        moment = Moment(1e10, settings=settings)
        arguments = [parsed, self.table(), moment] if operation.on_table else [parsed, moment]
        decision = self.run(operation.decide(*arguments))
        assert isinstance(decision, Decision)
        if decision.changes:
            transition.derive(decision, 1e10)
        return decision


@pytest.fixture
def opened() -> Iterator[Opened]:
    store = MemoryStore()
    with Database(store) as database:
        database.execute(
            "CreateTable",
            {
                "TableName": NAME,
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": "S"}
                    for name in ("pk", "sk", "state", "text")
                ],
                "KeySchema": schema("pk", "sk"),
                "BillingMode": "PAY_PER_REQUEST",
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by_state",
                        "KeySchema": schema("state"),
                        "Projection": {"ProjectionType": "ALL"},
                    }
                ],
                "LocalSecondaryIndexes": [
                    {
                        "IndexName": "by_text",
                        "KeySchema": schema("pk", "text"),
                        "Projection": {"ProjectionType": "KEYS_ONLY"},
                    }
                ],
            },
        )
        database.execute("PutItem", {"TableName": NAME, "Item": ITEM})
        yield Opened(database, store)


def schema(hash_: str, *range_: str) -> list[dict[str, str]]:
    keys = [{"AttributeName": hash_, "KeyType": "HASH"}]
    return keys + [{"AttributeName": name, "KeyType": "RANGE"} for name in range_]


def arms(charges: list[Charge]) -> dict[str | None, float]:
    """Units by index; None is the table."""
    found: dict[str | None, float] = {None: 0.0}
    for charge in charges:
        name = charge.index.name if charge.index else None
        found[name] = found.get(name, 0.0) + charge.units
    return found


def response_of(decision: Decision) -> dict[str, Any]:
    """The response as a client sees it."""
    response: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(decision.response()))
    return response


def consumed(response: dict[str, Any]) -> dict[str | None, float]:
    """The same of ConsumedCapacity."""
    told = response["ConsumedCapacity"]
    [shown] = told if isinstance(told, list) else [told]
    members = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    indexes = {name: arm for member in members for name, arm in shown.get(member, {}).items()}
    return {
        None: shown["Table"]["CapacityUnits"],
        **{name: arm["CapacityUnits"] for name, arm in indexes.items()},
    }


@pytest.mark.parametrize("case", [*READS, *WRITES])
def test_a_receipt_agrees_with_consumed_capacity(opened: Opened, case: str) -> None:
    name, request = {**READS, **WRITES}[case]
    decision = opened.decide(name, request, metered=True)
    assert decision.receipt is not None
    charges = decision.receipt.charges
    assert {charge.written for charge in charges} == {case in WRITES}
    assert "ConsumedCapacity" not in response_of(decision)
    asked = {**request, "ReturnConsumedCapacity": "INDEXES"}
    assert arms(charges) == consumed(opened.database.execute(name, asked))


@pytest.mark.parametrize("case", [*READS, *WRITES])
def test_only_simple_reads_have_no_receipt_unless_it_is_read(opened: Opened, case: str) -> None:
    name, request = {**READS, **WRITES}[case]
    decision = opened.decide(name, request)
    assert (decision.receipt is None) == (name in ("GetItem", "BatchGetItem", "Query", "Scan"))
    asked = opened.decide(name, {**request, "ReturnConsumedCapacity": "TOTAL"})
    assert asked.receipt is not None
    assert "ConsumedCapacity" in response_of(asked)


def places(decision: Decision) -> dict[tuple[str | None, float], list[bytes]]:
    assert decision.receipt is not None
    found: dict[tuple[str | None, float], list[bytes]] = {}
    for charge in decision.receipt.charges:
        name = charge.index.name if charge.index else None
        found.setdefault((name, charge.units), []).append(charge.key[:16])
    return found


def test_reads_and_writes_of_one_partition_key_are_charged_to_one_place(opened: Opened) -> None:
    [read] = places(opened.decide("Query", READS["Query"][1], metered=True))[None, 0.5]
    [index_read] = places(opened.decide("Query", READS["Query of an index"][1], metered=True))[
        "by_state", 0.5
    ]
    written = places(opened.decide("UpdateItem", UPDATE))
    assert len(read) == len(index_read) == 16
    assert written[None, 1.0] == [read]
    moved = written["by_state", 1.0]
    assert len(moved) == 2, "the entry moves from one partition of the index to another"
    assert moved[0] == index_read
    assert moved[1] != index_read


def test_a_scan_is_charged_for_each_partition_that_it_reaches(opened: Opened) -> None:
    quarters = [b"", b"\x40" + bytes(7), b"\x80" + bytes(7), b"\xc0" + bytes(7)]
    assert places(opened.decide("Scan", {"TableName": NAME}, metered=True)) == {
        (None, 0.5): quarters
    }
    for number in range(100):
        item = {"pk": {"S": f"p{number}"}, "sk": {"S": "1"}, "text": {"S": "x" * 900}}
        opened.database.execute("PutItem", {"TableName": NAME, "Item": item})
    for limit in (1, 30, 60, 90):
        request = {"TableName": NAME, "Limit": limit, "ReturnConsumedCapacity": "TOTAL"}
        decision = opened.decide("Scan", request)
        assert decision.receipt is not None
        reached = [charge.key for charge in decision.receipt.charges]
        assert reached == quarters[: len(reached)]
        response = response_of(decision)
        total = response["ConsumedCapacity"]["CapacityUnits"]
        assert total == sum(charge.units for charge in decision.receipt.charges)
        units = 0.0
        while True:
            response = opened.database.execute("Scan", request)
            units += response["ConsumedCapacity"]["CapacityUnits"]
            if "LastEvaluatedKey" not in response:
                break
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]
        assert units >= 100 * 900 / 8192


def test_a_scan_is_charged_for_the_partitions_that_it_has_reached() -> None:
    """The partitions of its pages together are all four, and one more for each page after."""
    with Database(MemoryStore()) as db:
        db.execute(
            "CreateTable",
            {
                "TableName": NAME,
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        for number in range(8):
            db.execute("PutItem", {"TableName": NAME, "Item": {"pk": {"S": str(number)}}})
        request = {"TableName": NAME, "Limit": 1, "ReturnConsumedCapacity": "TOTAL"}
        units = []
        while True:
            page = db.execute("Scan", request)
            units.append(page["ConsumedCapacity"]["CapacityUnits"])
            if "LastEvaluatedKey" not in page:
                break
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    assert len(units) == 9
    assert sum(units) == 0.5 * (4 + len(units) - 1)
