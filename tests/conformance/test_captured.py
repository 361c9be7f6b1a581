"""Refusals as they were captured on the service: see `captured.txt`."""

import json
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
