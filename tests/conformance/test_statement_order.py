"""PartiQL: parameters before text, and what a failing statement does to the others.

Captured in us-east-1 and eu-west-2 on 2026-10-09 and 2026-10-10.
"""

import json
from typing import Any

import pytest

from .raw import Wire
from .support import definition, unique_name

NESTED = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels"
    " beyond supported limit"
)
INVALID = "One or more parameter values were invalid: "
MIXED = "Read and write requests together in the same batch is not supported."


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "leaf"}
    for _ in range(levels):
        value = {"M": {"n": value}}
    return value


@pytest.fixture
def table(wire: Wire) -> Any:
    name = unique_name()
    wire.call("CreateTable", TableName=name, **definition("pk"))
    while wire.call("DescribeTable", TableName=name).json["Table"]["TableStatus"] != "ACTIVE":
        pass
    wire.call("PutItem", TableName=name, Item={"pk": {"S": "base"}, "v": {"N": "1"}})
    yield name
    wire.call("DeleteTable", TableName=name)


def parameter(value: dict[str, Any]) -> dict[str, Any]:
    return {"Parameters": [value]}


def test_a_parameter_of_32_levels_is_compared(wire: Wire, table: str) -> None:
    text = f"SELECT * FROM \"{table}\" WHERE pk = 'base' AND v = ?"
    assert wire.call("ExecuteStatement", Statement=text, **parameter(deep(32))).json["Items"] == []


@pytest.mark.parametrize(
    "text",
    ["INSERT INTO \"{}\" VALUE {{'pk': 'x', 'd': ?}}", "UPDATE \"{}\" SET d = ? WHERE pk = 'base'"],
)
def test_a_parameter_of_32_levels_is_no_attribute(wire: Wire, table: str, text: str) -> None:
    answer = wire.call("ExecuteStatement", Statement=text.format(table), **parameter(deep(32)))
    assert NESTED in answer.json["message"]
    assert (
        wire.call("ExecuteStatement", Statement=text.format(table), **parameter(deep(31))).status
        == 200
    )


@pytest.mark.parametrize("text", ["SELEC", "SELECT * FROM absent_table WHERE pk = ?"])
@pytest.mark.parametrize("levels", [33, 61])
def test_a_deep_parameter_is_refused_before_its_statement_is_read(
    wire: Wire, text: str, levels: int
) -> None:
    one = {"Statement": text, **parameter(deep(levels))}
    assert wire.call("ExecuteStatement", **one).json["message"] == NESTED
    assert wire.call("ExecuteTransaction", TransactStatements=[one]).json["message"] == NESTED
    [answered] = wire.call("BatchExecuteStatement", Statements=[one]).json["Responses"]
    assert answered == {"Error": {"Code": "ValidationError", "Message": NESTED}}


def test_an_earlier_statement_is_refused_before_a_later_parameter(wire: Wire) -> None:
    first = {"Statement": "INSRT"}
    deeper = {"Statement": "INSERT INTO absent_table VALUE {'pk': ?}", **parameter(deep(40))}
    answer = wire.call("ExecuteTransaction", TransactStatements=[first, deeper]).json
    assert answer["message"].startswith("Validation failed in TransactStatements[0]: ")


@pytest.mark.parametrize("value", [deep(63), {"M": {"": {"S": "x"}}}])
def test_a_statement_with_a_refused_parameter_is_neither_read_nor_write(
    wire: Wire, table: str, value: dict[str, Any]
) -> None:
    read = {"Statement": f"SELECT * FROM \"{table}\" WHERE pk = 'base'"}
    write = {"Statement": f"UPDATE \"{table}\" SET v = ? WHERE pk = 'b'"}
    batch = [read, {**write, **parameter(value)}]
    found, failed = wire.call("BatchExecuteStatement", Statements=batch).json["Responses"]
    assert found["Item"]["pk"] == {"S": "base"}
    assert failed["Error"]["Code"] == "ValidationError"
    batch = [read, {**write, **parameter({"N": "1"})}]
    assert wire.call("BatchExecuteStatement", Statements=batch).json["message"] == MIXED


def test_a_conditional_delete_of_an_absent_item_fails_only_in_a_cancelled_transaction(
    wire: Wire, table: str
) -> None:
    vain = {"Statement": f"DELETE FROM \"{table}\" WHERE pk = 'absent' AND v = 1"}
    plain = {"Statement": f"DELETE FROM \"{table}\" WHERE pk = 'absent too'"}
    fails = {"Statement": f"UPDATE \"{table}\" SET w = 1 WHERE pk = 'base' AND v = 99"}
    assert wire.call("ExecuteTransaction", TransactStatements=[vain, plain]).status == 200
    answer = wire.call("ExecuteTransaction", TransactStatements=[vain, plain, fails]).json
    reasons = [reason["Code"] for reason in answer["CancellationReasons"]]
    assert reasons == ["ConditionalCheckFailed", "None", "ConditionalCheckFailed"]


def test_the_token_of_a_transaction_covers_what_a_failure_returns(wire: Wire, table: str) -> None:
    """NONE is the same as no value."""
    text = f"UPDATE \"{table}\" SET w = 1 WHERE pk = 'base'"
    token = table[-36:]  # one of its own, because a server remembers it for ten minutes

    def status(**more: str) -> int:
        return wire.call(
            "ExecuteTransaction",
            TransactStatements=[{"Statement": text, **more}],
            ClientRequestToken=token,
        ).status

    mode = "ReturnValuesOnConditionCheckFailure"
    assert [status(**{mode: "NONE"}), status(**{mode: "ALL_OLD"}), status()] == [200, 400, 200]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("{'pk': 'x', 's': <<2, 1, 2>>}", "[2, 1, 2] contains duplicates! under root"),
        ("{'pk': 'x', 'm': {'s': <<2, 2>>}}", "[2, 2] contains duplicates! under root.s"),
        ("{'pk': 'x', 'l': [<<1, 1.0>>]}", "[1, 1.0] contains duplicates! under root[0]"),
        ("{'pk': 'x', 's': <<'b', 'a', 'b'>>}", "[b, a, b] contains duplicates."),
    ],
)
def test_a_set_in_a_statement_names_its_duplicates(
    wire: Wire, table: str, value: str, told: str
) -> None:
    answer = wire.call("ExecuteStatement", Statement=f'INSERT INTO "{table}" VALUE {value}')
    assert answer.json["message"] == f"{INVALID}Input collection {told}"


def test_members_of_statements_are_reported_in_their_own_order(wire: Wire) -> None:
    faults = {"Parameters": [], "ReturnValuesOnConditionCheckFailure": "X"}
    one = {"Statement": "", **faults}
    answers = [
        wire.call("ExecuteStatement", **one, Limit=0, ReturnConsumedCapacity="X"),
        wire.call("BatchExecuteStatement", Statements=[one], ReturnConsumedCapacity="X"),
        wire.call(
            "ExecuteTransaction",
            TransactStatements=[one],
            ClientRequestToken="t" * 37,
            ReturnConsumedCapacity="X",
        ),
    ]
    mode, capacity = "returnValuesOnConditionCheckFailure", "returnConsumedCapacity"
    inside = [mode, "statement", "parameters"]
    assert [order(answer.json) for answer in answers] == [
        [mode, "limit", "statement", capacity, "parameters"],
        [capacity, *inside],
        ["clientRequestToken", *inside, capacity],
    ]


def order(answer: dict[str, Any]) -> list[str]:
    """The members that a message lists."""
    parts = json.dumps(answer["message"]).split("' failed to satisfy constraint")[:-1]
    return [part.rpartition("at '")[2].rpartition(".")[2] for part in parts]


def test_a_limit_is_checked_before_a_value_that_is_nested_too_deep(wire: Wire) -> None:
    answer = wire.call(
        "Scan",
        TableName="absent",
        Limit=0,
        FilterExpression="d = :deep",
        ExpressionAttributeValues={":deep": deep(100)},
    ).json
    assert answer["message"] == (
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1"
    )
