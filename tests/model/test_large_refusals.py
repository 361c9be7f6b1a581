"""Large requests that break a limit are refused at a cost near that of reading their JSON."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from comparing import ratio

from hashrange.model.errors import ApiError
from hashrange.model.validation import constraints, faultless, shapes
from hashrange.operations import OPERATIONS

COUNT = 20_000
RATIO_MAX = 75
"""How many times as long as the reading of its JSON a refusal may take."""

KEYS = [{"pk": {"S": f"key {number}"}} for number in range(COUNT)]
NUMBERS = [str(number) for number in range(4 * COUNT)]
TOO_MANY: list[tuple[str, dict[str, Any]]] = [
    ("BatchGetItem", {"RequestItems": {"table": {"Keys": KEYS}}}),
    ("PutItem", {"TableName": "table", "Item": {**KEYS[0], "n": {"NS": [*NUMBERS, "1.0"]}}}),
    ("PutItem", {"TableName": "table", "Item": {**KEYS[0], "n": {"NS": [*NUMBERS, "x"]}}}),
]


def refused(operation: str, body: bytes) -> None:
    with pytest.raises(ApiError):
        OPERATIONS[operation].request(body)


@pytest.mark.parametrize(("operation", "request_of"), TOO_MANY)
def test_a_refusal_costs_little_more_than_reading_the_request(
    operation: str, request_of: dict[str, Any]
) -> None:
    body = json.dumps(request_of).encode()
    assert ratio(lambda: refused(operation, body), lambda: json.loads(body)) < RATIO_MAX


def test_faulty_types_come_before_the_number_of_keys() -> None:
    faulty = [*KEYS, {"pk": {"S": 1}}]
    body = json.dumps({"RequestItems": {"table": {"Keys": faulty}}}).encode()
    with pytest.raises(ApiError, match="NUMBER_VALUE cannot be converted to String"):
        OPERATIONS["BatchGetItem"].request(body)


# ---- what is taken to be faultless has no violation ----


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_faultless_breaks_no_constraint(seed: int) -> None:
    random = Random(seed)
    faultless_parts = 0
    for name in [*shapes.tables().operations.values()] * 20:
        content = random_content(random, name, 4)
        if faultless.is_faultless(content, name):
            faultless_parts += 1
            assert not list(constraints._inside(content, name, "")), (name, content)
    assert faultless_parts


def random_content(random: Random, name: str, levels: int) -> Any:
    """Content of the JSON types of this shape, which may break its constraints."""
    shape = shapes.of(name)
    if name == "AttributeValue":
        return {"S": "x"}
    match shape.kind:
        case "structure":
            return {
                member: random_content(random, part, levels - 1)
                for member, part in shape.members.items()
                if levels and (member in shape.required or random.random() < 0.3)
            }
        case "list":
            return list(_some(random, shape.member, levels))
        case "map":
            keys = ("x", "name", "arn:aws:dynamodb:us-east-1:000000000000:table/x", "")
            return dict(
                zip(random.sample(keys, 4), _some(random, shape.value, levels), strict=False)
            )
        case "string" | "blob":
            texts = (*shape.enum[:2], "", "x", "valid-name", "no name", "arn:aws:dynamodb:x")
            return random.choice(texts)
        case "boolean":
            return True
        case "integer" | "long":
            return random.choice((0, 1, 5, 10**6))
    return 1.5


def _some(random: Random, name: str, levels: int) -> Iterator[Any]:
    for _ in range(random.choice((0, 1, 1, 3)) if levels else 0):
        yield None if random.random() < 0.1 else random_content(random, name, levels - 1)
