"""PartiQL: BatchExecuteStatement and ExecuteTransaction. T stands for the table's quoted name."""

from typing import Any

import pytest

from .partiql import ILL, KEY_TYPE, NO_KEY, named
from .support import NewTable, Response, Table, call, cases, gsi, item, plain, refused, unique_name

S = "SELECT * FROM T WHERE pk = 'a'"
U = "UPDATE T SET n = 2 WHERE pk = 'a'"
I = "INSERT INTO T VALUE {'pk': 'b'}"  # noqa: E741
MISSING = "UPDATE T SET n = 2 WHERE pk = 'none'"
DUPLICATE = {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
NONE = {"Code": "None"}
BATCH_KEY = (
    "Select statements within BatchExecuteStatement must specify the primary key in the where "
    "clause."
)
Member = str | dict[str, Any]


@pytest.fixture
def one(new_table: NewTable) -> Table:
    """A table with an index and the item {pk: a, n: 1}."""
    table = new_table("pk", gsi("byG", "g"), gsi("many", "g,h"))
    table.put({"pk": "a", "n": 1})
    return table


def _members(table: Table, given: tuple[Member, ...]) -> list[dict[str, Any]]:
    members = [{"Statement": each} if isinstance(each, str) else each for each in given]
    return [{**each, "Statement": named(each["Statement"], table)} for each in members]


def batch(table: Table, *given: Member, **more: Any) -> Response:
    statements = _members(table, given)
    return call(table.client, "BatchExecuteStatement", Statements=statements, **more)


def transact(table: Table, *given: Member, **more: Any) -> Response:
    statements = _members(table, given)
    return call(table.client, "ExecuteTransaction", TransactStatements=statements, **more)


# ---- BatchExecuteStatement ----


def test_a_batch_of_reads(one: Table) -> None:
    found = batch(one, S, "SELECT nope FROM T WHERE pk = 'none'", "SELECT n FROM T WHERE 'a' = n")
    assert found["Responses"][:2] == [
        {"TableName": one.name, "Item": item(pk="a", n=1)},
        {"TableName": one.name},
    ]
    assert found["Responses"][2] == {"Error": {"Code": "ValidationError", "Message": BATCH_KEY}}


def test_a_batch_of_writes(one: Table) -> None:
    one.put({"pk": "c"}, {"pk": "d", "n": 4})
    found = batch(
        one,
        I,
        f"{U} RETURNING MODIFIED NEW *",
        "DELETE FROM T WHERE pk = 'd' RETURNING ALL OLD *",
        "INSERT INTO T VALUE {'pk': 'c'}",
        MISSING,
        "UPDATE T REMOVE n WHERE pk = 'nobody' RETURNING MODIFIED NEW *",
    )["Responses"]
    name = {"TableName": one.name}
    assert found == [
        name,
        {**name, "Item": item(n=2)},
        {**name, "Item": item(pk="d", n=4)},
        {**name, "Error": DUPLICATE},
        {**name, "Error": FAILED},
        {**name, "Error": FAILED},
    ]
    assert {each["pk"] for each in one.all()} == {"a", "b", "c"}


def _error(message: str, code: str = "ValidationError") -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": message}}


MEMBER_ERRORS = [
    ("SLECT * FROM T", _error(f"{ILL.partition(' ')[2]}Expected data manipulation")),
    ("SELECT * FROM nosuchtable WHERE pk = 'a'", _error("…", "ResourceNotFound")),
    ("SELECT * FROM T WHERE n = 1", _error(BATCH_KEY)),
    ("SELECT * FROM T", _error(BATCH_KEY)),
    (f"{S} AND n = 1", _error(BATCH_KEY)),
    (f"{S} AND attribute_exists(n)", _error(BATCH_KEY)),
    ("SELECT * FROM T WHERE pk IN ['a', 'b']", _error(BATCH_KEY)),
    ("SELECT * FROM T.byG WHERE g = 'x'", _error(BATCH_KEY)),
    ("SELECT * FROM T.byG WHERE pk = 'a' AND g = 'x'", _error(BATCH_KEY)),
    (
        "SELECT * FROM T.many WHERE g = 'x'",
        _error(
            "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or "
            "multi-attribute RANGE keys."
        ),
    ),
    ("SELECT * FROM T WHERE pk = 5", _error(KEY_TYPE.format("pk").partition(" ")[2])),
]


@cases("text, expected", MEMBER_ERRORS)
def test_a_member_fails_alone(one: Table, text: str, expected: dict[str, Any]) -> None:
    failed, fine = batch(one, text, S)["Responses"]
    if expected["Error"]["Message"] == "…":
        failed["Error"]["Message"] = "…"
    assert failed == expected
    assert fine["Item"] == item(pk="a", n=1)


WRITE_ERRORS = [
    ("DELETE FROM T WHERE n = 1", _error(NO_KEY.partition(" ")[2])),
    (
        "EXISTS(SELECT * FROM T WHERE pk = 'a' AND n = 1)",
        _error("EXISTS can only be used in ExecuteTransaction write requests."),
    ),
    (
        "DELETE FROM T WHERE pk = 'x' RETURNING ALL NEW *",
        _error(
            "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed "
            "in DELETE statements."
        ),
    ),
]


@cases("text, expected", WRITE_ERRORS)
def test_a_writing_member_fails_alone(one: Table, text: str, expected: dict[str, Any]) -> None:
    assert batch(one, text, U)["Responses"] == [expected, {"TableName": one.name}]


def test_a_failed_condition_shows_its_item(one: Table) -> None:
    member = {
        "Statement": f"{U} AND n = 5",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    [found] = batch(one, member)["Responses"]
    assert found["Error"] == {**FAILED, "Item": item(pk="a", n=1)}


def test_batches_refused_as_a_whole(one: Table) -> None:
    mixed = "ValidationException: Read and write requests together in the same batch is not …"
    refused(mixed, batch, one, S, U)
    refused(mixed, batch, one, S, "UPDATE T SET n = 'x' + 1 WHERE pk = 'b'")
    twice = "ValidationException: Provided list of item keys contains duplicates"
    refused(twice, batch, one, S, S)
    refused(twice, batch, one, U, "DELETE FROM T WHERE pk = 'a'")
    refused("ValidationException: 1 validation error detected: …", batch, one)
    refused("ValidationException: 1 validation error detected: …", batch, one, *[S] * 26)
    assert one.get(pk="a") == {"pk": "a", "n": 1}


def test_capacity_of_a_batch(one: Table) -> None:
    strong = {"Statement": S, "ConsistentRead": True}
    found = batch(one, strong, S.replace("'a'", "'b'"), ReturnConsumedCapacity="TOTAL")
    assert found["ConsumedCapacity"] == [{"TableName": one.name, "CapacityUnits": 1.5}]
    found = batch(one, U, I, ReturnConsumedCapacity="TOTAL")
    assert found["ConsumedCapacity"] == [{"TableName": one.name, "CapacityUnits": 2.0}]
    assert "ConsumedCapacity" not in batch(one, S)


def test_failed_conditions_are_charged_beside_what_is_written(one: Table) -> None:
    """In the sum of the table alone, by the size of the item; if all fail, nothing is shown."""
    one.put({"pk": "large", "n": 1, "s": "x" * 2000})
    fails = U.replace("'a'", "'large'") + " AND n = 5"
    exists = "INSERT INTO T VALUE {'pk': 'a'}"
    found = batch(one, fails, exists, I, ReturnConsumedCapacity="INDEXES")
    assert [each.get("Error", {}).get("Code") for each in found["Responses"]] == [
        "ConditionalCheckFailed",
        "DuplicateItem",
        None,
    ]
    assert found["ConsumedCapacity"] == [
        {"TableName": one.name, "CapacityUnits": 4.0, "Table": {"CapacityUnits": 1.0}}
    ]
    assert "ConsumedCapacity" not in batch(one, fails, exists, ReturnConsumedCapacity="INDEXES")


# ---- ExecuteTransaction ----


def test_a_transaction_of_reads(one: Table) -> None:
    found = transact(
        one,
        "SELECT n FROM T WHERE pk = 'a'",
        S.replace("'a'", "'b'"),
        ReturnConsumedCapacity="TOTAL",
    )
    assert found["Responses"] == [{"Item": item(n=1)}, {}]
    [consumed] = found["ConsumedCapacity"]
    assert consumed["ReadCapacityUnits"] == consumed["CapacityUnits"] == 4.0


def test_a_transaction_of_writes(one: Table) -> None:
    one.put({"pk": "d", "n": 3})
    found = transact(
        one,
        U,
        I,
        "DELETE FROM T WHERE pk = 'none'",
        "EXISTS(SELECT * FROM T WHERE pk = 'd' AND n = 3)",
        ReturnConsumedCapacity="TOTAL",
    )
    assert found["Responses"] == []
    assert found["ConsumedCapacity"][0]["WriteCapacityUnits"] == 8.0
    assert one.get(pk="a") == {"pk": "a", "n": 2}
    assert one.get(pk="b") == {"pk": "b"}


NO_TABLE = {"Code": "ResourceNotFound", "Message": "Requested resource not found"}
CANCELLED = [
    ([U, "INSERT INTO T VALUE {'pk': 'c'}", MISSING], [NONE, DUPLICATE, FAILED]),
    ([I, "EXISTS(SELECT * FROM T WHERE pk = 'a' AND n = 5)"], [NONE, FAILED]),
    ([I, "EXISTS(SELECT * FROM T WHERE pk = 'x' AND n IS MISSING)"], [NONE, FAILED]),
    ([I, "DELETE FROM T WHERE pk = 'a' AND n = 5"], [NONE, FAILED]),
    (
        [I, "UPDATE T SET t = nope WHERE pk = 'a'"],
        [
            NONE,
            {
                "Code": "ValidationError",
                "Message": "The provided expression refers to an attribute that does not exist in "
                "the item",
            },
        ],
    ),
    (
        ["UPDATE T SET n = 1 WHERE pk = 5", I],
        [{"Code": "ValidationError", "Message": KEY_TYPE.format("pk").partition(" ")[2]}, NONE],
    ),
    *(
        ([text], [NO_TABLE])
        for text in (
            "SELECT * FROM nosuchtable WHERE pk = 'a'",
            "INSERT INTO nosuchtable VALUE {'pk': 'a'}",
            "UPDATE nosuchtable SET n = 1 WHERE pk = 'a'",
            "DELETE FROM nosuchtable WHERE pk = 'a'",
        )
    ),
    ([I, "INSERT INTO nosuchtable VALUE {'pk': 'a'}"], [NONE, NO_TABLE]),
    (
        ["SELECT * FROM T WHERE pk = 5", S],
        [{"Code": "ValidationError", "Message": KEY_TYPE.format("pk").partition(" ")[2]}, NONE],
    ),
]


@cases("texts, reasons", CANCELLED)
def test_cancelled(one: Table, texts: list[str], reasons: list[dict[str, Any]]) -> None:
    one.put({"pk": "c"})
    codes = ", ".join(reason["Code"] for reason in reasons)
    body = refused(
        "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons "
        f"for specific reasons [{codes}]",
        transact,
        one,
        *texts,
    )
    assert body["CancellationReasons"] == reasons
    assert one.get(pk="a") == {"pk": "a", "n": 1}
    assert one.get(pk="b") is None


IN_FIRST = "ValidationException: Validation failed in TransactStatements[0]: "
TRANSACTION_REFUSALS = [
    (["SELECT * FROM T WHERE"], f"{IN_FIRST}{ILL.partition(' ')[2]}Unexpected term"),
    (
        [f"{U} RETURNING ALL NEW *"],
        f"{IN_FIRST}RETURNING clause is not supported in ExecuteTransaction.",
    ),
    (
        ["SELECT * FROM T.byG WHERE g = 'x'"],
        f"{IN_FIRST}Reads on indices are not supported within transactions.",
    ),
    (
        [f"{S} AND attribute_exists(n)"],
        f"{IN_FIRST}Select statements within ExecuteTransaction must specify the primary key in "
        "the where clause.",
    ),
    (
        ["EXISTS(SELECT * FROM T WHERE pk = 'a')", I],
        f"{IN_FIRST}EXISTS() must contain a single item read with additional condition",
    ),
    (["DELETE FROM T WHERE n = 1"], IN_FIRST + NO_KEY.partition(" ")[2]),
    (
        [S, U],
        "ValidationException: ExecuteTransaction API does not support both read and write "
        "operations in the same request.",
    ),
    (
        [S, "UPDATE T SET n = 'x' + 1 WHERE pk = 'b'"],
        "ValidationException: ExecuteTransaction API does not support both read and write "
        "operations in the same request.",
    ),
    (
        ["DELETE FROM T WHERE pk = NULL"],
        f"{IN_FIRST}Key value must be of type S, N, or B. Key name: pk, Key type: NULL",
    ),
    (
        [S, "EXISTS(SELECT * FROM T WHERE pk = 'a' AND n = 1)"],
        "ValidationException: ExecuteTransaction API does not support both read and write "
        "operations in the same request.",
    ),
    (
        [U, "DELETE FROM T WHERE pk = 'a'"],
        "ValidationException: Transaction request cannot include multiple operations on one item",
    ),
    (
        ["INSERT INTO T VALUE {'pk': ''}"],
        "ValidationException: One or more parameter values are not valid. The AttributeValue for "
        "a key attribute cannot contain an empty string value. Key: pk",
    ),
]


@cases("texts, message", TRANSACTION_REFUSALS)
def test_transactions_refused(one: Table, texts: list[str], message: str) -> None:
    refused(message, transact, one, *texts)
    assert one.all() == [{"pk": "a", "n": 1}]


def test_a_failed_condition_of_a_transaction_shows_its_item(one: Table) -> None:
    member = {"Statement": f"{U} AND n = 5", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    body = refused("TransactionCanceledException: …", transact, one, member, I)
    [reason, _] = body["CancellationReasons"]
    assert plain(reason["Item"]) == {"pk": "a", "n": 1}


def test_the_statements_of_a_cancelled_transaction_are_decided_again(one: Table) -> None:
    """Their token is not free for others meanwhile (captured in 2026)."""
    insert = "INSERT INTO T VALUE {'pk': 'a', 'n': 7}"
    other = "INSERT INTO T VALUE {'pk': 'b'}"
    token = {"ClientRequestToken": unique_name()[:36], "ReturnConsumedCapacity": "TOTAL"}
    refused("ValidationException: …", transact, one, "INSERT INTO T", **token)
    refused("TransactionCanceledException: …[DuplicateItem]", transact, one, insert, **token)
    refused("IdempotentParameterMismatchException: …", transact, one, other, **token)
    one.call("DeleteItem", Key=item(pk="a"))
    first, second = transact(one, insert, **token), transact(one, insert, **token)
    assert first["ConsumedCapacity"][0]["WriteCapacityUnits"] == 2.0
    assert second["ConsumedCapacity"][0]["ReadCapacityUnits"] == 2.0
    refused("IdempotentParameterMismatchException: …", transact, one, other, **token)
    assert one.all() == [{"pk": "a", "n": 7}]


def test_a_token_makes_a_repetition_harmless(one: Table) -> None:
    text = "UPDATE T SET n = n + 1 WHERE pk = 'a'"
    token = {"ClientRequestToken": unique_name()[:36], "ReturnConsumedCapacity": "TOTAL"}
    first, second = transact(one, text, **token), transact(one, text, **token)
    assert one.get(pk="a") == {"pk": "a", "n": 2}
    assert first["ConsumedCapacity"][0]["WriteCapacityUnits"] == 2.0
    assert second["ConsumedCapacity"][0]["ReadCapacityUnits"] == 2.0
    assert second["Responses"] == []
    assert transact(one, f" {text} ", **token) == second
    refused("IdempotentParameterMismatchException: …", transact, one, U, **token)
    token["ReturnConsumedCapacity"] = "INDEXES"
    refused("IdempotentParameterMismatchException: …", transact, one, text, **token)


def test_a_parameter_that_is_not_a_value(one: Table) -> None:
    member = {"Statement": "UPDATE T SET n = ? WHERE pk = 'a'", "Parameters": [{"N": "x"}]}
    fault = "The parameter cannot be converted to a numeric value: x"
    refused(f"ValidationException: {fault}", transact, one, member)
    assert batch(one, member)["Responses"] == [_error(fault)]


def test_more_than_4_mb(one: Table) -> None:
    large = {"S": "x" * (390 * 1024)}
    members = [
        {"Statement": f"INSERT INTO T VALUE {{'pk': '{n}', 's': ?}}", "Parameters": [large]}
        for n in range(11)
    ]
    refused("ValidationException: Transaction payload size …", transact, one, *members)
    transact(one, *members[:10])
    assert len(one.all()) == 11
