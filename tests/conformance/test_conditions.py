"""Conditions and filters: which items satisfy them."""

from typing import Any

import pytest

from .support import NewTable, Table, cases, item, wire

ITEM: dict[str, Any] = {
    "pk": "a",
    "n": 5,
    "s": "hello",
    "b": b"\x01\x02\x03",
    "yes": True,
    "null_": None,
    "l": [1, "two", {"deep": "x"}],
    "m": {"k": "v", "nested": {"n": 7}, "é": 1},
    "ss": {"red", "green"},
    "ns": {1, 2},
    "bs": {b"\x01", b"\x02"},
    "text_type": "S",
    "hollow": "",
    "a.b": 3,
}

# What the placeholders of the expressions below stand for.
VALUES: dict[str, Any] = {
    ":0": 0, ":1": 1, ":2": 2, ":4": 4, ":5": 5, ":6": 6, ":7": 7, ":s5": "5",
    ":hello": "hello", ":help": "help", ":hel": "hel", ":ell": "ell", ":z": "z", ":Z": "Z",
    ":two": "two", ":v": "v", ":x": "x", ":red": "red", ":blue": "blue", ":e": "",
    ":b12": b"\x01\x02", ":b23": b"\x02\x03", ":b": b"\x01\x02\x03", ":b1": b"\x01",
    ":t": True, ":f": False, ":none": None, ":l": [1, "two", {"deep": "x"}], ":map": {"deep": "x"},
    ":ss": {"green", "red"}, ":S": "S", ":N": "N", ":B": "B", ":BOOL": "BOOL", ":NULL": "NULL",
    ":L": "L", ":M": "M", ":SS": "SS", ":NS": "NS", ":BS": "BS",
}  # fmt: skip
NAMES = {"#n": "n", "#m": "m", "#k": "k", "#dot": "a.b", "#none": "none"}

HOLDS = """
n = :5
:5 = n
n <> :6
n < :6
n <= :5
n > :4
n >= :5
s = :hello
s > :hel
s < :help
s < :z
s > :Z
b = :b
b > :b12
b < :b23
yes = :t
yes <> :f
null_ = :none
l = :l
ss = :ss
hollow = :e
n <> :s5
absent <> :5
absent <> absent2
s <> n
n BETWEEN :5 AND :5
n BETWEEN :4 AND :6
n between :4 and :6
:5 BETWEEN :4 AND n
s BETWEEN :hel AND :help
n IN (:5)
n IN (:4, :5, :6)
n in (:4, :5)
attribute_exists(n)
attribute_exists(null_)
attribute_exists(m.k)
attribute_exists(l[2].deep)
attribute_not_exists(absent)
attribute_not_exists(m.absent)
attribute_not_exists(l[3])
attribute_not_exists(n.k)
attribute_not_exists(m[0])
attribute_type(s, :S)
attribute_type(n, :N)
attribute_type(b, :B)
attribute_type(yes, :BOOL)
attribute_type(null_, :NULL)
attribute_type(l, :L)
attribute_type(m, :M)
attribute_type(ss, :SS)
attribute_type(ns, :NS)
attribute_type(bs, :BS)
begins_with(s, :hel)
begins_with(s, :e)
begins_with(b, :b12)
contains(s, :ell)
contains(s, :e)
contains(b, :b23)
contains(ss, :red)
contains(ns, :1)
contains(bs, :b1)
contains(l, :two)
contains(l, :map)
contains(m.k, :v)
size(s) = :5
size(b) > :2
size(l) > :2
size(m) > :2
size(ss) = :2
size(ns) = :2
size(bs) = :2
size(hollow) = :0
size(m.k) = :1
size(s) = n
:2 < size(l)
size(l) BETWEEN :2 AND :5
size(ss) IN (:1, :2)
NOT n = :6
NOT (n = :6)
NOT NOT n = :5
not absent = :5
n = :5 AND s = :hello
n = :6 OR s = :hello
n = :5 OR n = :6 AND s = :z
NOT n = :6 AND s = :hello
(n = :5 OR n = :6) AND s = :hello
n = :6 OR NOT s = :z
n BETWEEN :4 AND :6 AND s = :hello
#n = :5
#m.#k = :v
m.#k = :v
#dot > :2
m.nested.n = :7
l[0] = :1
l[1] = :two
l[2].deep = :x
"""

FAILS = """
n = :6
n <> :5
n < :5
n > :5
n = :s5
n < :s5
s > n
absent = :5
absent = absent2
absent < :5
absent BETWEEN :4 AND :6
absent IN (:5)
ss <> :ss
n BETWEEN :6 AND :7
n BETWEEN :4 AND :4
s BETWEEN :4 AND :6
n IN (:4, :6)
n IN (:s5)
attribute_exists(absent)
attribute_exists(m.absent)
attribute_exists(l[3])
attribute_exists(s[0])
attribute_not_exists(n)
attribute_not_exists(null_)
attribute_type(s, :N)
attribute_type(absent, :S)
begins_with(s, :ell)
begins_with(b, :b23)
begins_with(absent, :hel)
begins_with(n, :s5)
begins_with(ss, :red)
contains(s, :z)
contains(ss, :blue)
contains(ns, :5)
contains(ns, :s5)
contains(l, :s5)
contains(l, :5)
contains(n, :5)
contains(m, :v)
contains(absent, :v)
contains(s, :5)
size(n) = :1
size(yes) >= :0
size(absent) = :0
size(s) = :4
NOT n = :5
n = :5 AND s = :z
n = :6 OR s = :z
(n = :5 OR n = :6) AND s = :z
NOT (n = :5 OR n = :6)
m.nested = :7
l[1] = :1
#none = :5
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def used(expression: str) -> dict[str, Any]:
    """Placeholder maps with only the names in the expression, since unused ones are refused."""
    words = set("".join(c if c.isalnum() or c in "#:_" else " " for c in expression).split())
    values = {name: wire(value) for name, value in VALUES.items() if name in words}
    names = {name: target for name, target in NAMES.items() if name in words}
    maps = {"ExpressionAttributeValues": values, "ExpressionAttributeNames": names}
    return {parameter: entries for parameter, entries in maps.items() if entries}


@pytest.fixture(scope="module")
def stored(new_shared_table: NewTable) -> Table:
    table = new_shared_table("pk")
    table.put(ITEM)
    return table


@pytest.mark.parametrize(
    ("expression", "holds"),
    [(line, True) for line in lines(HOLDS)] + [(line, False) for line in lines(FAILS)],
)
def test_a_filter_selects(stored: Table, expression: str, holds: bool) -> None:
    page = stored.call("Scan", FilterExpression=expression, **used(expression))
    assert (page["Count"], page["ScannedCount"]) == (int(holds), 1)


@pytest.mark.parametrize("expression", lines(HOLDS))
def test_a_condition_on_the_same_item_holds(stored: Table, expression: str) -> None:
    check = {"TableName": stored.name, "Key": item(pk="a"), "ConditionExpression": expression}
    stored.client.transact_write_items(
        TransactItems=[{"ConditionCheck": {**check, **used(expression)}}]
    )


@cases(
    "name, text",
    [
        ("no blanks", "n=:5 AND(s=:hello)"),
        ("many blanks", "  n \t=\n  :5   "),
        ("lower-case words", "n = :5 and not s = :z or n in (:6)"),
        ("dashes in placeholders", "n = :5 AND attribute_exists(#n)"),
    ],
)
def test_spellings_of_an_expression(stored: Table, name: str, text: str) -> None:
    assert stored.call("Scan", FilterExpression=text, **used(text))["Count"] == 1
