"""Transactions: all or nothing, with a reason for every action."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from .support import NewTable, Table, call, cases, gsi, item, refused, unique_name
from .transactions import check, delete, get, named, put, update, write

CANCELLED = (
    "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for"
    " specific reasons [{}]"
)
FAILED = "The conditional request failed"
NO_TABLE = "ResourceNotFoundException: Requested resource not found"

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


def test_gets_are_answered_in_order_with_empty_slots_for_missing_items(table: Table) -> None:
    table.put({"pk": "a", "n": 1, "m": {"x": 1}}, {"pk": "b"})
    assert get(table, "b", "none", "a") == [{"pk": "b"}, {}, {"pk": "a", "n": 1, "m": {"x": 1}}]
    assert get(table, "a", ProjectionExpression="m.x") == [{"m": {"x": 1}}]


def test_a_projection_that_finds_nothing_leaves_the_slot_empty(table: Table) -> None:
    """Unlike GetItem, which answers with an empty Item."""
    table.put({"pk": "a"})
    projected = {"Key": item(pk="a"), "ProjectionExpression": "n"}
    request = [named(table, {"Get": projected})]
    assert call(table.client, "TransactGetItems", TransactItems=request)["Responses"] == [{}]
    assert table.call("GetItem", **projected)["Item"] == {}


# ---- tokens ----


@cases("path", [("nope",), ("n[0]",), ("nope.pk",), ("s.x, l[7]",)])
def test_a_projection_that_finds_nothing_gives_no_item(table: Table, path: str) -> None:
    """GetItem has an empty Item instead."""
    table.put({"pk": "a", "n": 1, "s": "x", "l": [1]})
    wanted = {"Key": item(pk="a"), "ProjectionExpression": path}
    assert table.call("GetItem", **wanted)["Item"] == {}
    items = [{"Get": {"TableName": table.name, **wanted}}]
    assert call(table.client, "TransactGetItems", TransactItems=items)["Responses"] == [{}]


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


REUSED = (
    "IdempotentParameterMismatchException: Specified idempotent token was used with different "
    "request parameters within the idempotency window"
)


@cases(
    "member, value", [("ReturnConsumedCapacity", "TOTAL"), ("ReturnItemCollectionMetrics", "SIZE")]
)
def test_what_is_to_be_returned_belongs_to_the_request(
    table: Table, member: str, value: str
) -> None:
    for first, others in [({}, value), ({member: value}, "NONE")]:
        token = unique_name("t")[:36]
        write(table, put({"pk": "a"}), ClientRequestToken=token, **first)
        write(table, put({"pk": "a"}), ClientRequestToken=token, **first or {member: "NONE"})
        again = {"ClientRequestToken": token, member: others}
        refused(REUSED, write, table, put({"pk": "a"}), **again)


def test_a_token_does_not_tell_none_from_nothing(table: Table) -> None:
    token = unique_name("t")[:36]
    none = put({"pk": "a"}, ReturnValuesOnConditionCheckFailure="NONE")
    write(table, none, ClientRequestToken=token)
    write(table, put({"pk": "a"}), ClientRequestToken=token)
    old = put({"pk": "a"}, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    refused(REUSED, write, table, old, ClientRequestToken=token)


def test_a_token_is_for_one_operation(table: Table) -> None:
    token = unique_name("t")[:36]
    write(table, put({"pk": "a"}), ClientRequestToken=token)
    statement = {"Statement": f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'a'}}"}
    refused(
        REUSED,
        call,
        table.client,
        "ExecuteTransaction",
        TransactStatements=[statement],
        ClientRequestToken=token,
    )


def test_the_request_of_a_cancelled_transaction_is_decided_again(table: Table) -> None:
    """Its token is not free for another request meanwhile (captured in 2026)."""
    token = {"ClientRequestToken": unique_name("t")[:36], "ReturnConsumedCapacity": "TOTAL"}
    conditional = put({"pk": "a"}, ConditionExpression="attribute_not_exists(pk)")
    table.put({"pk": "a"})
    for _ in range(2):
        refused("TransactionCanceledException: …", write, table, conditional, **token)
        refused(REUSED, write, table, put({"pk": "b"}), **token)
    table.call("DeleteItem", Key=item(pk="a"))
    [units] = write(table, conditional, **token)["ConsumedCapacity"]
    assert units["WriteCapacityUnits"] == 2.0
    refused(REUSED, write, table, put({"pk": "b"}), **token)
    [units] = write(table, conditional, **token)["ConsumedCapacity"]
    assert units["ReadCapacityUnits"] == 2.0
    assert table.all() == [{"pk": "a"}]


def test_a_request_that_is_no_transaction_keeps_no_token(table: Table) -> None:
    token = {"ClientRequestToken": unique_name("t")[:36]}
    refused("ValidationException: …", write, table, update("SET = :v", {":v": 1}), **token)
    missing = {"Put": {"TableName": unique_name("missing"), "Item": item(pk="a")}}
    arguments = {"TransactItems": [missing], **token}
    refused("ResourceNotFoundException: …", call, table.client, "TransactWriteItems", **arguments)
    write(table, put({"pk": "a"}), **token)
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
    """The codes for which the call was cancelled; empty if it succeeded."""
    try:
        call_()
    except ClientError as error:
        return {reason["Code"] for reason in error.response["CancellationReasons"]}
    return set()


def test_colliding_transactions_lose_no_update(table: Table) -> None:
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
