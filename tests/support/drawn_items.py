"""Random items of a table with the keys pk (S) and sk (N), as the database stores them."""

from typing import Any

from hypothesis import strategies as st

from hashrange.model.numbers import canonical
from hashrange.model.values import normalize_item

TABLE: dict[str, Any] = {
    "TableName": "table",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}

ODD_TEXTS = [
    "",
    '"',
    '""',
    "\0",
    "a\0b",
    "a,b;c\td",
    "line\nbreak\r\nand\rreturn",
    " spaces ",
    "null",
    "true",
    "yes",
    "12",
    "007",
    "1e5",
    "2026-11-21",
    "0x1F",
    "1:30",
    ".5",
    "~",
    "- a: b",
    "#",
    "!!str x",
    "&a",
    "*a",
    "\ufeff",
    "\x85\u2028\u2029",
    "\x7f\x1b[31m",
    "é漢😀",
    "{}",
    "[1]",
    "=1+1",
]
ODD_NUMBERS = [
    "0",
    "-0",
    "1.50",
    "1E+125",
    "-1E-130",
    "12345678901234567890123456789012345678",
    "0.00012345678901234567890123456789012345678",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1e2",
]
NAMES = ["a", "b", "a:S", "a:N", "x,y", '"', " ", "é", "$B", "$SS", "$M", "Item", "0", "true", "~"]
BINARIES = ["", "AA==", "AAH/", "YWJj"]
LEVELS_MAX = 32

texts = st.one_of(
    st.sampled_from(ODD_TEXTS), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
numbers = st.one_of(
    st.sampled_from(ODD_NUMBERS),
    st.integers(-(10**38) + 1, 10**38 - 1).map(str),
    st.decimals(-1000, 1000, places=5).map(str),
).map(canonical)
binaries = st.sampled_from(BINARIES)
names = st.one_of(st.sampled_from(NAMES), texts.filter(bool))


def _tagged(kind: str, content: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return content.map(lambda found: {kind: found})


def _set(members: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(members, min_size=1, max_size=4, unique=True)


scalars = st.one_of(
    _tagged("S", texts),
    _tagged("N", numbers),
    _tagged("B", binaries),
    _tagged("BOOL", st.booleans()),
    _tagged("NULL", st.just(True)),
    _tagged("SS", _set(texts)),
    _tagged("NS", _set(numbers)),
    _tagged("BS", _set(binaries)),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        _tagged("L", st.lists(inner, max_size=3)),
        _tagged("M", st.dictionaries(names, inner, max_size=3)),
    ),
    max_leaves=6,
)


def deep(value: dict[str, Any], levels: int) -> dict[str, Any]:
    """The value, nested in `levels` lists and maps."""
    for level in range(levels):
        value = {"L": [value]} if level % 2 else {"M": {"x": value}}
    return value


attributes = st.one_of(values, scalars.map(lambda value: deep(value, LEVELS_MAX - 2)))


def canonical_item(item: dict[str, Any]) -> dict[str, Any]:
    normalize_item(item)
    return item


bodies = st.dictionaries(names, attributes, max_size=4).map(canonical_item)
tables = st.lists(bodies, max_size=5).map(
    lambda found: [
        {"pk": {"S": f"p{number}"}, "sk": {"N": str(number)}, **body}
        for number, body in enumerate(found)
    ]
)
"""The items of a table."""


def odd_items() -> list[dict[str, Any]]:
    """Items with every odd text, number and type, the same each time."""
    odd: list[dict[str, Any]] = [
        *({"S": text} for text in ODD_TEXTS),
        *({"N": number} for number in ODD_NUMBERS),
        *({"B": content} for content in BINARIES),
        {"BOOL": True},
        {"NULL": True},
        {"SS": ["", "a", "\0"]},
        {"NS": ["-1", "0.5", "1" * 38]},
        {"BS": ["", "AA=="]},
        {"L": []},
        {"M": {"$B": {"S": "AA=="}}},
        {"M": {name: {"L": [{"NULL": True}]} for name in NAMES}},
        deep({"SS": ["a"]}, LEVELS_MAX - 2),
    ]
    return [
        canonical_item(
            {"pk": {"S": f"p{number}"}, "sk": {"N": str(number)}, NAMES[number % 7]: value}
        )
        for number, value in enumerate(odd)
    ]
