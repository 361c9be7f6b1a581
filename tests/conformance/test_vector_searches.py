"""SearchVectors: what is found, in which order, and which searches are refused.

The messages are those of the service, captured in autumn 2026.
"""

import random
from typing import Any

import pytest

from .raw import Wire
from .support import NewTable, Table, assert_message, call, cases, refused
from .support import wire as as_value
from .vectors import defined, found, index, score, search, vector

INVALID = "ValidationException: One or more parameter values were invalid: "


@pytest.fixture
def docs(new_table: NewTable) -> Table:
    """A table with one vector index that has a HASH attribute and a filter."""
    given = index(by="tenant", filters=["kind"])
    return new_table(VectorIndexes=[given], **defined("tenant", "kind"))


# (name, members of SearchVectors, the refusal)
UNSEARCHABLE: list[tuple[str, dict[str, Any], str]] = [
    (
        "dimensions",
        {"to": [1, 2, 3]},
        "ValidationException: Input search vector dimension 3 does not match vector index "
        "dimension 4",
    ),
    (
        "no index",
        {"IndexName": "other"},
        "ValidationException: The table does not have the specified index: other",
    ),
    (
        "too many",
        {"top": 101},
        "ValidationException: Provided TopK value '101' is out of valid range. The value must be "
        "between 1 and 100 inclusive",
    ),
    (
        "no HASH",
        {"where": None, "values": {}},
        "ValidationException: SearchConditionExpression must be provided when SearchSchema has a "
        "HASH key",
    ),
    (
        "another attribute",
        {"where": "tenant = :t AND a = :t"},
        "ValidationException: SearchConditionExpression must not contain any attributes that is "
        "not in SearchSchema. Invalid attribute: a",
    ),
    (
        "another comparator",
        {"where": "tenant > :t"},
        "ValidationException: Invalid SearchConditionExpression: Invalid comparator used in "
        "SearchConditionExpression",
    ),
    (
        "OR",
        {"where": "tenant = :t OR kind = :t"},
        "ValidationException: Invalid SearchConditionExpression: Invalid comparator used in "
        "SearchConditionExpression",
    ),
    (
        "a value of another type",
        {"values": {":t": 1}},
        INVALID + "Condition parameter type does not match schema type",
    ),
    (
        "a vector of texts",
        {"SearchVector": [{"S": "1"}] * 4},
        "ValidationException: Search vector contains invalid values. All values in the search "
        "vector must be a 32-bit floating-point number attribute",
    ),
    (
        "a vector beyond 32 bits",
        {"to": ["1e39", 0, 0, 0]},
        "ValidationException: Search vector contains invalid values. All values in the search "
        "vector must be a 32-bit floating-point number attribute",
    ),
    (
        "a value that is not used",
        {"values": {":t": "t", ":u": "u"}},
        "ValidationException: Value provided in ExpressionAttributeValues unused in expressions: "
        "keys: {:u}",
    ),
]


@cases("name, members, refusal", UNSEARCHABLE)
def test_searches_that_are_refused(
    docs: Table, name: str, members: dict[str, Any], refusal: str
) -> None:
    good: dict[str, Any] = {"to": [1, 2, 3, 4], "where": "tenant = :t", "values": {":t": "t"}}
    refused(refusal, search, docs, **{**good, **members})


GOOD = '{"TableName":"abc","IndexName":"abc","SearchVector":[{"N":"1"}],"TopK":1}'


@cases(
    "name, body, refusal",
    [
        (
            "null",
            GOOD.replace('"abc"', "null", 1),
            "SerializationException: invalid type: null, expected a string at line 1 column 17",
        ),
        (
            "null where a member may be absent",
            GOOD.replace("1}", '1,"ProjectionExpression":null}'),
            "SerializationException: invalid type: null, expected a string at line 1 column 100",
        ),
        (
            "a text for a number",
            GOOD.replace(":1}", ':"1"}'),
            'SerializationException: invalid type: string "1", expected i32 at line 1 column 74',
        ),
        (
            "a number for a list",
            GOOD.replace('[{"N":"1"}]', "1"),
            "SerializationException: invalid type: integer `1`, expected a sequence at line 1 "
            "column 53",
        ),
        ("nothing", "{}", "ValidationException: missing field `TableName` at line 1 column 2"),
        (
            "no TopK",
            GOOD.replace(',"TopK":1', "\n"),
            "ValidationException: missing field `TopK` at line 2 column 1",
        ),
    ],
)
def test_a_parser_of_its_own_names_the_place(
    wire: Wire, name: str, body: str, refusal: str
) -> None:
    error = wire.send("DynamoDB_20120810.SearchVectors", body.encode()).json
    message = error.get("message", error.get("Message"))
    assert_message(refusal, f"{error['__type'].partition('#')[2]}: {message}")


def test_the_vector_is_left_out_unless_it_is_asked_for(new_table: NewTable) -> None:
    table = new_table(VectorIndexes=[index(dimensions=3, projection=["title"])])
    table.call(
        "PutItem",
        Item={
            "pk": {"S": "p"},
            "title": {"S": "t"},
            "words": {"S": "long"},
            "e": vector("0.1", "16777217", "1e-40"),
        },
    )
    [result] = search(table, [1, 2, 3])["SearchResults"]
    assert result["Item"] == {"pk": {"S": "p"}, "title": {"S": "t"}}
    [result] = search(
        table,
        [1, 2, 3],
        ProjectionExpression="e, #t, words",
        ExpressionAttributeNames={"#t": "title"},
    )["SearchResults"]
    numbers = [each["N"] for each in result["Item"].pop("e")["L"]]
    assert numbers[:2] == ["0.1", "16777216"]
    assert float(numbers[2]) == pytest.approx(1e-40, rel=1e-5)
    assert "e" not in numbers[2]
    assert result["Item"] == {"title": {"S": "t"}}


@cases(
    "distance, scores",
    [
        ("COSINE", {"same": 0.0, "longer": 0.0, "aside": 1.0, "zero": 1.0, "behind": 2.0}),
        ("EUCLIDEAN", {"same": 0.0, "longer": 1.0, "zero": 1.0, "aside": 2**0.5, "behind": 2.0}),
        ("DOT_PRODUCT", {"longer": 2.0, "same": 1.0, "aside": 0.0, "zero": 0.0, "behind": -1.0}),
    ],
)
def test_the_three_distances(new_table: NewTable, distance: str, scores: dict[str, float]) -> None:
    table = new_table(VectorIndexes=[index(dimensions=2, distance=distance)])
    vectors = {"same": (1, 0), "longer": (2, 0), "aside": (0, 1), "zero": (0, 0), "behind": (-1, 0)}
    for name, numbers in vectors.items():
        table.call("PutItem", Item={"pk": {"S": name}, "e": vector(*numbers)})
    results = search(table, [1, 0])["SearchResults"]
    answered = {each["Item"]["pk"]["S"]: each["Score"] for each in results}
    assert answered == scores
    assert list(answered.values()) == list(scores.values())


def test_near_duplicates_and_large_numbers_are_told_apart(new_table: NewTable) -> None:
    """Their distances differ by less than 32-bit arithmetic can say."""
    table = new_table(VectorIndexes=[index(dimensions=64, distance="EUCLIDEAN")])
    generator = random.Random(5)
    centre = [generator.uniform(-1e15, 1e15) for _ in range(64)]
    vectors = {
        f"p{n}": [number * (1 + generator.uniform(-1e-6, 1e-6)) for number in centre]
        for n in range(200)
    }
    for at in range(0, 200, 25):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": name}, "e": vector(*vectors[name])}}}
            for name in list(vectors)[at : at + 25]
        ]
        call(table.client, "BatchWriteItem", RequestItems={table.name: puts})
    nearest = sorted(vectors, key=lambda name: score("EUCLIDEAN", centre, vectors[name]))[:10]
    assert found(table, centre) == nearest


@pytest.mark.parametrize("by", ["tenant", None])
@pytest.mark.parametrize("distance", ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"])
def test_searches_follow_any_history_of_writes(
    new_table: NewTable, distance: str, by: str | None
) -> None:
    """Compared with a search by brute force, after each of a hundred random writes."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    generator = random.Random(seed)
    filters = ["kind"]
    table = new_table(
        VectorIndexes=[index(distance=distance, by=by, filters=filters, dimensions=3)],
        **defined(*filter(None, (by, *filters))),
    )
    items: dict[str, dict[str, Any]] = {}
    for step in range(100):
        name = f"p{generator.randrange(12)}"
        if generator.random() < 0.25 and name in items:
            table.call("DeleteItem", Key={"pk": {"S": name}})
            del items[name]
        else:
            items[name] = _random_item(generator, by)
            written = {each: value for each, value in items[name].items() if value is not None}
            numbers = {"e": vector(*written.pop("e"))} if "e" in written else {}
            shown = {each: as_value(value) for each, value in written.items()}
            table.call("PutItem", Item={"pk": {"S": name}, **shown, **numbers})
        if step % 3 == 0:
            _compare(table, items, generator, distance, by)


def _random_item(generator: random.Random, by: str | None) -> dict[str, Any]:
    return {
        "e": generator.choice([None, *[[generator.randrange(-3, 4) for _ in range(3)]] * 5]),
        "tenant": generator.choice([None, "t", "t", "u"]) if by else None,
        "kind": generator.choice([None, "k", "l"]),
    }


def _compare(
    table: Table,
    items: dict[str, dict[str, Any]],
    generator: random.Random,
    distance: str,
    by: str | None,
) -> None:
    wanted = {":t": "t"} if by else {}
    if generator.random() < 0.5:
        wanted[":k"] = "k"
    where = " AND ".join(f"{ {':t': 'tenant', ':k': 'kind'}[each] } = {each}" for each in wanted)
    to = [generator.randrange(-3, 4) for _ in range(3)]
    expected = sorted(
        score(distance, to, each["e"])
        for each in items.values()
        if each["e"]
        and (not by or each["tenant"] == "t")
        and (":k" not in wanted or each["kind"] == "k")
    )
    if distance == "DOT_PRODUCT":
        expected.reverse()
    results = search(table, to, top=5, values=wanted, where=where or None)["SearchResults"]
    assert [each["Score"] for each in results] == pytest.approx(expected[:5], abs=1e-12)
    for each in results:
        stored = items[each["Item"]["pk"]["S"]]
        assert each["Score"] == pytest.approx(score(distance, to, stored["e"]), abs=1e-12)
