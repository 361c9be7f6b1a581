"""ExpressionAttributeNames and ExpressionAttributeValues: their rules, and their use."""

from typing import Any

import pytest

from hashrange.expressions import Expressions
from hashrange.model.errors import ValidationException
from hashrange.model.limits import (
    ATTRIBUTE_NAME_BYTES_MAX,
    PLACEHOLDER_BYTES_MAX,
    SUBSTITUTIONS_BYTES_MAX,
)
from hashrange.model.values import Item

LONG = "x" * PLACEHOLDER_BYTES_MAX
NAMES = "ExpressionAttributeNames"
VALUES = "ExpressionAttributeValues"
A = {":a": {"S": "x"}}


def refusal(names: Any, values: Any, text: str | None = None) -> str:
    """The message that refuses them, the text as a condition, or what the text leaves unused."""

    def act() -> None:
        expressions = Expressions(names, values, legacy=True)
        assert text is not None
        expressions.condition(text)
        expressions.finish()

    with pytest.raises(ValidationException) as caught:
        act()
    return caught.value.message


# In the order of precedence: names before values; whether there are any, keys, then values.
FAULTS: list[tuple[Any, Any, str]] = [
    ({}, {}, f"{NAMES} must not be empty"),
    (None, {}, f"{VALUES} must not be empty"),
    ({"a": "b"}, {}, f'{NAMES} contains invalid key: Syntax error; key: "a"'),
    ({"#": "b"}, None, f'{NAMES} contains invalid key: Syntax error; key: "#"'),
    ({"#a-b": "b"}, None, f'{NAMES} contains invalid key: Syntax error; key: "#a-b"'),
    ({"#a\n": "b"}, None, f'{NAMES} contains invalid key: Syntax error; key: "#a\n"'),
    ({"#é": "b"}, None, f'{NAMES} contains invalid key: Syntax error; key: "#é"'),
    ({":a": "b"}, None, f'{NAMES} contains invalid key: Syntax error; key: ":a"'),
    (
        {"": "b"},
        None,
        f"{NAMES} contains invalid key: The expression attribute map contains an empty key;",
    ),
    (
        {"#" + LONG: "b"},
        None,
        f"{NAMES} contains invalid key: The expression attribute map contains a key that is too "
        "long; size of key: 256",
    ),
    (
        {"#a": ""},
        {"b": {"S": "x"}},
        f"{NAMES} contains invalid value: Empty attribute name for key #a",
    ),
    ({"#a": "", "b": "c"}, None, f'{NAMES} contains invalid key: Syntax error; key: "b"'),
    (
        {"#a": "é" * (ATTRIBUTE_NAME_BYTES_MAX // 2 + 1)},
        None,
        f"{NAMES} contains invalid value: Attribute name is too large, must be less than 65536 "
        "bytes for key #a",
    ),
    (None, {"a": {"S": "x"}}, f'{VALUES} contains invalid key: Syntax error; key: "a"'),
    (None, {"#a": {"S": "x"}}, f'{VALUES} contains invalid key: Syntax error; key: "#a"'),
    (None, {":a.b": {"S": "x"}}, f'{VALUES} contains invalid key: Syntax error; key: ":a.b"'),
    (
        None,
        {":a": {"N": "x"}, "b": {"S": "x"}},
        f'{VALUES} contains invalid key: Syntax error; key: "b"',
    ),
    (
        None,
        {":b": {"N": "x"}, ":a": {"N": "y"}},
        f"{VALUES} contains invalid value: "
        "The parameter cannot be converted to a numeric value: x for key :b",
    ),
    (
        None,
        {":a": {"M": {"q": {"N": "y"}}}},
        f"{VALUES} contains invalid value: "
        "The parameter cannot be converted to a numeric value: y for key :a",
    ),
    (
        None,
        {":a": {}},
        f"{VALUES} contains invalid value: Supplied AttributeValue is empty, "
        "must contain exactly one of the supported datatypes for key :a",
    ),
    (
        None,
        {":a": {"SS": []}},
        f"{VALUES} contains invalid value: One or more parameter values were invalid: "
        "An string set  may not be empty for key :a",
    ),
    (
        None,
        {":a": {"NULL": False}},
        f"{VALUES} contains invalid value: One or more parameter values were invalid: "
        "Null attribute value types must have the value of true for key :a",
    ),
]


@pytest.mark.parametrize(("names", "values", "message"), FAULTS)
def test_faults_come_before_the_text_is_looked_at(names: Any, values: Any, message: str) -> None:
    assert refusal(names, values) == message


UNUSED = "Value provided in {} unused in expressions: keys: {}"


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        ({"#b": "b", "#a": "a"}, A, UNUSED.format(NAMES, "{#a, #b}")),
        (None, {**A, ":c": {"S": ""}, ":b": {"S": ""}}, UNUSED.format(VALUES, "{:b, :c}")),
        ({"#a": "a"}, {**A, ":b": {"S": ""}}, UNUSED.format(NAMES, "{#a}")),
    ],
)
def test_all_must_be_used(names: Any, values: Any, message: str) -> None:
    assert refusal(names, values, "q = :a") == message


def test_use_counts_over_all_expressions_of_a_request() -> None:
    expressions = Expressions({"#a": "a", "#b": "b", "#c": "c"}, {":a": {"N": "1"}})
    expressions.update("SET #a = q")
    expressions.condition("#b = :a")
    with pytest.raises(ValidationException, match=r"\{#c\}"):
        expressions.finish()
    expressions.projection("#c, #a")
    expressions.finish()


def test_longest_keys_and_names() -> None:
    name, value = "#" + LONG[1:], ":" + LONG[1:]
    names = {name: "n" * ATTRIBUTE_NAME_BYTES_MAX}
    expressions = Expressions(names, {value: {"S": "x"}})
    assert expressions.condition(f"{name} <> {value}").matches(None)
    expressions.finish()


@pytest.mark.parametrize("key", ["#a", "#1", "#_", "#Name_2"])
def test_an_alias_may_be(key: str) -> None:
    assert Expressions({key: "a"}, None).condition(f"attribute_not_exists({key})").matches(None)


@pytest.mark.parametrize("key", [":a", ":1", ":_", ":Value_2"])
def test_a_placeholder_may_be(key: str) -> None:
    assert Expressions(None, {key: {"S": "x"}}).condition(f"a <> {key}").matches(None)


def test_substitution_values_together_are_limited() -> None:
    half = SUBSTITUTIONS_BYTES_MAX // 2 - len(":a")
    values = {":a": {"S": "x" * half}, ":b": {"S": "x" * half}}
    assert Expressions(None, values).condition("a = :a OR b = :b").matches({"a": values[":a"]})
    values[":b"]["S"] += "x"
    assert refusal(None, values) == f"{VALUES} exceeds max size"


def test_an_alias_may_stand_for_any_name() -> None:
    item: Item = {"a.b": {"S": "x"}, "select": {"M": {"c[0]": {"S": "y"}}}}
    names = {"#d": "a.b", "#s": "select", "#c": "c[0]"}
    condition = Expressions(names, A).condition("#d = :a AND attribute_exists(#s.#c)")
    assert condition.matches(item)
    assert condition.attributes == {"a.b", "select"}
    assert Expressions(names, None).projection("#s.#c").project(item) == {"select": item["select"]}


def test_values_become_canonical_in_place() -> None:
    values: Item = {":n": {"N": "+1.50e1"}, ":s": {"NS": ["1.0", "2.50"]}}
    Expressions(None, values)
    assert values == {":n": {"N": "15"}, ":s": {"NS": ["1", "2.5"]}}
