"""The first fault for which the members of a transaction are refused. Captured in October 2026."""

from typing import Any

from .support import Client, call, cases, refused

KEY = {"pk": {"S": "a"}}
TOKEN = "x" * 37
CAPACITY = (
    "Value 'BOGUS' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy "
    "enum value set: [INDEXES, TOTAL, NONE]"
)
METRICS = (
    "Value 'BOGUS' at 'returnItemCollectionMetrics' failed to satisfy constraint: Member must "
    "satisfy enum value set: [SIZE, NONE]"
)
LONG_TOKEN = (
    f"Value '{TOKEN}' at 'clientRequestToken' failed to satisfy constraint: Member must have "
    "length less than or equal to 36"
)
NO_ACTION = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
WRONG = {"ReturnConsumedCapacity": "BOGUS"}
ALL_WRONG = {
    **WRONG,
    "ReturnItemCollectionMetrics": "BOGUS",
    "ClientRequestToken": TOKEN,
}


def action(kind: str, table: str, **more: Any) -> dict[str, Any]:
    item = {"Item" if kind == "Put" else "Key": KEY}
    return {kind: {"TableName": table, **item, **more}}


def bad_name(name: str, path: str) -> str:
    return (
        f"Value '{name}' at 'transactItems.{path}.tableName' failed to satisfy constraint: Member "
        "must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )


def bad_return(path: str) -> str:
    return (
        f"Value 'BOGUS' at 'transactItems.{path}.returnValuesOnConditionCheckFailure' failed to "
        "satisfy constraint: Member must satisfy enum value set: [ALL_OLD, NONE]"
    )


def empty(path: str) -> str:
    return (
        f"Value '[]' at '{path}' failed to satisfy constraint: Member must have length greater "
        "than or equal to 1"
    )


RETURNING = action("Put", "present", ReturnValuesOnConditionCheckFailure="BOGUS")
ILL = action("Put", "bad!name")

# (the actions of a TransactWriteItems, further parameters, what it is refused for)
WRITES: list[tuple[list[Any], dict[str, Any], list[str]]] = [
    ([], {}, [empty("transactItems")]),
    ([], ALL_WRONG, [empty("transactItems")]),
    ([RETURNING], ALL_WRONG, [bad_return("1.member.put"), LONG_TOKEN, CAPACITY, METRICS]),
    ([{}, RETURNING], {}, [bad_return("2.member.put")]),
    (
        [action("Put", "bad!name", ReturnValuesOnConditionCheckFailure="BOGUS")],
        {},
        [bad_return("1.member.put")],
    ),
    ([ILL], ALL_WRONG, [LONG_TOKEN, CAPACITY, METRICS]),
    ([ILL], WRONG, [CAPACITY]),
    ([{}], WRONG, [CAPACITY]),
    ([{}], {}, [NO_ACTION]),
    ([{}, ILL], {}, [NO_ACTION]),
    ([ILL, {}], {}, [NO_ACTION]),
    ([ILL], {}, [bad_name("bad!name", "1.member.put")]),
    (
        [ILL, action("Delete", "bad!two")],
        {},
        [bad_name("bad!name", "1.member.put"), bad_name("bad!two", "2.member.delete")],
    ),
    (
        [action("Delete", "a!")],
        {},
        [
            "Value 'a!' at 'transactItems.1.member.delete.tableName' failed to satisfy "
            "constraint: Member must have length greater than or equal to 3",
            bad_name("a!", "1.member.delete"),
        ],
    ),
]


def told(faults: list[str]) -> str:
    if faults == [NO_ACTION]:
        return f"ValidationException: {NO_ACTION}"
    errors = "errors" if len(faults) > 1 else "error"
    return f"ValidationException: {len(faults)} validation {errors} detected: {'; '.join(faults)}"


@cases("actions, parameters, faults", WRITES)
def test_writes(
    client: Client, actions: list[Any], parameters: dict[str, Any], faults: list[str]
) -> None:
    parameters = {"TransactItems": actions, **parameters}
    refused(told(faults), call, client, "TransactWriteItems", **parameters)


def test_reads(client: Client) -> None:
    items = [action("Get", "bad!name")]
    refused(told([CAPACITY]), call, client, "TransactGetItems", TransactItems=items, **WRONG)
    name = bad_name("bad!name", "1.member.get")
    refused(told([name]), call, client, "TransactGetItems", TransactItems=items)
    fault = told([empty("transactItems")])
    refused(fault, call, client, "TransactGetItems", TransactItems=[], **WRONG)


def test_statements(client: Client) -> None:
    fault = told([empty("transactStatements")])
    refused(fault, call, client, "ExecuteTransaction", TransactStatements=[], **WRONG)
