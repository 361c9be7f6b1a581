"""The ranges of keys that a WHERE clause names: which they are, what they cost, and their pages."""

from typing import Any

import pytest

from .partiql import named, rejected, run
from .support import NewTable, Table, call, cases, plain

# What each of these costs, seen on AWS in a table whose partition a has these sort keys, and items
# of these sizes in units of 4 KB. A scan costs 7 for each of a and b, and 1 for each of two empty
# partitions.
SIZES = {-2: 1000, 2: 4200, 10: 8100, 20: 12500}
QUERIES: list[tuple[str, str, float]] = [
    ("pk = 'a' AND sk = 2 AND sk = 2.0", "2", 2),
    ("pk = 'a' AND sk IN [2] AND sk = 2", "2", 2),
    ("pk = 'a' AND sk > 2 AND sk > 2.0", "10 20", 6),
    ("pk = 'a' AND pk = 'a'", "-2 2 10 20", 7),
    ("pk IN ['a'] AND pk = 'a'", "-2 2 10 20", 7),
    ("pk = 'a' AND (sk < 3 OR sk >= 10)", "-2 2 10 20", 8),
    ("pk = 'a' AND sk IN [20, -2]", "-2 20", 5),
    ("pk = 'a' AND (sk = 20 OR sk = -2)", "-2 20", 5),
    ("pk = 'a' AND sk IN [20, 7, 2, -2, 10]", "-2 2 10 20", 10),
    ("pk = 'missing' AND sk IN [20, -2, 7]", "", 3),
]
SCANS = [
    ("pk = 'a' AND sk > -2 AND sk < 20", "2 10"),
    ("pk = 'a' AND sk > 2 AND sk > 10", "20"),
    ("pk = 'a' AND sk BETWEEN -2 AND 20 AND sk < 10", "-2 2"),
    ("pk = 'a' AND sk > 20 AND sk < 2", ""),
    ("pk = 'a' AND sk = 2 AND sk = 10", ""),
    ("pk = 'a' AND sk = 2 AND sk >= 2", "2"),
    ("pk = 'a' AND sk IN [-2, 2, 10, 20] AND sk > 2", "10 20"),
    ("pk = 'a' AND sk IN [2, 10] AND sk IN [2, 10]", "2 10"),
    ("pk = 'a' AND sk IN [2, 10] AND sk IN [10, 20]", "10"),
    ("pk = 'a' AND pk = 'b'", ""),
    ("pk IN ['a', 'b'] AND pk = 'a'", "-2 2 10 20"),
    ("pk = 'a' AND NOT sk = 2", "-2 10 20"),
    ("pk = 'a' AND sk <> 2", "-2 10 20"),
]


@pytest.fixture(scope="module")
def sized(new_shared_table: NewTable) -> Table:
    table = new_shared_table("pk/sk:N")
    for pk in "ab":
        for sk, size in SIZES.items():
            table.put({"pk": pk, "sk": sk, "payload": "x" * size, "flag": "no"})
    return table


def sort_keys(page: dict[str, Any]) -> list[int]:
    return [int(each["sk"]["N"]) for each in page["Items"]]


def charged(table: Table, where: str, **parameters: Any) -> dict[str, Any]:
    text = f"SELECT pk, sk FROM T WHERE {where}"
    strong = {"ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL", **parameters}
    return run(table, text, **strong)


@cases("where, expected, units", QUERIES)
@pytest.mark.parametrize("order", ["", " ORDER BY pk, sk"])
def test_each_range_that_is_named_is_charged(
    sized: Table, where: str, expected: str, units: float, order: str
) -> None:
    found = charged(sized, where + order)
    assert sort_keys(found) == [int(each) for each in expected.split()]
    assert found["ConsumedCapacity"]["CapacityUnits"] == units


@cases("where, expected", SCANS)
def test_conditions_of_the_key_that_fit_no_query_are_a_scan(
    sized: Table, where: str, expected: str
) -> None:
    found = charged(sized, where)
    assert sort_keys(found) == [int(each) for each in expected.split()]
    assert found["ConsumedCapacity"]["CapacityUnits"] == 16
    needed = "ValidationException: Must have at least one non-optional hash key condition …"
    rejected(sized, needed, f"SELECT pk, sk FROM T WHERE {where} ORDER BY pk, sk")


def test_the_order_of_several_partitions_has_their_key(sized: Table) -> None:
    rejected(
        sized,
        "ValidationException: Must have hash key in ORDER BY clause when more than one hash key "
        "condition specified in WHERE clause.",
        "SELECT pk, sk FROM T WHERE pk IN ['b', 'a'] AND sk IN [20, -2] ORDER BY sk",
    )


# (where, limit, the units and the sort keys of each page)
PAGES = [
    ("sk IN [20, 7, 2, -2, 10]", 1, [(1, [-2]), (2, [2]), (3, [10]), (4, [20])]),
    ("sk IN [20, 7, 2, -2, 10]", 2, [(3, [-2, 2]), (7, [10, 20])]),
    ("sk IN [20, 7, 2, -2, 10] AND flag = 'yes'", 2, [(3, []), (7, [])]),
    ("sk IN [7, 8]", 1, [(2, [])]),
    ("(sk = 20 OR sk = -2)", 1, [(1, [-2]), (4, [20])]),
    ("sk = 2", 1, [(2, [2])]),
]


@cases("where, limit, expected", PAGES)
def test_pages_of_named_items(
    sized: Table, where: str, limit: int, expected: list[tuple[float, list[int]]]
) -> None:
    """Without a filter, each page shows the last key, even if no page follows."""
    token: dict[str, Any] = {}
    for number, (units, keys) in enumerate(expected, 1):
        page = charged(sized, f"pk = 'a' AND {where} ORDER BY sk", Limit=limit, **token)
        assert sort_keys(page) == keys
        assert page["ConsumedCapacity"]["CapacityUnits"] == units
        if keys:
            assert plain(page["LastEvaluatedKey"]) == {"pk": "a", "sk": keys[-1]}
        else:
            assert "LastEvaluatedKey" not in page
        assert ("NextToken" in page) == (number < len(expected))
        token = {"NextToken": page.get("NextToken")}


def test_the_key_of_a_named_item_is_shown_as_the_parameter_spells_it(sized: Table) -> None:
    text = "SELECT sk FROM T WHERE pk = 'a' AND sk IN [?, ?]"
    parameters = [{"N": "10.00"}, {"N": "2.0"}]
    request = {"Statement": named(text, sized), "Parameters": parameters, "Limit": 1}
    first = call(sized.client, "ExecuteStatement", **request)
    assert first["Items"] == [{"sk": {"N": "2"}}]
    assert first["LastEvaluatedKey"] == {"pk": {"S": "a"}, "sk": {"N": "2.0"}}
    second = call(sized.client, "ExecuteStatement", **request, NextToken=first["NextToken"])
    assert second["Items"] == [{"sk": {"N": "10"}}]
    assert second["LastEvaluatedKey"] == {"pk": {"S": "a"}, "sk": {"N": "10.00"}}


def test_the_partition_key_alone_orders_each_partition_backwards(sized: Table) -> None:
    token: dict[str, Any] = {}
    items: list[dict[str, Any]] = []
    while not items or token["NextToken"]:
        page = charged(sized, "pk IN ['b', 'a'] ORDER BY pk", Limit=3, **token)
        items += page["Items"]
        token = {"NextToken": page.get("NextToken")}
    assert [plain(each) for each in items] == [
        {"pk": pk, "sk": sk} for pk in "ab" for sk in (20, 10, 2, -2)
    ]


# ---- a single item ----


@cases(
    "where",
    [
        ("pk IN ['a'] AND sk = 2",),
        ("pk = 'a' AND sk IN [2]",),
        ("pk IN ['a'] AND sk IN [2]",),
        ("2 = sk AND 'a' = pk",),
    ],
)
def test_a_list_of_one_value_names_an_item(sized: Table, where: str) -> None:
    member = {"Statement": named(f"SELECT sk FROM T WHERE {where}", sized)}
    read = call(sized.client, "BatchExecuteStatement", Statements=[member])
    assert plain(read["Responses"][0]["Item"]) == {"sk": 2}
    read = call(sized.client, "ExecuteTransaction", TransactStatements=[member])
    assert plain(read["Responses"][0]["Item"]) == {"sk": 2}


@cases(
    "where, told",
    [
        ("(pk = 'a' OR pk = 'a') AND sk = 2", "Overlapping conditions with range keys"),
        ("pk = 'a' AND sk = 2 OR pk = 'a' AND sk = 2", "Overlapping conditions with range keys"),
        ("pk = 'a' AND sk = 2 AND flag = 'no'", "Select statements within"),
        ("pk = 'a' AND sk IN [2, 10]", "Select statements within"),
    ],
)
def test_a_batch_reads_single_items(sized: Table, where: str, told: str) -> None:
    member = {"Statement": named(f"SELECT sk FROM T WHERE {where}", sized)}
    [found] = call(sized.client, "BatchExecuteStatement", Statements=[member])["Responses"]
    assert found["Error"]["Code"] == "ValidationError"
    assert found["Error"]["Message"].startswith(told)
    assert "TableName" not in found
