"""Capacity of writes: the larger of the two images, and index entries that change."""

from typing import Any

import pytest

from .capacity import KB, Arms, arms, filled
from .support import NewTable, Table, call, cases, drop_none, gsi, item, lsi, unique_name

# ---- the table ----

# (name, bytes before or None, bytes after or None, units)
TABLE_WRITES: list[tuple[str, int | None, int | None, float]] = [
    ("put of 1 KB", None, KB, 1),
    ("put of a byte more", None, KB + 1, 2),
    ("put of 10 KB", None, 10 * KB, 10),
    ("put of the smallest", None, 20, 1),
    ("replacing by larger", KB, 3 * KB, 3),
    ("replacing by smaller", 3 * KB, KB, 3),
    ("delete", 2 * KB + 1, None, 3),
    ("delete of the smallest", 20, None, 1),
    ("delete of nothing", None, None, 1),
]


@cases("name, before, after, units", TABLE_WRITES)
def test_capacity_of_a_write(
    table: Table, name: str, before: int | None, after: int | None, units: float
) -> None:
    if before:
        table.put(filled(before, pk="a"))
    operation = "PutItem" if after else "DeleteItem"
    subject = {"Item": item(filled(after, pk="a"))} if after else {"Key": item(pk="a")}
    response = table.call(operation, ReturnConsumedCapacity="TOTAL", **subject)
    assert response["ConsumedCapacity"] == {"TableName": table.name, "CapacityUnits": units}


# (name, bytes before or None, the update, units)
UPDATES: list[tuple[str, int | None, str, float]] = [
    ("one small attribute of a large item", 3 * KB, "SET n = :n", 4),
    ("a new item", None, "SET n = :n", 1),
    ("one that shrinks", 3 * KB, "REMOVE filler", 3),
    ("one that changes nothing", 3 * KB, "REMOVE absent", 3),
]


@cases("name, before, update, units", UPDATES)
def test_capacity_of_an_update(
    table: Table, name: str, before: int | None, update: str, units: float
) -> None:
    if before:
        table.put(filled(before, pk="a"))
    values = item({":n": 1}) if ":n" in update else None
    response = table.call(
        "UpdateItem",
        Key=item(pk="a"),
        UpdateExpression=update,
        ReturnConsumedCapacity="TOTAL",
        **drop_none({"ExpressionAttributeValues": values}),
    )
    assert response["ConsumedCapacity"]["CapacityUnits"] == units


@pytest.mark.parametrize("wanted", [None, "NONE"])
def test_capacity_is_shown_only_when_asked_for(table: Table, wanted: str | None) -> None:
    response = table.call(
        "PutItem", Item=item(pk="a"), **drop_none({"ReturnConsumedCapacity": wanted})
    )
    assert "ConsumedCapacity" not in response


# ---- indexes ----

BASE = {"pk": "a", "sk": "s"}
IN_BOTH = {**BASE, "owner": "o", "date": "d", "title": "t", "note": "n"}
LONG = "x" * (2 * KB)

# On a table with byOwner, INCLUDE of title, and the local byDate, KEYS_ONLY.
# (name, before, after: None where there is no item, units per arm)
INDEX_WRITES: list[tuple[str, Any, Any, Arms]] = [
    ("never indexed", None, BASE, {"table": 1}),
    ("an unindexed item changes", BASE, {**BASE, "note": "x"}, {"table": 1}),
    ("it enters both", None, IN_BOTH, {"table": 1, "byOwner": 1, "byDate": 1}),
    ("it enters the global one", BASE, {**BASE, "owner": "o"}, {"table": 1, "byOwner": 1}),
    ("it enters the local one", BASE, {**BASE, "date": "d"}, {"table": 1, "byDate": 1}),
    ("it leaves both", IN_BOTH, None, {"table": 1, "byOwner": 1, "byDate": 1}),
    ("it leaves the global one", {**BASE, "owner": "o"}, BASE, {"table": 1, "byOwner": 1}),
    ("it leaves the local one", {**BASE, "date": "d"}, BASE, {"table": 1, "byDate": 1}),
    ("identical", IN_BOTH, IN_BOTH, {"table": 1}),
    ("unprojected", IN_BOTH, {**IN_BOTH, "note": "x"}, {"table": 1}),
    ("projected by one", IN_BOTH, {**IN_BOTH, "title": "x"}, {"table": 1, "byOwner": 1}),
    (
        "a projected one comes",
        {**BASE, "owner": "o"},
        {**BASE, "owner": "o", "title": "t"},
        {"table": 1, "byOwner": 1},
    ),
    ("the global key changes", IN_BOTH, {**IN_BOTH, "owner": "x"}, {"table": 1, "byOwner": 2}),
    ("the local key changes", IN_BOTH, {**IN_BOTH, "date": "x"}, {"table": 1, "byDate": 2}),
    (
        "both keys change",
        IN_BOTH,
        {**IN_BOTH, "owner": "x", "date": "x"},
        {"table": 1, "byOwner": 2, "byDate": 2},
    ),
    (
        "entries are rounded by themselves",
        None,
        {**IN_BOTH, "title": LONG},
        {"table": 3, "byOwner": 3, "byDate": 1},
    ),
    (
        "what is not projected does not weigh",
        None,
        {**IN_BOTH, "note": LONG},
        {"table": 3, "byOwner": 1, "byDate": 1},
    ),
    (
        "the larger of two entries, growing",
        IN_BOTH,
        {**IN_BOTH, "title": LONG},
        {"table": 3, "byOwner": 3},
    ),
    (
        "the larger of two entries, shrinking",
        {**IN_BOTH, "title": LONG},
        IN_BOTH,
        {"table": 3, "byOwner": 3},
    ),
    (
        "delete and put are rounded apart",
        {**IN_BOTH, "title": LONG},
        {**IN_BOTH, "owner": "x"},
        {"table": 3, "byOwner": 3 + 1},
    ),
    (
        "delete of a large entry",
        {**IN_BOTH, "title": LONG},
        None,
        {"table": 3, "byOwner": 3, "byDate": 1},
    ),
]


def indexed(new_table: NewTable) -> Table:
    return new_table(
        "pk/sk", gsi("byOwner", "owner", ["title"]), lsi("byDate", "pk/date", "KEYS_ONLY")
    )


@cases("name, before, after, expected", INDEX_WRITES)
def test_capacity_of_index_entries(
    new_table: NewTable, name: str, before: Any, after: Any, expected: Arms
) -> None:
    table = indexed(new_table)
    if before:
        table.put(before)
    operation = "PutItem" if after else "DeleteItem"
    subject = {"Item": item(after)} if after else {"Key": item(BASE)}
    response = table.call(operation, ReturnConsumedCapacity="INDEXES", **subject)
    assert arms(response["ConsumedCapacity"]) == expected


@cases("name, before, after, expected", INDEX_WRITES)
def test_total_is_the_sum_of_the_arms(
    new_table: NewTable, name: str, before: Any, after: Any, expected: Arms
) -> None:
    table = indexed(new_table)
    if before:
        table.put(before)
    request = (
        {"PutRequest": {"Item": item(after)}} if after else {"DeleteRequest": {"Key": item(BASE)}}
    )
    response = call(
        table.client,
        "BatchWriteItem",
        RequestItems={table.name: [request]},
        ReturnConsumedCapacity="TOTAL",
    )
    units = sum(expected.values())
    assert response["ConsumedCapacity"] == [{"TableName": table.name, "CapacityUnits": units}]


@cases("name, before, after, expected", [case for case in INDEX_WRITES if case[2]])
def test_an_update_costs_as_much_as_a_put(
    new_table: NewTable, name: str, before: Any, after: Any, expected: Arms
) -> None:
    table = indexed(new_table)
    if before:
        table.put(before)
    gone = {attribute: {"Action": "DELETE"} for attribute in set(before or {}) - set(after)}
    new = {attribute: {"Value": value} for attribute, value in item(after).items()}
    response = table.call(
        "UpdateItem",
        Key=item(BASE),
        AttributeUpdates={n: u for n, u in {**new, **gone}.items() if n not in BASE},
        ReturnConsumedCapacity="INDEXES",
    )
    assert arms(response["ConsumedCapacity"]) == expected


def test_an_entry_weighs_its_keys_and_what_it_projects(new_table: NewTable) -> None:
    """Table key, index key and projected attributes: one more byte than 1 KB is another unit."""
    table = indexed(new_table)
    weight = sum(map(len, ("pk", "a", "sk", "s", "owner", "o", "title")))
    for extra, units in ((0, 1), (1, 2)):
        values = {**BASE, "sk": "st"[extra], "owner": "o", "title": "x" * (KB - weight + extra)}
        response = table.call("PutItem", Item=item(values), ReturnConsumedCapacity="INDEXES")
        assert arms(response["ConsumedCapacity"])["byOwner"] == units


# ---- batches and transactions ----


def test_a_batch_rounds_each_item(new_table: NewTable) -> None:
    first, second = new_table("pk"), new_table("pk")
    response = call(
        first.client,
        "BatchWriteItem",
        RequestItems={
            first.name: [
                {"PutRequest": {"Item": item(filled(KB + 1, pk="a"))}},
                {"PutRequest": {"Item": item(filled(KB + 1, pk="b"))}},
            ],
            second.name: [{"DeleteRequest": {"Key": item(pk="a")}}],
        },
        ReturnConsumedCapacity="INDEXES",
    )
    costs = {entry["TableName"]: arms(entry) for entry in response["ConsumedCapacity"]}
    assert costs == {first.name: {"table": 4}, second.name: {"table": 1}}


def transact(table: Table, *actions: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    """TransactWriteItems with this table's name in each action; the one table's capacity."""
    named = [
        {kind: {"TableName": table.name, **details} for kind, details in action.items()}
        for action in actions
    ]
    response = call(
        table.client,
        "TransactWriteItems",
        TransactItems=named,
        **{"ReturnConsumedCapacity": "INDEXES", **parameters},
    )
    [consumed] = response["ConsumedCapacity"]
    return dict(consumed)


KEY = {"Key": item(pk="a")}

# (name, bytes of the item before or None, the action, units)
TRANSACTION_WRITES: list[tuple[str, int | None, dict[str, Any], float]] = [
    ("put", None, {"Put": {"Item": item(filled(KB, pk="a"))}}, 2),
    ("put of a byte more", None, {"Put": {"Item": item(filled(KB + 1, pk="a"))}}, 4),
    ("put over a larger item", 3 * KB, {"Put": {"Item": item(pk="a")}}, 6),
    ("update", KB + 1, {"Update": {**KEY, "UpdateExpression": "REMOVE q"}}, 4),
    ("delete", 2 * KB, {"Delete": KEY}, 4),
    ("delete of nothing", None, {"Delete": KEY}, 2),
    (
        "check",
        2 * KB,
        {"ConditionCheck": {**KEY, "ConditionExpression": "attribute_exists(pk)"}},
        4,
    ),
    (
        "check of nothing",
        None,
        {"ConditionCheck": {**KEY, "ConditionExpression": "attribute_not_exists(pk)"}},
        2,
    ),
]


@cases("name, before, action, units", TRANSACTION_WRITES)
def test_a_transaction_costs_double(
    table: Table, name: str, before: int | None, action: dict[str, Any], units: float
) -> None:
    if before:
        table.put(filled(before, pk="a"))
    consumed = transact(table, action)
    assert consumed["CapacityUnits"] == consumed["WriteCapacityUnits"] == units
    assert arms(consumed) == {"table": units}


def test_a_transaction_shows_the_sum_per_table(table: Table) -> None:
    put = [{"Put": {"Item": item(filled(KB + 1, pk=name))}} for name in "abc"]
    assert transact(table, *put, ReturnConsumedCapacity="TOTAL") == {
        "TableName": table.name,
        "CapacityUnits": 12.0,
        "WriteCapacityUnits": 12.0,
    }


def test_index_entries_of_a_transaction_cost_once(new_table: NewTable) -> None:
    table = indexed(new_table)
    consumed = transact(table, {"Put": {"Item": item(IN_BOTH)}})
    assert arms(consumed) == {"table": 2, "byOwner": 1, "byDate": 1}
    consumed = transact(table, {"Put": {"Item": item({**IN_BOTH, "owner": "x"})}})
    assert arms(consumed) == {"table": 2, "byOwner": 2}


def test_a_repeated_token_costs_reads(table: Table) -> None:
    put = {"Put": {"Item": item(filled(5 * KB, pk="a"))}}
    first = transact(table, put, ClientRequestToken="token")
    assert first["WriteCapacityUnits"] == 10
    again = transact(table, put, ClientRequestToken="token")
    assert again["CapacityUnits"] == again["ReadCapacityUnits"] == 4
    assert "WriteCapacityUnits" not in again


def test_a_repeated_token_costs_what_it_read_or_wrote_then(table: Table) -> None:
    """The larger of the images before and after; what is written later does not count."""

    def units(token: str, *actions: Any) -> float:
        consumed = transact(table, *actions, ClientRequestToken=token)
        return float(consumed["CapacityUnits"])

    token = unique_name("t")[:33]
    small = {"Put": {"Item": item({"pk": "a"})}}
    large = {"Put": {"Item": item(filled(9 * KB, pk="b"))}}
    remove = {"Delete": {"Key": item(pk="b")}}
    units(token, small)
    assert units(token, small) == 2
    table.put(filled(5 * KB, pk="a"))
    assert units(token, small) == 2
    units(token + "b", large)
    units(token + "c", remove)
    assert units(token + "c", remove) == 6
    assert units(token + "b", large) == 6
    assert units(token + "b", large) == 6
