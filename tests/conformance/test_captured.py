"""Refusals as they were captured on the service: see `captured.txt`."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .raw import Wire
from .support import definition, gsi, unique_name


def captured() -> list[tuple[str, str, str]]:
    """(operation, body, error) of each capture."""
    _, *cases = Path(__file__).with_name("captured.txt").read_text().strip().split("\n\n")
    found = []
    for case in cases:
        request, error = case.split("\n")
        operation, _, body = request.partition(" ")
        found.append((operation, body, error.rstrip()))
    return found


CAPTURED = captured()
OPERATIONS = sorted({operation for operation, _, _ in CAPTURED})


@pytest.fixture
def table(wire: Wire) -> Iterator[str]:
    """Its name."""
    name = unique_name()
    indexes = gsi("gsi", "gk", "KEYS_ONLY"), gsi("gsi2", "gk2")
    wire.call("CreateTable", TableName=name, **definition("pk", *indexes))
    while wire.call("DescribeTable", TableName=name).json["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(0.1)
    yield name
    wire.call("DeleteTable", TableName=name)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_refusals_are_worded_as_captured(wire: Wire, table: str, operation: str) -> None:
    cases = [case for case in CAPTURED if case[0] == operation]
    contents = [json.loads(body.replace('"TABLE"', f'"{table}"')) for _, body, _ in cases]
    wrong = []
    answers = wire.pipeline(f"DynamoDB_20120810.{operation}", contents)
    for (_, body, error), answer in zip(cases, answers, strict=True):
        kind = str(answer.get("__type")).rpartition("#")[2]
        told = f"{kind} {answer.get('message', answer.get('Message', ''))}".rstrip()
        if told != error:
            wrong.append(f"{body}\n    {error}\n    {told}")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:8])


NESTED = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels"
    " beyond supported limit"
)


def nested(levels: int) -> str:
    """JSON of a value in as many maps."""
    return '{"M":{"n":' * levels + '{"S":"leaf"}' + "}}" * levels


@pytest.mark.parametrize(
    ("levels", "told"),
    [(32, f"1 validation error detected: {NESTED}"), (62, f"1 validation error detected: {NESTED}")]
    + [(levels, NESTED) for levels in (63, 100, 2000)]
    + [(levels, None) for levels in (2001, 20_000)],
)
def test_an_item_that_is_nested_too_deep(wire: Wire, levels: int, told: str | None) -> None:
    """Beyond 62 levels legacy validation reads it, beyond 2,000 none does."""
    body = f'{{"TableName":"AbsentTable","Item":{{"pk":{{"S":"p"}},"d":{nested(levels)}}}}}'
    answer = wire.send("DynamoDB_20120810.PutItem", body.encode()).json
    kind = "ValidationException" if told else "SerializationException"
    assert answer["__type"].endswith(f"#{kind}")
    assert answer.get("message") == told


def test_values_of_expressions_and_start_keys_are_named_when_nested_deep(wire: Wire) -> None:
    values = f'"ExpressionAttributeValues":{{":v":{nested(63)}}}'
    update = f'{{"TableName":"AbsentTable","Key":{{"pk":{{"S":"p"}}}},{values}}}'
    answer = wire.send("DynamoDB_20120810.UpdateItem", update.encode()).json
    assert answer["message"] == (
        f"ExpressionAttributeValues contains invalid value: {NESTED} for key :v"
    )
    scan = f'{{"TableName":"AbsentTable","ExclusiveStartKey":{{"pk":{nested(63)}}}}}'
    answer = wire.send("DynamoDB_20120810.Scan", scan.encode()).json
    assert answer["message"] == f"The provided starting key is invalid: {NESTED}"


TO_TEN = [f"a{number:03}" for number in range(10, -1, -1)]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (["bcsb", "bdrw", "bugl", "pk"], "bdrw pk bcsb bugl"),
        ([*TO_TEN, "pk"], "a010 a000 a009 a005 a006 a007 a008 pk a001 a002 a003 a004"),
    ],
)
def test_a_message_shows_maps_in_hash_order_and_all_members(
    wire: Wire, sent: list[str], shown: str
) -> None:
    """Captured in us-east-1 and eu-west-2 on 2026-10-10."""
    item = {name: {"S": "v"} for name in sent}
    puts = [{"Put": {"TableName": "AbsentTable", "Item": it}} for it in [item, *[{}] * 100]]
    message = wire.call("TransactWriteItems", TransactItems=puts).json["message"]
    first, _, rest = message.partition("tableName=")
    assert first.startswith(
        "1 validation error detected: Value '[TransactWriteItem(conditionCheck=null, put=Put(item={"
    )
    assert re.findall(r"(\w+)=AttributeValue\(s=v,", first) == shown.split()
    assert rest.startswith(
        "AbsentTable, conditionExpression=null, expressionAttributeNames=null, "
        "expressionAttributeValues=null, returnValuesOnConditionCheckFailure=null, "
        "workloadProfileName=null), delete=null, update=null), TransactWriteItem("
    )


def test_a_message_shows_the_length_of_binary_values(wire: Wire) -> None:
    keys = [{"Key": {"pk": {"B": "YWJj"}}, "TableName": "AbsentTable"}] * 101
    answer = wire.call("TransactGetItems", TransactItems=[{"Get": key} for key in keys]).json
    assert "b=java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]," in answer["message"]
