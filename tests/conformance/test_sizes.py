"""Sizes of each kind of value, seen through the capacity that they cost, and the limits."""

from typing import Any

import pytest

from .support import NewTable, Table, cases, item, lsi, refused, wire

KB = 1024
ITEM_BYTES_MAX = 400 * KB
TOO_LARGE = "ValidationException: Item size has exceeded the maximum allowed size"
TOO_LARGE_UPDATE = "ValidationException: Item size to update has exceeded the maximum allowed size"

# (name, value, its bytes)
SIZES: list[tuple[str, dict[str, Any], int]] = [
    ("S", {"S": "abc"}, 3),
    ("S, empty", {"S": ""}, 0),
    ("S by its UTF-8 bytes", {"S": "é\u2603\U0001d11e"}, 2 + 3 + 4),
    ("B by its decoded bytes", {"B": bytes(10)}, 10),
    ("BOOL", {"BOOL": True}, 1),
    ("NULL", {"NULL": True}, 1),
    ("L, empty", {"L": []}, 3),
    ("L", {"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + (1 + 2) + (1 + 1)),
    ("L in L", {"L": [{"L": [{"S": "ab"}]}]}, 3 + 1 + 3 + 1 + 2),
    ("M, empty", {"M": {}}, 3),
    ("M", {"M": {"key": {"S": "ab"}}}, 3 + 1 + 3 + 2),
    ("M in M", {"M": {"k": {"M": {"é": {"S": "x"}}}}}, 3 + (1 + 1 + 3) + (1 + 2 + 1)),
    ("SS", {"SS": ["a", "bcd"]}, 4),
    ("NS", {"NS": ["1", "123456"]}, 2 + 4),
    ("BS", {"BS": [b"12", b"345"]}, 5),
    *(
        (f"N {text}", {"N": text}, size)
        for text, size in [
            ("1", 2),
            ("12", 2),
            ("123", 3),
            ("123456", 4),
            ("-42", 3),
            ("-1", 3),
            ("3.14159", 5),
            ("1E125", 2),
            ("1000", 2),
            ("0.5", 2),
            ("-0.5", 3),
            ("12.34", 3),
            ("9" * 38, 20),
            ("-" + "9" * 37 + "8", 21),
        ]
    ),
]


@cases("name, value, size", SIZES)
def test_sizes_of_values(table: Table, name: str, value: dict[str, Any], size: int) -> None:
    """An item of exactly 1 KB costs one write unit, and one byte more costs another."""
    others = len("pk") + len("a") + len("v") + len("filler")
    for extra, units in ((0, 1.0), (1, 2.0)):
        filler = "x" * (KB - others - size + extra)
        values = {**item(pk="ab"[extra], filler=filler), "v": value}
        response = table.call("PutItem", Item=values, ReturnConsumedCapacity="TOTAL")
        assert response["ConsumedCapacity"]["CapacityUnits"] == units


def sized(size: int, **more: str) -> dict[str, str]:
    """An item of that many bytes."""
    rest = sum(len(name) + len(text) for name, text in more.items())
    return {"pk": "a", **more, "filler": "x" * (size - rest - len("pkafiller"))}


def test_the_largest_item(table: Table) -> None:
    table.put(sized(ITEM_BYTES_MAX))
    assert table.get(pk="a") == sized(ITEM_BYTES_MAX)


def test_put_item_refuses_a_larger_item(table: Table) -> None:
    table.refused(TOO_LARGE, "PutItem", Item=item(sized(ITEM_BYTES_MAX + 1)))
    assert table.get(pk="a") is None


def test_batch_write_item_refuses_a_larger_item(table: Table) -> None:
    requests = [
        {"PutRequest": {"Item": item(pk="b")}},
        {"PutRequest": {"Item": item(sized(ITEM_BYTES_MAX + 1))}},
    ]
    refused(TOO_LARGE, table.client.batch_write_item, RequestItems={table.name: requests})
    assert table.all() == []


def test_update_item_refuses_to_grow_an_item_beyond_the_limit(table: Table) -> None:
    table.put(sized(ITEM_BYTES_MAX - 10))
    table.refused(
        TOO_LARGE_UPDATE,
        "UpdateItem",
        Key=item(pk="a"),
        UpdateExpression="SET more = :m",
        ExpressionAttributeValues=item({":m": "x" * 100}),
    )
    assert table.get(pk="a") == sized(ITEM_BYTES_MAX - 10)


# What a clause beside `SET b = :pad` adds to what the expression itself is charged for.
# (clause, attributes before, values, bytes)
CHARGES: list[tuple[str, dict[str, Any], dict[str, Any], int]] = [
    (", c = :v", {}, {":v": "12345"}, 19 + 1 + 5),
    (", #c = :v", {}, {":v": 5}, 19 + 9 + 2),
    (", c = :v, d = :v", {}, {":v": ["x"]}, 2 * (19 + 1 + 3 + 1 + 1)),
    (", c = abc", {"abc": "x" * 5}, {}, 19 + 1 + 15 + 3),
    (", c = l[10].z", {"l": [0] * 10 + [{"z": 1}]}, {}, 19 + 1 + 1 + 15 + 16 + 15),
    (", n = n + :v", {"n": 10**30}, {":v": 1}, 19 + 1 + 34 + 16 + 2),
    (", n = n - :v", {"n": 1}, {":v": 1}, 19 + 1 + 37 + 16 + 2),
    (", l = list_append(l, :v)", {"l": [0]}, {":v": ["x"]}, 19 + 1 + 37 + 16 + 5),
    (", c = if_not_exists(c, :v)", {"c": 1}, {":v": "abc"}, 19 + 1 + 39 + 16 + 3),
    (" ADD s :v", {"s": {"x"}}, {":v": {"abc", "de"}}, 19 + 1 + 5),
    (" REMOVE abc, m.yy", {"abc": 1, "m": {"yy": 1}}, {}, 1 + 3 + 1 + 1 + 4 + 2),
    (" REMOVE l[10]", {"l": [0] * 11}, {}, 1 + 1 + 4 + 2),
    (" DELETE s :v", {"s": {"abc", "x"}}, {":v": {"abc"}}, 1 + 1),
]


@cases("clause, before, values, charge", CHARGES)
def test_an_update_expression_counts_towards_the_item_size(
    table: Table, clause: str, before: dict[str, Any], values: dict[str, Any], charge: int
) -> None:
    largest = ITEM_BYTES_MAX - (3 + 19 + 1) - charge
    table.put({"pk": "a", **before})
    request = {
        "Key": item(pk="a"),
        "UpdateExpression": f"SET b = :pad{clause}",
        **({"ExpressionAttributeNames": {"#c": "c23456789"}} if "#c" in clause else {}),
    }
    too_much = item({":pad": "x" * (largest + 1), **values})
    table.refused(TOO_LARGE_UPDATE, "UpdateItem", **request, ExpressionAttributeValues=too_much)
    fitting = item({":pad": "x" * largest, **values})
    table.call("UpdateItem", **request, ExpressionAttributeValues=fitting)
    stored = table.get(pk="a")
    assert stored
    assert len(stored["b"]) == largest


def test_an_expression_is_charged_before_its_condition_is_tried(table: Table) -> None:
    table.put({"pk": "a", "c": 1})
    table.refused(
        TOO_LARGE_UPDATE,
        "UpdateItem",
        Key=item(pk="a"),
        UpdateExpression="SET c = if_not_exists(c, :v)",
        ConditionExpression="attribute_exists(nope)",
        ExpressionAttributeValues=item({":v": "x" * ITEM_BYTES_MAX}),
    )


def test_attribute_updates_and_transactions_know_no_charge(table: Table) -> None:
    filler = wire("x" * (ITEM_BYTES_MAX - len("pk") - len("a") - len("b")))
    table.call("UpdateItem", Key=item(pk="a"), AttributeUpdates={"b": {"Value": filler}})
    update = {
        "TableName": table.name,
        "Key": item(pk="b"),
        "UpdateExpression": "SET b = :v",
        "ExpressionAttributeValues": {":v": filler},
    }
    table.client.transact_write_items(TransactItems=[{"Update": update}])
    assert len(table.all()) == 2


def test_update_item_may_shrink_the_largest_item(table: Table) -> None:
    table.put(sized(ITEM_BYTES_MAX))
    table.call("UpdateItem", Key=item(pk="a"), UpdateExpression="REMOVE filler")
    assert table.get(pk="a") == {"pk": "a"}


def test_a_transaction_refuses_an_oversized_put_as_a_whole(table: Table) -> None:
    put = {"Put": {"TableName": table.name, "Item": item(sized(ITEM_BYTES_MAX + 1))}}
    refused(TOO_LARGE, table.client.transact_write_items, TransactItems=[put])


def test_a_transaction_is_cancelled_by_an_oversized_update(table: Table) -> None:
    table.put(sized(ITEM_BYTES_MAX - 10))
    update = {
        "TableName": table.name,
        "Key": item(pk="a"),
        "UpdateExpression": "SET more = :m",
        "ExpressionAttributeValues": item({":m": "x" * 100}),
    }
    error = refused(
        "TransactionCanceledException: …[ValidationError]",
        table.client.transact_write_items,
        TransactItems=[{"Update": update}],
    )
    [reason] = error["CancellationReasons"]
    assert reason["Code"] == "ValidationError"
    assert TOO_LARGE_UPDATE.endswith(reason["Message"])


def test_an_item_and_its_local_index_entries_share_the_limit(new_table: NewTable) -> None:
    table = new_table("pk/sk", lsi("byTime", "pk/time"))
    half = ITEM_BYTES_MAX // 2
    table.put(sized(half - 100, sk="s", time="t"))
    refused_put = item(sized(half + 100, sk="s", time="t"))
    table.refused("ValidationException: …", "PutItem", Item=refused_put)
    table.put(sized(half + 100, sk="not indexed"))


PARTITION_TOO_LONG = (
    "ValidationException: One or more parameter values were invalid:"
    " Size of hashkey has exceeded the maximum size limit of2048 bytes"
)
SORT_TOO_LONG = (
    "ValidationException: One or more parameter values were invalid:"
    " Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
)
# (name, key schema, a key of the greatest length, the same one byte longer, the refusal)
KEY_LENGTHS: list[tuple[str, str, Any, Any, str]] = [
    ("partition key S", "pk", {"pk": "x" * 2048}, {"pk": "x" * 2049}, PARTITION_TOO_LONG),
    ("partition key in UTF-8", "pk", {"pk": "é" * 1024}, {"pk": "é" * 1025}, PARTITION_TOO_LONG),
    ("partition key B", "pk:B", {"pk": bytes(2048)}, {"pk": bytes(2049)}, PARTITION_TOO_LONG),
    (
        "sort key S",
        "pk/sk",
        {"pk": "a", "sk": "x" * 1024},
        {"pk": "a", "sk": "x" * 1025},
        SORT_TOO_LONG,
    ),
    (
        "sort key B",
        "pk/sk:B",
        {"pk": "a", "sk": bytes(1024)},
        {"pk": "a", "sk": bytes(1025)},
        SORT_TOO_LONG,
    ),
]


@cases("name, keys, longest, longer, refusal", KEY_LENGTHS)
def test_the_longest_keys(
    new_table: NewTable, name: str, keys: str, longest: Any, longer: Any, refusal: str
) -> None:
    table = new_table(keys)
    table.put(longest)
    assert table.get(**longest) == longest
    table.refused(refusal, "PutItem", Item=item(longer))
    for operation in ("GetItem", "DeleteItem", "UpdateItem"):
        table.refused(refusal, operation, Key=item(longer))


@pytest.mark.parametrize(("length", "fits"), [(1024, True), (1025, False)])
def test_the_longest_index_keys(new_table: NewTable, length: int, fits: bool) -> None:
    table = new_table("pk/sk", lsi("byTime", "pk/time"))
    values = item(pk="a", sk="s", time="x" * length)
    if fits:
        table.call("PutItem", Item=values)
    else:
        table.refused("ValidationException: …1024 bytes…", "PutItem", Item=values)
