"""Strategies for small worlds in which keys often collide, and requests made from them."""

from base64 import b64encode
from typing import Any

from hypothesis import strategies as st
from oracle import Condition, Item, Table, Value, View, Write, plain

Request = dict[str, Any]


def text(content: str) -> Value:
    return {"S": content}


def number(content: str) -> Value:
    return {"N": content}


def binary(content: bytes) -> Value:
    return {"B": b64encode(content).decode()}


# Values that are neighbours in every encoding, where mistakes would show.
TEXTS = [text(content) for content in ("a", "ab", "a\x00", "a\x00b", "b", "é", "\U0001f600")]
NUMBERS = [
    number(content)
    for content in ("-100", "-99.5", "-1e-3", "0", "0.25", "1", "1.0", "+10", "1e2", "3.0e20")
]
BINARIES = [binary(content) for content in (b"\0", b"\0\xff", b"\1", b"a", b"\xff", b"\xff\0")]
LONG = [text("y" * length) for length in (300, 1024, 1025, 2048, 2049)]
"""On either side of the limits of index keys: 2,048 bytes for the first attribute, 1,024 after."""
POOLS = {"S": TEXTS, "N": NUMBERS, "B": BINARIES}

FIRST = "first"
SECOND = "second"
EXTRA = View("extra", ("x",), ("y",))
"""An index that comes and goes. Items may be older, with attributes that cannot be its keys."""


def new_tables() -> list[Table]:
    """Every kind of key and index: local, global, sparse, of several attributes."""
    types = {"p": "S", "s": "N", "a": "S", "b": "N", "c": "B"}
    first = [
        View(None, ("p",), ("s",)),
        View("by-a", ("p",), ("a",), local=True),
        View("by-b", ("p",), ("b",), shown=(), local=True),
        View("all-a", ("a",)),
        View("by-b-c", ("b",), ("c",), shown=("n", "x")),
        View("by-a-c-b-p", ("a", "c"), ("b", "p"), shown=()),
    ]
    second = [
        View(None, ("p",)),
        View("by-a", ("a",), ("p",)),
        View("by-c-b", ("c",), ("b",), shown=("y",)),
    ]
    return [Table(FIRST, types, first), Table(SECOND, {**types, "p": "B"}, second)]


def create_table(table: Table) -> Request:
    request = {
        "TableName": table.name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema(table.view),
        "AttributeDefinitions": definitions(table, table.view, *table.indexes),
    }
    for member, local in (("LocalSecondaryIndexes", True), ("GlobalSecondaryIndexes", False)):
        if indexes := [index(view) for view in table.indexes if view.local == local]:
            request[member] = indexes
    return request


def definitions(table: Table, *views: View) -> list[Request]:
    names = dict.fromkeys(name for view in views for name in view.key)
    return [{"AttributeName": name, "AttributeType": table.types[name]} for name in names]


def index(view: View) -> Request:
    projection: Request = {"ProjectionType": "ALL"}
    if view.shown is not None:
        projection = {"ProjectionType": "KEYS_ONLY"}
        if view.shown:
            projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(view.shown)}
    return {"IndexName": view.name, "KeySchema": _key_schema(view), "Projection": projection}


def _key_schema(view: View) -> list[Request]:
    return [
        {"AttributeName": name, "KeyType": kind}
        for kind, names in (("HASH", view.hash), ("RANGE", view.range))
        for name in names
    ]


# ---- what is drawn ----

ONE_IN_TEN = st.sampled_from([True, *[False] * 9])
ODD = st.sampled_from([number("7"), text(""), {"BOOL": True}])
ANYTHING = st.sampled_from([*TEXTS[:2], *NUMBERS[3:6], *BINARIES[:2], {"BOOL": False}, *LONG])
ATTRIBUTES = {
    "a": st.sampled_from(TEXTS[:4]),
    "b": st.sampled_from(NUMBERS),
    "c": st.sampled_from(BINARIES),
    "n": st.sampled_from(NUMBERS),
    "x": ANYTHING,
    "y": ANYTHING,
}


def keys(table: Table) -> st.SearchStrategy[Item]:
    return st.fixed_dictionaries(
        {name: st.sampled_from(POOLS[table.types[name]][:6]) for name in table.view.key}
    )


@st.composite
def items(draw: st.DrawFn, table: Table, odd: bool = True) -> Item:
    """With `odd`, one in ten has an attribute that cannot be an index key."""
    item = draw(st.fixed_dictionaries({}, optional=ATTRIBUTES))
    if odd and draw(ONE_IN_TEN):
        item[draw(st.sampled_from("abcx"))] = draw(ODD)
    return item | draw(keys(table))


@st.composite
def changes(draw: st.DrawFn) -> dict[str, tuple[str, Value]]:
    names = draw(st.lists(st.sampled_from(list(ATTRIBUTES)), min_size=1, max_size=4, unique=True))
    made = {}
    for name in names:
        actions = ["SET", "REMOVE", "ADD", "COUNT"] if name == "n" else ["SET", "REMOVE"]
        odd = name in "abc" and draw(ONE_IN_TEN)
        value = draw(ODD if odd else ATTRIBUTES[name])
        made[name] = (draw(st.sampled_from(actions)), value)
    return made


def conditions(names: str = "psabcnxy") -> st.SearchStrategy[Condition]:
    operand = st.sampled_from([*TEXTS, *NUMBERS, *BINARIES])
    name = st.sampled_from(names)
    pair = st.sampled_from([TEXTS, NUMBERS, BINARIES]).flatmap(
        lambda pool: st.lists(st.sampled_from(pool), min_size=2, max_size=2).map(
            lambda two: sorted(two, key=plain)
        )
    )
    simple = st.one_of(
        st.tuples(st.sampled_from(["attribute_exists", "attribute_not_exists"]), name),
        st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), name, operand),
        st.builds(lambda n, two: ("BETWEEN", n, *two), name, pair),
        st.builds(lambda n, v: ("IN", n, *v), name, st.lists(operand, min_size=1, max_size=3)),
        st.tuples(st.just("begins_with"), name, st.sampled_from([*TEXTS, *BINARIES])),
    )
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), inner, inner),
            st.tuples(st.just("not"), inner),
        ),
        max_leaves=3,
    )


@st.composite
def writes(draw: st.DrawFn, table: Table, kinds: str, conditional: bool = True) -> Write:
    """`kinds` are of put, update, delete and check, by their first letters."""
    condition = draw(st.none() | conditions()) if conditional else None
    match draw(st.sampled_from(kinds)):
        case "p":
            item = draw(items(table))
            key = {name: item[name] for name in table.view.key}
            return Write(table, key, item=item, condition=condition)
        case "u":
            return Write(table, draw(keys(table)), changes=draw(changes()), condition=condition)
        case "d":
            return Write(table, draw(keys(table)), condition=condition)
        case _:
            condition = condition or ("attribute_exists", table.view.hash[0])
            return Write(table, draw(keys(table)), condition=condition, check=True)


# ---- requests ----


class Placeholders:
    """ExpressionAttributeNames and -Values of one request, one for each use."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Value] = {}

    def name(self, name: str) -> str:
        self.names[f"#{name}"] = name
        return f"#{name}"

    def value(self, value: Value) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def members(self) -> Request:
        found = {"ExpressionAttributeNames": self.names, "ExpressionAttributeValues": self.values}
        return {member: given for member, given in found.items() if given}

    def condition(self, condition: Condition) -> str:
        match condition:
            case ("and" | "or" as word, one, other):
                return f"({self.condition(one)}) {word.upper()} ({self.condition(other)})"
            case ("not", one):
                return f"NOT ({self.condition(one)})"
            case ("attribute_exists" | "attribute_not_exists" as function, name):
                return f"{function}({self.name(name)})"
            case ("begins_with", name, value):
                return f"begins_with({self.name(name)}, {self.value(value)})"
            case ("BETWEEN", name, low, high):
                return f"{self.name(name)} BETWEEN {self.value(low)} AND {self.value(high)}"
            case ("IN", name, *values):
                return f"{self.name(name)} IN ({', '.join(map(self.value, values))})"
            case (operator, name, value):
                return f"{self.name(name)} {operator} {self.value(value)}"
        raise AssertionError(condition)

    def update(self, changes: dict[str, tuple[str, Value]]) -> str:
        sections: dict[str, list[str]] = {}
        for name, (action, value) in changes.items():
            at = self.name(name)
            match action:
                case "SET":
                    sections.setdefault("SET", []).append(f"{at} = {self.value(value)}")
                case "COUNT":
                    zero, step = self.value({"N": "0"}), self.value(value)
                    counted = f"{at} = if_not_exists({at}, {zero}) + {step}"
                    sections.setdefault("SET", []).append(counted)
                case "ADD":
                    sections.setdefault("ADD", []).append(f"{at} {self.value(value)}")
                case "REMOVE":
                    sections.setdefault("REMOVE", []).append(at)
        return " ".join(f"{word} {', '.join(parts)}" for word, parts in sections.items())


def single(write: Write) -> tuple[str, Request]:
    """The operation that makes this write by itself, and its request."""
    placeholders = Placeholders()
    request: Request = {"TableName": write.table.name}
    operation = "DeleteItem"
    if write.item is not None:
        operation = "PutItem"
        request["Item"] = write.item
    else:
        request["Key"] = write.key
    if write.changes is not None:
        operation = "UpdateItem"
        request["UpdateExpression"] = placeholders.update(write.changes)
    if write.condition is not None:
        request["ConditionExpression"] = placeholders.condition(write.condition)
    return operation, request | placeholders.members()


def action(write: Write) -> Request:
    """The same as an action of TransactWriteItems."""
    operation, request = single(write)
    return {"ConditionCheck" if write.check else operation.removesuffix("Item"): request}


def batch_action(write: Write) -> Request:
    if write.item is not None:
        return {"PutRequest": {"Item": write.item}}
    return {"DeleteRequest": {"Key": write.key}}
