"""Attribute values as text."""

import json
from typing import Any

import pytest

from hashrange.tools.shell.values import cell, csv_text, json_item, json_text, printable

ESCAPES = "".join(map(chr, [*range(32), *range(127, 160), 0x202E, 0x2028, 0xFEFF, 0xD800]))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"S": "plain text"}, "plain text"),
        ({"N": "42"}, "42"),
        ({"S": "42"}, "'42'"),
        ({"S": "-1.5e3"}, "'-1.5e3'"),
        ({"S": "2026-11-21"}, "2026-11-21"),
        ({"S": "true"}, "'true'"),
        ({"BOOL": True}, "true"),
        ({"NULL": True}, "null"),
        ({"S": "null"}, "'null'"),
        ({"S": ""}, "''"),
        ({"S": " a"}, "' a'"),
        ({"S": "it's"}, "it's"),
        ({"S": "'a'"}, "'''a'''"),
        ({"S": "binary(1) AA=="}, "'binary(1) AA=='"),
        ({"B": b"\x01\x02\x03"}, "binary(3) AQID"),
        ({"SS": ["a", "1"]}, "<<'a', '1'>>"),
        ({"NS": ["1", "2"]}, "<<1, 2>>"),
        ({"BS": [b"\x01"]}, "<<binary(1) AQ==>>"),
        ({"L": [{"N": "1"}, {"S": "it's"}]}, "[1, 'it''s']"),
        ({"M": {"a": {"L": []}, "b": {"NULL": True}}}, "{'a': [], 'b': null}"),
        (None, ""),
        ({"S": "a\nb\x1b[31m\u202e"}, r"a\nb\u001b[31m\u202e"),
        ({"S": "日本"}, "日本"),
    ],
)
def test_cell(value: dict[str, Any] | None, text: str) -> None:
    assert cell(value, 60) == text


def test_a_cell_is_bounded() -> None:
    assert cell({"S": "x" * 400_000}, 10) == "xxxxxxxxx…"
    assert cell({"S": "\x1b" * 400_000}, 10) == r"\u001b\u0…"
    assert cell({"B": b"x" * 400_000}, 20) == "binary(400,000) eHh…"
    many: dict[str, Any] = {"L": [{"M": {"a": {"N": "1"}}}] * 100_000}
    assert cell(many, 12) == "[{'a': 1}, …"
    deep: dict[str, Any] = {"S": "x"}
    for _ in range(32):
        deep = {"L": [deep]}
    assert cell(deep, 100) == "[" * 32 + "'x'" + "]" * 32


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"S": 'a"\n'}, r'"a\"\n"'),
        ({"N": "12345678901234567890.1234567890123456"}, "12345678901234567890.1234567890123456"),
        ({"N": "1E+125"}, "1E+125"),
        ({"N": "NaN"}, '"NaN"'),
        ({"B": b"\x01\x02\x03"}, '"AQID"'),
        ({"NS": ["1", "2"]}, "[1, 2]"),
        ({"M": {"a": {"BOOL": False}, "b": {"L": [{"NULL": True}]}}}, '{"a": false, "b": [null]}'),
    ],
)
def test_json(value: dict[str, Any], text: str) -> None:
    assert json_text(value) == text


def test_json_is_exact_and_safe_on_a_terminal() -> None:
    text = json_item({ESCAPES: {"S": ESCAPES}, "日本": {"S": "é"}})
    assert json.loads(text) == {ESCAPES: ESCAPES, "日本": "é"}
    assert text.isprintable()


def test_nothing_raw_is_printable_afterwards() -> None:
    assert printable(ESCAPES).isprintable()
    assert cell({"S": ESCAPES}, 1000).isprintable()
    assert cell({"M": {ESCAPES: {"SS": [ESCAPES]}}}, 2000).isprintable()
    assert printable("日本 é") == "日本 é"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"S": "a,b"}, "a,b"),
        ({"S": '"'}, '"'),
        ({"N": "1.5"}, "1.5"),
        ({"BOOL": True}, "true"),
        ({"B": b"\x01\x02\x03"}, "AQID"),
        ({"SS": ["a"]}, '["a"]'),
        (None, ""),
    ],
)
def test_csv(value: dict[str, Any] | None, text: str) -> None:
    assert csv_text(value) == text
