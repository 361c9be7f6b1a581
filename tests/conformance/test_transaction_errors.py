"""Transactions that are cancelled, with a reason for every action, or refused as a whole."""

from typing import Any

import pytest

from .support import Table, call, cases, item, refused, unique_name
from .transactions import KB, Action, check, delete, get, put, update, write

CANCELLED = (
    "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for"
    " specific reasons [{}]"
)
FAILED = "The conditional request failed"
NO_TABLE = "ResourceNotFoundException: Requested resource not found"

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


def test_keys_are_checked_up_to_the_first_that_does_not_fit(table: Table) -> None:
    """And before all conditions."""
    error = refused(
        CANCELLED.format("None, ValidationError, None"),
        write,
        table,
        check("attribute_exists(q)", Key=item(pk="absent")),
        put({"pk": 1}),
        put({"pk": 2}),
    )
    assert [list(reason) for reason in error["CancellationReasons"]] == [
        ["Code"],
        ["Code", "Message"],
        ["Code"],
    ]


def test_4_mb_are_the_most(table: Table) -> None:
    most, each = 4 * 1024 * 1024, 390 * 1024
    others = [put({"pk": f"{n:02}", "s": "x" * (each - len("pk00s"))}) for n in range(10)]

    def last(size: int) -> Action:
        return put({"pk": "10", "s": "x" * (size - 10 * each - len("pk10s"))})

    told = "Transaction payload size cannot exceed 4MB. Payload Size: "
    refusal = f"ValidationException: {told}: {told}{most + 1}"
    refused(refusal, write, table, *others, last(most + 1))
    write(table, *others, last(most))
    assert len(table.all()) == 11


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
ABSENT = {"ConditionExpression": "attribute_not_exists(pk)"}
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
        [put({"pk": "a"}, **ABSENT, ExpressionAttributeNames={"#x": "x"})],
        "ValidationException: Value provided in ExpressionAttributeNames unused in expressions:"
        " keys: {#x}",
    ),
    (
        "a long condition",
        [put({"pk": "a"}, ConditionExpression="a = b".ljust(4097))],
        "ValidationException: Invalid ConditionExpression: Expression size has exceeded the maximum"
        " allowed size; expression size: 4097",
    ),
    (
        "a long update",
        [update("SET a = b".ljust(4097))],
        "ValidationException: Invalid UpdateExpression: Expression size has exceeded the maximum"
        " allowed size;",
    ),
    (
        "a condition before its key",
        [{"Delete": {"Key": {"pk": {"N": "x"}}, "ConditionExpression": "a ="}}],
        "ValidationException: Invalid ConditionExpression: Syntax error; …",
    ),
    (
        "a key before a later condition",
        [{"Delete": {"Key": {"pk": {"N": "x"}}}}, check("a =")],
        "ValidationException: The parameter cannot be converted to a numeric value: x",
    ),
    (
        "empty name",
        [put({"": 1, "pk": "a"}), {"Put": {"Item": {"pk": {"N": "x"}}}}],
        "ValidationException: Empty attribute name",
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


def test_placeholders_without_an_expression_are_ignored(table: Table) -> None:
    unused = {"ExpressionAttributeNames": {"#x": "x"}, "ExpressionAttributeValues": item({":x": 1})}
    write(table, put({"pk": "a"}, **unused), delete(Key=item(pk="b"), **unused))
    assert get(table, "a", ExpressionAttributeNames={"#x": "x"}) == [{"pk": "a"}]


DEEP: dict[str, Any] = {"S": "leaf"}
for _ in range(32):
    DEEP = {"M": {"m": DEEP}}


def test_a_value_may_have_a_level_more_than_an_item_takes(table: Table) -> None:
    values = {"ExpressionAttributeValues": {":v": DEEP}}
    outcomes = {
        "ConditionalCheckFailed": {"Put": {"Item": item(pk="a"), "ConditionExpression": "a = :v"}},
        "ValidationError": {"Update": {"Key": item(pk="a"), "UpdateExpression": "SET a = :v"}},
    }
    for code, action in outcomes.items():
        [(kind, members)] = action.items()
        error = refused("TransactionCanceledException: …", write, table, {kind: members | values})
        assert [reason["Code"] for reason in error["CancellationReasons"]] == [code]


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


def test_a_transaction_reads_at_most_4_mb(table: Table) -> None:
    keys = [f"p{number}" for number in range(11)]
    for key in keys:
        table.put({"pk": key, "filler": "x" * (390 * KB)})
    assert len(get(table, *keys[:10])) == 10
    refused("ValidationException: …", get, table, *keys)
