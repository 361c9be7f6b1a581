"""Transactions: all or nothing, with a reason for every action."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from .support import NewTable, Table, call, cases, gsi, item, plain, refused, unique_name

KB = 1024
CANCELLED = (
    "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for"
    " specific reasons [{}]"
)
FAILED = "The conditional request failed"
NO_TABLE = "ResourceNotFoundException: Requested resource not found"

Action = dict[str, dict[str, Any]]


def put(values: dict[str, Any], **more: Any) -> Action:
    return {"Put": {"Item": item(values), **more}}


def update(expression: str, values: dict[str, Any] | None = None, **more: Any) -> Action:
    more = {"Key": item(pk="a"), **more}
    if values:
        more["ExpressionAttributeValues"] = item(values)
    return {"Update": {"UpdateExpression": expression, **more}}


def delete(**more: Any) -> Action:
    return {"Delete": {"Key": item(pk="a"), **more}}


def check(condition: str, **more: Any) -> Action:
    return {"ConditionCheck": {"Key": item(pk="a"), "ConditionExpression": condition, **more}}


def named(table: Table, action: Action) -> Action:
    return {kind: {"TableName": table.name, **details} for kind, details in action.items()}


def write(table: Table, *actions: Action, **parameters: Any) -> dict[str, Any]:
    items = [named(table, action) for action in actions]
    return call(table.client, "TransactWriteItems", TransactItems=items, **parameters)


def get(table: Table, *keys: str, **more: Any) -> list[dict[str, Any]]:
    """The response's slots, in order, as Python values: {} where there is no item."""
    items = [{"Get": {"TableName": table.name, "Key": item(pk=key), **more}} for key in keys]
    response = call(table.client, "TransactGetItems", TransactItems=items)
    return [plain(slot.get("Item", {})) for slot in response["Responses"]]


# ---- what they do ----


def test_every_action_at_once(new_table: NewTable) -> None:
    table, other = new_table("pk", gsi("byOwner", "owner")), new_table("pk")
    table.put({"pk": "update", "n": 1}, {"pk": "delete"}, {"pk": "check"})
    actions = [
        named(table, put({"pk": "put", "owner": "o"})),
        named(table, update("SET n = n + :one", {":one": 1}, Key=item(pk="update"))),
        named(table, delete(Key=item(pk="delete"))),
        named(table, check("attribute_exists(pk)", Key=item(pk="check"))),
        named(other, put({"pk": "put"})),
        named(table, update("SET n = :one", {":one": 1}, Key=item(pk="new"))),
    ]
    assert call(table.client, "TransactWriteItems", TransactItems=actions) == {}
    found = {values.pop("pk"): values for values in table.all()}
    assert found == {"put": {"owner": "o"}, "update": {"n": 2}, "check": {}, "new": {"n": 1}}
    assert other.all() == [{"pk": "put"}]
    assert table.all(IndexName="byOwner") == [{"pk": "put", "owner": "o"}]


def test_gets_answer_in_order_with_a_slot_for_what_is_not_there(table: Table) -> None:
    table.put({"pk": "a", "n": 1, "m": {"x": 1}}, {"pk": "b"})
    assert get(table, "b", "none", "a") == [{"pk": "b"}, {}, {"pk": "a", "n": 1, "m": {"x": 1}}]
    assert get(table, "a", ProjectionExpression="m.x") == [{"m": {"x": 1}}]


# ---- cancellations ----

STORED = {"pk": "a", "n": 1, "s": "text"}
REASON = {"Code": "ConditionalCheckFailed", "Message": FAILED}
WITH_ITEM = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

# (name, an action on the stored item or on an absent one, its reason)
REASONS: list[tuple[str, Action, dict[str, Any]]] = [
    ("put", put({"pk": "a"}, ConditionExpression="attribute_not_exists(pk)"), REASON),
    ("update", update("REMOVE n", ConditionExpression="attribute_exists(q)"), REASON),
    ("delete", delete(ConditionExpression="attribute_exists(q)"), REASON),
    ("check", check("attribute_exists(q)"), REASON),
    (
        "check that returns the item",
        check("attribute_exists(q)", **WITH_ITEM),
        {**REASON, "Item": item(STORED)},
    ),
    (
        "check that returns no item where there is none",
        check("attribute_exists(q)", Key=item(pk="absent"), **WITH_ITEM),
        REASON,
    ),
    (
        "key of another type",
        put({"pk": 1}),
        {
            "Code": "ValidationError",
            "Message": "One or more parameter values were invalid: Type mismatch for key pk"
            " expected: S actual: N",
        },
    ),
    (
        "key that does not fit",
        delete(Key=item(pk="a", x=1)),
        {
            "Code": "ValidationError",
            "Message": "The provided key element does not match the schema",
        },
    ),
    (
        "operand of another type",
        update("SET s = s + :one", {":one": 1}),
        {
            "Code": "ValidationError",
            "Message": "An operand in the update expression has an incorrect data type",
        },
    ),
    (
        "operand that is not there",
        update("SET q = absent"),
        {
            "Code": "ValidationError",
            "Message": "The provided expression refers to an attribute that does not exist in the"
            " item",
        },
    ),
    (
        "path that is not there",
        update("SET absent.x = :one", {":one": 1}),
        {
            "Code": "ValidationError",
            "Message": "The document path provided in the update expression is invalid for update",
        },
    ),
]


@cases("name, action, reason", REASONS)
def test_a_refused_action_cancels_all(
    table: Table, name: str, action: Action, reason: dict[str, Any]
) -> None:
    table.put(STORED)
    error = refused(
        CANCELLED.format(f"None, {reason['Code']}, None"),
        write,
        table,
        put({"pk": "before"}),
        action,
        put({"pk": "behind"}),
    )
    assert error["CancellationReasons"] == [{"Code": "None"}, reason, {"Code": "None"}]
    assert table.all() == [STORED]


def test_there_is_a_reason_for_each_refused_action_in_order(table: Table) -> None:
    table.put({"pk": "p1"}, {"pk": "p3"})
    new = {"ConditionExpression": "attribute_not_exists(pk)"}
    error = refused(
        CANCELLED.format("None, ConditionalCheckFailed, None, ConditionalCheckFailed"),
        write,
        table,
        *(put({"pk": f"p{number}"}, **new) for number in range(4)),
    )
    codes = [reason["Code"] for reason in error["CancellationReasons"]]
    assert codes == ["None", "ConditionalCheckFailed", "None", "ConditionalCheckFailed"]
    assert sorted(found["pk"] for found in table.all()) == ["p1", "p3"]


# ---- refused as a whole, before anything is looked up ----

ONE_ITEM = "ValidationException: Transaction request cannot include multiple operations on one item"

# (name, actions, the refusal)
REFUSED: list[tuple[str, list[Action], str]] = [
    ("one item twice", [put({"pk": "a"}), delete()], ONE_ITEM),
    ("one item checked and written", [check("attribute_exists(pk)"), put({"pk": "a"})], ONE_ITEM),
    ("one item put twice", [put({"pk": "a"}), put({"pk": "a"})], ONE_ITEM),
    (
        "no actions",
        [],
        "ValidationException: …'transactItems' failed to satisfy constraint: Member must have"
        " length greater than or equal to 1",
    ),
    (
        "101 actions",
        [put({"pk": f"p{number}"}) for number in range(101)],
        "ValidationException: …'transactItems' failed to satisfy constraint: Member must have"
        " length less than or equal to 100",
    ),
    (
        "two kinds in one action",
        [{**put({"pk": "a"}), **delete()}],
        "ValidationException: TransactItems can only contain one of Check, Put, Update or Delete",
    ),
    (
        "no kind",
        [{}],
        "ValidationException: Invalid Request: TransactWriteRequest should contain Delete or Put or"
        " Update request",
    ),
    (
        "malformed condition",
        [put({"pk": "b"}), check("attribute_exists(")],
        "ValidationException: …Invalid ConditionExpression: Syntax error; …",
    ),
    (
        "unused placeholder",
        [put({"pk": "a"}, ExpressionAttributeNames={"#x": "x"})],
        "ValidationException: …ExpressionAttributeNames can only be specified when using exp…",
    ),
    (
        "empty key",
        [put({"pk": ""})],
        "ValidationException: One or more parameter values are not valid. The AttributeValue for a"
        " key attribute cannot contain an empty string value. Key: pk",
    ),
    (
        "bad number",
        [put({"pk": "a", "n": {"x"}}), {"Put": {"Item": {"pk": {"S": "b"}, "n": {"N": "x"}}}}],
        "ValidationException: …The parameter cannot be converted to a numeric value: x",
    ),
    (
        "no condition in a check",
        [{"ConditionCheck": {"Key": item(pk="a")}}],
        "ValidationException: …conditionExpression' failed to satisfy constraint: Member must not"
        " be null",
    ),
    (
        "no update expression",
        [{"Update": {"Key": item(pk="a")}}],
        "ValidationException: …updateExpression' failed to satisfy constraint: Member must not be"
        " null",
    ),
]


@cases("name, actions, refusal", REFUSED)
def test_a_transaction_is_refused(
    table: Table, name: str, actions: list[Action], refusal: str
) -> None:
    refused(refusal, write, table, *actions)
    assert table.all() == []


@pytest.mark.parametrize("operation", ["TransactWriteItems", "TransactGetItems"])
def test_one_absent_table_fails_all(table: Table, operation: str) -> None:
    kind = "Delete" if operation == "TransactWriteItems" else "Get"
    actions = [
        {kind: {"TableName": name, "Key": item(pk="a")}} for name in (table.name, unique_name())
    ]
    refused(NO_TABLE, call, table.client, operation, TransactItems=actions)


def test_100_actions(table: Table) -> None:
    write(table, *(put({"pk": f"p{number}"}) for number in range(100)))
    keys = [f"p{number}" for number in range(100)]
    assert get(table, *keys) == [{"pk": key} for key in keys]
    refused("ValidationException: …", get, table, *keys, "p100")


def test_a_transaction_is_at_most_4_mb(table: Table) -> None:
    large = [put({"pk": f"p{number}", "filler": "x" * (390 * KB)}) for number in range(11)]
    write(table, *large[:10])
    refused("ValidationException: …", write, table, *large)
    assert len(table.all()) == 10


def test_what_is_read_is_at_most_4_mb(table: Table) -> None:
    keys = [f"p{number}" for number in range(11)]
    for key in keys:
        table.put({"pk": key, "filler": "x" * (390 * KB)})
    assert len(get(table, *keys[:10])) == 10
    refused("ValidationException: …", get, table, *keys)


# ---- tokens ----


def test_a_repeated_token_writes_once(table: Table) -> None:
    token = unique_name("t")[:36]
    add = update("ADD n :one", {":one": 1})
    for _ in range(3):
        assert write(table, add, ClientRequestToken=token) == {}
    assert table.get(pk="a") == {"pk": "a", "n": 1}
    table.call("DeleteItem", Key=item(pk="a"))
    write(table, add, ClientRequestToken=token)
    assert table.get(pk="a") is None


def test_a_token_belongs_to_its_request(table: Table) -> None:
    token = unique_name("t")[:36]
    write(table, put({"pk": "a"}), ClientRequestToken=token)
    refused(
        "IdempotentParameterMismatchException: …",
        write,
        table,
        put({"pk": "b"}),
        ClientRequestToken=token,
    )
    assert table.all() == [{"pk": "a"}]


def test_the_capacity_asked_for_does_not_belong_to_the_request(table: Table) -> None:
    token = unique_name("t")[:36]
    write(table, put({"pk": "a"}), ClientRequestToken=token)
    write(table, put({"pk": "a"}), ClientRequestToken=token, ReturnConsumedCapacity="TOTAL")


def test_a_cancelled_transaction_keeps_no_token(table: Table) -> None:
    token = unique_name("t")[:36]
    conditional = put({"pk": "a"}, ConditionExpression="attribute_not_exists(pk)")
    table.put({"pk": "a"})
    refused("TransactionCanceledException: …", write, table, conditional, ClientRequestToken=token)
    table.call("DeleteItem", Key=item(pk="a"))
    write(table, conditional, ClientRequestToken=token)
    assert table.all() == [{"pk": "a"}]


@pytest.mark.parametrize(("length", "accepted"), [(1, True), (36, True), (37, False)])
def test_a_token_has_1_to_36_characters(table: Table, length: int, accepted: bool) -> None:
    token = unique_name("")[-length:].rjust(length, "x")
    if accepted:
        write(table, put({"pk": "a"}), ClientRequestToken=token)
    else:
        refused(
            "ValidationException: …'clientRequestToken' failed to satisfy constraint: Member must"
            " have length less than or equal to 36",
            write,
            table,
            put({"pk": "a"}),
            ClientRequestToken=token,
        )


# ---- many at once ----


def codes_of(call_: Callable[[], Any]) -> set[str]:
    """The codes for which the call was cancelled; none if it went through."""
    try:
        call_()
    except ClientError as error:
        return {reason["Code"] for reason in error.response["CancellationReasons"]}
    return set()


def test_transactions_that_collide_lose_no_update(table: Table) -> None:
    """Two counters move together; a transaction is refused as a whole or applied as a whole."""
    table.put({"pk": "a", "n": 0}, {"pk": "b", "n": 0})
    both = [update("ADD n :one", {":one": 1}, Key=item(pk=pk)) for pk in "ab"]
    orders = [both, both[::-1]] * 32
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda order: codes_of(lambda: write(table, *order)), orders))
    done = outcomes.count(set())
    assert done > 0
    assert set().union(*outcomes) <= {"None", "TransactionConflict"}
    assert get(table, "a", "b") == [{"pk": "a", "n": done}, {"pk": "b", "n": done}]


def test_transactional_reads_see_transactions_as_wholes(table: Table) -> None:
    table.put({"pk": "a", "n": 0}, {"pk": "b", "n": 0})
    seen: list[list[dict[str, Any]]] = []

    def step(number: int) -> set[str]:
        if number % 2:
            return codes_of(lambda: write(table, *(put({"pk": pk, "n": number}) for pk in "ab")))
        return codes_of(lambda: seen.append(get(table, "a", "b")))

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(step, range(64)))
    assert set().union(*outcomes) <= {"None", "TransactionConflict"}
    assert seen
    assert all(first["n"] == second["n"] for first, second in seen)


def test_a_repeated_request_may_name_its_attributes_in_another_order(table: Table) -> None:
    token = unique_name("t")[:36]
    deep = {"x": {"y": 1, "z": 2}, "w": 3}
    write(table, put({"pk": "a", **deep}), ClientRequestToken=token)
    turned = {"w": 3, "x": {"z": 2, "y": 1}}
    assert write(table, put({**turned, "pk": "a"}), ClientRequestToken=token) == {}
