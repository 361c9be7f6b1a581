"""Secondary indexes: which items they hold, with which attributes, and how they are read."""

from typing import Any

import pytest

from .legacy import compare
from .support import NewTable, Table, cases, drop_none, gsi, item, lsi, plain, plains, refused

FULL = {"pk": "a", "sk": "s", "owner": "jane", "date": 5, "title": "t", "note": "n"}

# ---- sparseness ----

# (name, attributes without or with the index keys, whether byOwner has it, whether byDate has it)
SPARSE: list[tuple[str, dict[str, Any], bool, bool]] = [
    ("both keys", {"owner": "jane", "date": 5}, True, True),
    ("no hash key of the index", {"date": 5}, False, True),
    ("no range key of the index", {"owner": "jane"}, False, False),
    ("neither", {}, False, False),
]


def counts(table: Table) -> list[int]:
    return [table.call("Scan", IndexName=index)["Count"] for index in ("byOwner", "byDate")]


@pytest.fixture
def indexed(new_table: NewTable) -> Table:
    return new_table("pk/sk", gsi("byOwner", "owner/date:N"), lsi("byDate", "pk/date:N"))


@cases("name, attributes, in_global, in_local", SPARSE)
def test_an_item_is_in_an_index_if_it_has_its_keys(
    indexed: Table, name: str, attributes: dict[str, Any], in_global: bool, in_local: bool
) -> None:
    indexed.put({"pk": "a", "sk": "s", **attributes})
    assert counts(indexed) == [in_global, in_local]


# (name, the update of FULL, the keys by which byOwner then has it)
MOVES: list[tuple[str, str, list[tuple[str, int]]]] = [
    ("another attribute", "SET title = :x", [("jane", 5)]),
    ("a hash key", "SET #owner = :x", [("x", 5)]),
    ("a range key", "SET #date = :n", [("jane", 9)]),
    ("both keys", "SET #owner = :x, #date = :n", [("x", 9)]),
    ("no hash key", "REMOVE #owner", []),
    ("no range key", "REMOVE #date", []),
]


@cases("name, update, found", MOVES)
def test_an_index_follows_updates(
    indexed: Table, name: str, update: str, found: list[tuple[str, int]]
) -> None:
    indexed.put(FULL)
    names = {n: n[1:] for n in ("#owner", "#date") if n in update}
    values = {n: v for n, v in ((":x", "x"), (":n", 9)) if n in update}
    parameters: dict[str, Any] = {"UpdateExpression": update}
    if names:
        parameters["ExpressionAttributeNames"] = names
    if values:
        parameters["ExpressionAttributeValues"] = item(values)
    indexed.call("UpdateItem", Key=item(pk="a", sk="s"), **parameters)
    entries = plains(indexed.call("Scan", IndexName="byOwner"))
    assert [(entry["owner"], entry["date"]) for entry in entries] == found


def test_an_index_follows_puts_and_deletes(indexed: Table) -> None:
    indexed.put(FULL)
    indexed.put({**FULL, "owner": "john"})
    assert plains(indexed.call("Scan", IndexName="byOwner")) == [{**FULL, "owner": "john"}]
    indexed.call("DeleteItem", Key=item(pk="a", sk="s"))
    assert counts(indexed) == [0, 0]


# (name, the value of the index's hash key)
UNFIT: list[tuple[str, Any, str]] = [
    (
        "another type",
        1,
        "ValidationException: One or more parameter values were invalid:"
        " Type mismatch for Index Key owner Expected: S Actual: N IndexName: byOwner",
    ),
    (
        "no scalar",
        ["x"],
        "ValidationException: One or more parameter values were invalid:"
        " Type mismatch for Index Key owner Expected: S Actual: L IndexName: byOwner",
    ),
    ("NULL", None, "ValidationException: …Type mismatch for Index Key owner…"),
    (
        "empty",
        "",
        "ValidationException: One or more parameter values are not valid. …"
        "The AttributeValue for a key attribute cannot contain an empty string value…",
    ),
    ("too long", "x" * 2049, "ValidationException: …"),
]


@cases("name, value, refusal", UNFIT)
def test_an_unfit_index_key_is_refused(indexed: Table, name: str, value: Any, refusal: str) -> None:
    indexed.refused(refusal, "PutItem", Item=item({"pk": "a", "sk": "s", "owner": value}))
    indexed.refused(
        refusal,
        "UpdateItem",
        Key=item(pk="a", sk="s"),
        UpdateExpression="SET #owner = :v",
        ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues=item({":v": value}),
    )
    put = {"PutRequest": {"Item": item({"pk": "a", "sk": "s", "owner": value})}}
    refused(refusal, indexed.client.batch_write_item, RequestItems={indexed.name: [put]})
    assert indexed.all() == []


# ---- projections ----

KEYS = {"pk", "sk", "owner"}

# (projection, the attributes of an entry)
PROJECTIONS: list[tuple[Any, set[str]]] = [
    ("KEYS_ONLY", KEYS),
    ("ALL", set(FULL)),
    (["title"], KEYS | {"title"}),
    (["title", "absent"], KEYS | {"title"}),
]


@cases("projection, attributes", PROJECTIONS)
def test_a_global_index_has_what_it_projects(
    new_table: NewTable, projection: Any, attributes: set[str]
) -> None:
    table = new_table("pk/sk", gsi("byOwner", "owner", projection))
    table.put(FULL)
    query: dict[str, Any] = {
        "IndexName": "byOwner",
        "KeyConditionExpression": "#o = :o",
        "ExpressionAttributeNames": {"#o": "owner"},
        "ExpressionAttributeValues": item({":o": "jane"}),
    }
    for parameters in ({}, {"Select": "ALL_PROJECTED_ATTRIBUTES"}):
        [found] = plains(table.call("Query", **query, **parameters))
        assert found == {name: FULL[name] for name in attributes}
    if projection == "ALL":
        [found] = plains(table.call("Query", Select="ALL_ATTRIBUTES", **query))
        assert found == FULL
    else:
        table.refused(
            "ValidationException: One or more parameter values were invalid:"
            " Select type ALL_ATTRIBUTES is not supported for global secondary index byOwner"
            " because its projection type is not ALL",
            "Query",
            Select="ALL_ATTRIBUTES",
            **query,
        )
        table.refused(
            "ValidationException: One or more parameter values were invalid:"
            " Global secondary index byOwner does not project [note]",
            "Query",
            ProjectionExpression="pk, note",
            **query,
        )


LOCAL_KEYS = {"pk", "sk", "date"}
IN_LOCAL_INDEX: dict[str, Any] = {
    "IndexName": "byDate",
    "KeyConditionExpression": "pk = :p",
    "ExpressionAttributeValues": item({":p": "a"}),
}

# (projection of the index, parameters, the attributes that are returned)
FETCHES: list[tuple[Any, dict[str, Any], set[str]]] = [
    ("KEYS_ONLY", {}, LOCAL_KEYS),
    ("KEYS_ONLY", {"Select": "ALL_ATTRIBUTES"}, set(FULL)),
    ("KEYS_ONLY", {"ProjectionExpression": "note"}, {"note"}),
    (["title"], {}, LOCAL_KEYS | {"title"}),
    (["title"], {"ProjectionExpression": "title, note"}, {"title", "note"}),
    ("ALL", {}, set(FULL)),
]


@pytest.mark.parametrize("consistent", [True, False])
@cases("projection, parameters, attributes", FETCHES)
def test_a_local_index_fetches_what_it_lacks(
    new_table: NewTable,
    projection: Any,
    parameters: dict[str, Any],
    attributes: set[str],
    consistent: bool,
) -> None:
    table = new_table("pk/sk", lsi("byDate", "pk/date:N", projection))
    table.put(FULL)
    response = table.call("Query", ConsistentRead=consistent, **IN_LOCAL_INDEX, **parameters)
    assert plains(response) == [{name: FULL[name] for name in attributes}]


@pytest.mark.parametrize("wanted", [{"Select": "ALL_ATTRIBUTES"}, {"ProjectionExpression": "note"}])
def test_a_filter_of_a_local_index_sees_only_projected_attributes_even_if_it_fetches(
    new_table: NewTable, wanted: dict[str, Any]
) -> None:
    table = new_table("pk/sk", lsi("byDate", "pk/date:N", "KEYS_ONLY"))
    table.put(FULL, {**FULL, "sk": "other", "note": "x"})
    values = {**IN_LOCAL_INDEX["ExpressionAttributeValues"], **item({":v": FULL["sk"]})}
    request = {**IN_LOCAL_INDEX, "ExpressionAttributeValues": values, **wanted}
    table.refused(
        "ValidationException: One or more parameter values were invalid: Secondary index byDate"
        " does not project one or more filter attributes: [note]",
        "Query",
        FilterExpression="note = :v",
        **request,
    )
    response = table.call("Query", FilterExpression="sk = :v", **request)
    assert plains(response) == [FULL if "Select" in wanted else {"note": FULL["note"]}]
    assert response["ScannedCount"] == 2


# (the index, whether it is local, parameters, attributes that it lacks)
LACKING: list[tuple[str, bool, dict[str, Any], str]] = [
    ("global", False, {"FilterExpression": "note = :n"}, "note"),
    ("global, two", False, {"FilterExpression": "title = :n OR note = :n"}, "note, title"),
    ("global, in a map", False, {"FilterExpression": "NOT note.x = :n"}, "note"),
    ("local", True, {"FilterExpression": "note = :n"}, "note"),
    ("local, counted", True, {"FilterExpression": "note = :n", "Select": "COUNT"}, "note"),
]


@cases("name, local, parameters, lacking", LACKING)
def test_a_filter_of_an_index_may_not_name_what_it_lacks(
    new_table: NewTable, name: str, local: bool, parameters: dict[str, Any], lacking: str
) -> None:
    make = lsi if local else gsi
    table = new_table("pk/sk", make("index", "pk/date:N", "KEYS_ONLY"))
    table.put(FULL)
    values = item({":n": "n"})
    table.refused(
        "ValidationException: One or more parameter values were invalid: Secondary index index"
        f" does not project one or more filter attributes: [{lacking}]",
        "Query",
        IndexName="index",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={**values, ":p": {"S": "a"}},
        **parameters,
    )
    parameters = {"IndexName": "index", "ExpressionAttributeValues": values, **parameters}
    response = table.call("Scan", **parameters)
    assert (response["Count"], response["ScannedCount"]) == ("NOT" in str(parameters), 1)


def test_a_legacy_filter_of_an_index_may_not_either(new_table: NewTable) -> None:
    table = new_table("pk/sk", gsi("index", "pk/date:N", "KEYS_ONLY"))
    table.refused(
        "ValidationException: One or more parameter values were invalid: Secondary index index"
        " does not project one or more filter attributes: [note]",
        "Query",
        IndexName="index",
        KeyConditions={"pk": compare("EQ", "a")},
        QueryFilter={"note": compare("NOT_NULL")},
    )


# ---- reading ----

CONSISTENT = "ValidationException: Consistent reads are not supported on global secondary indexes"


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_a_global_index_is_not_read_consistently(indexed: Table, operation: str) -> None:
    query = {
        "KeyConditionExpression": "#o = :o",
        "ExpressionAttributeNames": {"#o": "owner"},
        "ExpressionAttributeValues": item({":o": "jane"}),
    }
    parameters = query if operation == "Query" else {}
    indexed.refused(CONSISTENT, operation, IndexName="byOwner", ConsistentRead=True, **parameters)


def test_keys_of_an_index_need_not_be_unique(indexed: Table) -> None:
    indexed.put(*({**FULL, "pk": f"p{number}"} for number in range(10)))
    response = indexed.call("Scan", IndexName="byOwner")
    assert sorted(found["pk"] for found in plains(response)) == [f"p{n}" for n in range(10)]


def test_a_filter_may_not_name_keys_of_the_index_but_those_of_the_table(indexed: Table) -> None:
    indexed.put(FULL)
    names = {"#o": "owner"}
    query = {"IndexName": "byOwner", "ExpressionAttributeNames": names}
    values = {":o": "jane", ":p": "a"}
    response = indexed.query("#o = :o", values=values, FilterExpression="pk = :p", **query)
    assert response["Count"] == 1
    refused(
        "ValidationException: Filter Expression can only contain non-primary key attributes:"
        " Primary key attribute: owner",
        indexed.query,
        "#o = :o",
        values={":o": "jane"},
        FilterExpression="#o = :o",
        **query,
    )


# ---- keys of several attributes ----

MULTI = "tenant,region/year:N,month:N,day:N"


@pytest.fixture(scope="module")
def multi(new_shared_table: NewTable) -> Table:
    table = new_shared_table("pk", gsi("byTime", MULTI))
    for number in range(27):
        year, month, day = number // 9, number // 3 % 3, number % 3
        table.put(
            {"pk": f"p{(number * 7) % 27}", "tenant": "t", "region": "r", "number": number}
            | {"year": year, "month": month, "day": day}
        )
    table.put({"pk": "no day", "tenant": "t", "region": "r", "year": 0, "month": 0})
    table.put({"pk": "no region", "tenant": "t", "year": 0, "month": 0, "day": 0})
    table.put({"pk": "other", "tenant": "t", "region": "x", "year": 0, "month": 0, "day": 0})
    return table


HASH = "tenant = :t AND #region = :r"
NAMES = {"#region": "region", "#year": "year", "#month": "month", "#day": "day"}

# (range condition, the numbers it selects of 0 to 26)
RANGES: list[tuple[str, list[int]]] = [
    ("", list(range(27))),
    ("#year = :1", list(range(9, 18))),
    ("#year > :1", list(range(18, 27))),
    ("#year BETWEEN :0 AND :1", list(range(18))),
    ("#year = :1 AND #month = :2", [15, 16, 17]),
    ("#year = :1 AND #month < :1", [9, 10, 11]),
    ("#month <= :1 AND #year = :1", [9, 10, 11, 12, 13, 14]),
    ("#year = :1 AND #month = :2 AND #day = :0", [15]),
    ("#year = :1 AND #month = :2 AND #day >= :1", [16, 17]),
    ("#day BETWEEN :0 AND :1 AND #month = :2 AND #year = :1", [15, 16]),
]


def multi_query(table: Table, condition: str, **parameters: Any) -> Any:
    values = {":t": "t", ":r": "r", ":0": 0, ":1": 1, ":2": 2}
    names = {name: target for name, target in NAMES.items() if name in condition}
    return table.query(
        condition,
        values={name: value for name, value in values.items() if name in condition},
        IndexName="byTime",
        **drop_none({"ExpressionAttributeNames": names or None}),
        **parameters,
    )


@pytest.mark.parametrize("forward", [True, False])
@cases("condition, numbers", RANGES)
def test_keys_of_several_attributes_select_from_the_left(
    multi: Table, condition: str, numbers: list[int], forward: bool
) -> None:
    full = f"{HASH} AND {condition}" if condition else HASH
    response = multi_query(multi, full, ScanIndexForward=forward)
    expected = numbers if forward else numbers[::-1]
    assert [found["number"] for found in plains(response)] == expected


def test_pages_of_keys_of_several_attributes(multi: Table) -> None:
    page = multi_query(multi, HASH, Limit=5)
    key = plain(page["LastEvaluatedKey"])
    assert set(key) == {"pk", "tenant", "region", "year", "month", "day"}
    page = multi_query(multi, HASH, Limit=5, ExclusiveStartKey=page["LastEvaluatedKey"])
    assert [found["number"] for found in plains(page)] == [5, 6, 7, 8, 9]


NO_EQUALITY = (
    "ValidationException: HASH key attributes {} must have equality conditions specified in the"
    " query"
)

# (key condition, the refusal)
UNSUPPORTED: list[tuple[str, str]] = [
    ("tenant = :t", NO_EQUALITY.format("region")),
    ("#region = :r", NO_EQUALITY.format("tenant")),
    ("#year = :1", NO_EQUALITY.format("tenant, region")),
    (f"{HASH} AND #month = :1", "ValidationException: …year…"),
    (f"{HASH} AND #year = :1 AND #day = :1", "ValidationException: …month…"),
    (
        f"{HASH} AND #year > :1 AND #month = :1",
        "ValidationException: RANGE key attributes year must have equality conditions specified in"
        " the query because a condition is present on key attribute month",
    ),
    ("tenant > :t AND #region = :r", NO_EQUALITY.format("tenant")),
]


@cases("condition, refusal", UNSUPPORTED)
def test_keys_of_several_attributes_are_refused(multi: Table, condition: str, refusal: str) -> None:
    refused(refusal, multi_query, multi, condition)
