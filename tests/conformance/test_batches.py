"""BatchGetItem and BatchWriteItem: their effects, and requests that they refuse as a whole."""

from typing import Any

import pytest

from .support import NewTable, Table, call, cases, gsi, item, plain, refused, unique_name

KB = 1024
MB = 1024 * KB
DUPLICATES = "ValidationException: Provided list of item keys contains duplicates"
NO_MATCH = "ValidationException: The provided key element does not match the schema"
NO_TABLE = "ResourceNotFoundException: Requested resource not found"


def get(table: Table, *keys: dict[str, Any], **parameters: Any) -> list[dict[str, Any]]:
    """BatchGetItem of one table; its items as Python values."""
    request = {"Keys": [item(key) for key in keys], **parameters}
    response = call(table.client, "BatchGetItem", RequestItems={table.name: request})
    assert response["UnprocessedKeys"] == {}
    return [plain(found) for found in response["Responses"][table.name]]


def put(values: dict[str, Any]) -> dict[str, Any]:
    return {"PutRequest": {"Item": item(values)}}


def delete(**key: Any) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": item(key)}}


def write(table: Table, *requests: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    return call(
        table.client, "BatchWriteItem", RequestItems={table.name: list(requests)}, **parameters
    )


def test_a_batch_puts_and_deletes(new_table: NewTable) -> None:
    first, second = new_table("pk"), new_table("pk/sk:N")
    first.put({"pk": "a", "old": True}, {"pk": "b"})
    response = call(
        first.client,
        "BatchWriteItem",
        RequestItems={
            first.name: [put({"pk": "a", "new": True}), delete(pk="b"), delete(pk="none")],
            second.name: [put({"pk": "x", "sk": 1}), put({"pk": "x", "sk": 2})],
        },
    )
    assert response == {"UnprocessedItems": {}}
    assert first.all() == [{"pk": "a", "new": True}]
    assert second.all() == [{"pk": "x", "sk": 1}, {"pk": "x", "sk": 2}]


def test_a_batch_updates_the_indexes(new_table: NewTable) -> None:
    table = new_table("pk", gsi("byOwner", "owner"))
    write(table, *(put({"pk": f"p{n}", "owner": "o"}) for n in range(3)))
    write(table, delete(pk="p0"), put({"pk": "p1"}))
    assert table.all(IndexName="byOwner") == [{"pk": "p2", "owner": "o"}]


def test_a_batch_gets_existing_items(new_table: NewTable) -> None:
    first, second = new_table("pk"), new_table("pk/sk:N")
    first.put(*({"pk": f"p{n}", "n": n} for n in range(5)))
    second.put({"pk": "x", "sk": 1})
    response = call(
        first.client,
        "BatchGetItem",
        RequestItems={
            first.name: {"Keys": [item(pk=name) for name in ("p1", "absent", "p3")]},
            second.name: {"Keys": [item(pk="x", sk=1), item(pk="x", sk=2)], "ConsistentRead": True},
        },
    )
    assert response["UnprocessedKeys"] == {}
    found = {name: list(map(plain, items)) for name, items in response["Responses"].items()}
    assert sorted(values["n"] for values in found[first.name]) == [1, 3]
    assert found[second.name] == [{"pk": "x", "sk": 1}]


def test_a_batch_that_finds_nothing_has_an_empty_list(table: Table) -> None:
    assert get(table, {"pk": "absent"}) == []


def test_a_batch_projects(table: Table) -> None:
    table.put({"pk": "a", "n": 1, "m": {"x": 1, "y": 2}})
    projection = {"ProjectionExpression": "#m.y", "ExpressionAttributeNames": {"#m": "m"}}
    assert get(table, {"pk": "a"}, **projection) == [{"m": {"y": 2}}]
    assert get(table, {"pk": "a"}, AttributesToGet=["n", "absent"]) == [{"n": 1}]


def test_a_batch_gets_100_items_and_writes_25(table: Table) -> None:
    for start in range(0, 100, 25):
        write(table, *(put({"pk": f"p{n}"}) for n in range(start, start + 25)))
    assert len(get(table, *({"pk": f"p{n}"} for n in range(100)))) == 100


def test_a_batch_returns_at_most_16_mb(table: Table) -> None:
    for number in range(45):
        table.put({"pk": f"p{number}", "filler": "x" * (390 * KB)})
    keys = [item(pk=f"p{number}") for number in range(45)]
    seen: list[str] = []
    how = {
        "ConsistentRead": True,
        "ProjectionExpression": "pk, #f",
        "ExpressionAttributeNames": {"#f": "filler"},
    }
    requests: Any = {table.name: {"Keys": keys, **how}}
    while requests:
        response = call(table.client, "BatchGetItem", RequestItems=requests)
        items = [plain(found) for found in response["Responses"][table.name]]
        assert sum(len(found["filler"]) for found in items) <= 16 * MB
        seen += [found["pk"] for found in items]
        requests = response["UnprocessedKeys"]
        for left in requests.values():
            assert left == {"Keys": left["Keys"], **how}
    assert sorted(seen) == sorted(f"p{number}" for number in range(45))


# ---- refusals: nothing is written ----

# (name, the write requests of a table with the keys pk and sk:N, the refusal)
WRITES_REFUSED: list[tuple[str, list[dict[str, Any]], str]] = [
    ("the same put twice", [put({"pk": "a", "sk": 1}), put({"pk": "a", "sk": 1})], DUPLICATES),
    (
        "a put and a delete of one key",
        [put({"pk": "a", "sk": 1}), delete(pk="a", sk=1)],
        DUPLICATES,
    ),
    ("no sort key", [put({"pk": "b", "sk": 1}), put({"pk": "a"})], NO_MATCH),
    ("a delete without sort key", [put({"pk": "b", "sk": 1}), delete(pk="a")], NO_MATCH),
    ("a sort key of another type", [put({"pk": "a", "sk": "1"})], NO_MATCH),
    ("a delete with more than the key", [delete(pk="a", sk=1, x=1)], NO_MATCH),
    (
        "an empty key",
        [put({"pk": "", "sk": 1})],
        "ValidationException: One or more parameter values are not valid. The AttributeValue for"
        " a key attribute cannot contain an empty string value. Key: pk",
    ),
    (
        "put and delete in one",
        [{**put({"pk": "a", "sk": 1}), **delete(pk="a", sk=1)}],
        "ValidationException: Supplied AttributeValue has more than one datatypes set, must"
        " contain exactly one of the supported datatypes",
    ),
    (
        "neither put nor delete",
        [{}],
        "ValidationException: Supplied AttributeValue has more than one datatypes set, must"
        " contain exactly one of the supported datatypes",
    ),
    (
        "26 requests",
        [put({"pk": "a", "sk": number}) for number in range(26)],
        "ValidationException: …Member must have length less than or equal to 25…",
    ),
    (
        "no requests",
        [],
        "ValidationException: …Member must have length greater than or equal to 1…",
    ),
]


@cases("name, requests, refusal", WRITES_REFUSED)
def test_a_batch_of_writes_is_refused(
    new_table: NewTable, name: str, requests: list[dict[str, Any]], refusal: str
) -> None:
    table = new_table("pk/sk:N")
    refused(refusal, write, table, *requests)
    assert table.all() == []


def test_different_spellings_of_a_number_are_one_key_in_a_batch(new_table: NewTable) -> None:
    table = new_table("pk:N")
    requests = [{"PutRequest": {"Item": {"pk": {"N": text}}}} for text in ("1", "1.0")]
    refused(DUPLICATES, write, table, *requests)


def test_26_requests_in_two_tables_are_too_many(new_table: NewTable) -> None:
    first, second = new_table("pk"), new_table("pk")
    requests = [put({"pk": f"p{number}"}) for number in range(13)]
    refused(
        "ValidationException: Too many items requested for the BatchWriteItem call",
        call,
        first.client,
        "BatchWriteItem",
        RequestItems={first.name: requests, second.name: requests},
    )


@pytest.mark.parametrize("operation", ["BatchWriteItem", "BatchGetItem"])
def test_one_absent_table_fails_all(table: Table, operation: str) -> None:
    writes = operation == "BatchWriteItem"
    requests = [put({"pk": "a"})] if writes else {"Keys": [item(pk="a")]}
    refused(
        NO_TABLE,
        call,
        table.client,
        operation,
        RequestItems={table.name: requests, unique_name(): requests},
    )
    assert table.all() == []


# (name, the keys of a table with the keys pk and sk:N, the refusal)
GETS_REFUSED: list[tuple[str, list[dict[str, Any]], str]] = [
    ("the same key twice", [{"pk": "a", "sk": 1}, {"pk": "a", "sk": 1}], DUPLICATES),
    ("no sort key", [{"pk": "a", "sk": 1}, {"pk": "a"}], NO_MATCH),
    ("more than the key", [{"pk": "a", "sk": 1, "x": 1}], NO_MATCH),
    ("another type", [{"pk": "a", "sk": "1"}], NO_MATCH),
    (
        "101 keys",
        [{"pk": "a", "sk": number} for number in range(101)],
        "ValidationException: …",
    ),
    ("no keys", [], "ValidationException: …Member must have length greater than or equal to 1…"),
]


@cases("name, keys, refusal", GETS_REFUSED)
def test_a_batch_of_gets_is_refused(
    new_table: NewTable, name: str, keys: list[dict[str, Any]], refusal: str
) -> None:
    refused(refusal, get, new_table("pk/sk:N"), *keys)


def test_101_keys_in_two_tables_are_too_many(new_table: NewTable) -> None:
    first, second = new_table("pk"), new_table("pk")
    keys = {"Keys": [item(pk=f"p{number}") for number in range(51)]}
    refused(
        "ValidationException: Too many items requested for the BatchGetItem call",
        call,
        first.client,
        "BatchGetItem",
        RequestItems={first.name: keys, second.name: keys},
    )


def test_expressions_and_legacy_parameters_do_not_mix_across_tables(new_table: NewTable) -> None:
    first, second = new_table("pk"), new_table("pk")
    keys = {"Keys": [item(pk="a")]}
    refused(
        "ValidationException: Can not use both expression and non-expression parameters in the"
        " same request: Non-expression parameters: {AttributesToGet}"
        " Expression parameters: {ProjectionExpression}",
        call,
        first.client,
        "BatchGetItem",
        RequestItems={
            first.name: {**keys, "ProjectionExpression": "pk"},
            second.name: {**keys, "AttributesToGet": ["pk"]},
        },
    )


@pytest.mark.parametrize("operation", ["BatchWriteItem", "BatchGetItem"])
def test_a_batch_of_no_tables_is_refused(client: Any, operation: str) -> None:
    refused("ValidationException: …equestItems…", call, client, operation, RequestItems={})
