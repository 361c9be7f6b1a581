"""Cached parts of earlier requests do not change the results of later, different ones."""

import copy
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.expressions import Expressions, KeyQuery, prepared, substitutions
from hashrange.expressions.bounded_cache import CHARACTERS_MAX, ENTRIES_MAX, BoundedCache
from hashrange.model.errors import ValidationException
from hashrange.model.limits import NESTING_LEVELS_MAX
from hashrange.model.tables import TableOrIndex
from hashrange.model.values import AttributeValue

from . import generated
from .fixtures import attempt

SAME = {":v": {"S": "x"}}
FORMS = [
    ("condition", "a = :v AND b BETWEEN :v AND :w OR #n > :w"),
    ("condition", "attribute_type(a, :v) OR contains(b, :w) OR #n IN (:v, :w)"),
    ("condition", "begins_with(a, :v) AND size(#n) < :w"),
    ("update", "SET #n = :v, a = list_append(:w, if_not_exists(a, :v))"),
    ("update", "SET b = b + :v, #n = if_not_exists(c, :w)"),
    ("update", "ADD #n :v DELETE b :w"),
]


def forget() -> None:
    prepared._kept._values.clear()
    substitutions._passed._values.clear()


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> None:
    forget()


@given(
    st.sampled_from(FORMS),
    generated.ITEM,
    st.lists(st.tuples(generated.VALUE, generated.VALUE), min_size=2, max_size=4),
)
@settings(max_examples=300)
@pytest.mark.deep
def test_cached_expressions_work_with_other_values(
    form: tuple[str, str], item: Any, pairs: list[tuple[Any, Any]]
) -> None:
    binder, text = form

    def outcome(v: Any, w: Any) -> Any:
        expressions = Expressions({"#n": "c"}, {":v": copy.deepcopy(v), ":w": copy.deepcopy(w)})
        bound: Any = getattr(expressions, binder)(text)
        expressions.finish()
        return bound.matches(item) if binder == "condition" else bound.apply(item)

    forget()
    found = [attempt(partial(outcome, *pair)) for pair in pairs]
    for pair, expected in zip(pairs, found, strict=True):
        forget()
        assert attempt(partial(outcome, *pair)) == expected


def query(view: TableOrIndex, **types: str) -> KeyQuery:
    """What always the same text and value, bound anew, ask of this view."""
    condition = Expressions(None, SAME).key_condition("a = :v").as_key_condition()
    condition.check_partition(view)
    return condition.resolve(view, types)


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        (TableOrIndex(space=2, hash=("b",)), "missed key schema element: b"),
        (TableOrIndex(space=2, hash=("a", "b")), "HASH key attributes b must have"),
    ],
)
def test_a_key_condition_is_checked_for_each_view(table: TableOrIndex, fault: str) -> None:
    """A deleted table is created again with another key schema."""
    right = TableOrIndex(space=1, hash=("a",))
    assert query(right, a="S").hash_values == [SAME[":v"]]
    with pytest.raises(ValidationException, match=fault):
        query(table, a="S", b="S")
    assert query(right, a="S").hash_values == [SAME[":v"]]


def test_a_key_condition_is_checked_with_the_types_of_each_table() -> None:
    query(TableOrIndex(space=1, hash=("a",)), a="S")
    with pytest.raises(ValidationException, match="type does not match schema type"):
        query(TableOrIndex(space=1, hash=("a",)), a="N")


def test_a_key_condition_names_other_parts_of_another_view() -> None:
    values = {":v": {"S": "x"}, ":w": {"S": "y"}}

    def ask(view: TableOrIndex) -> KeyQuery:
        bound = Expressions(None, values).key_condition("a = :v AND b = :w").as_key_condition()
        bound.check_partition(view)
        return bound.resolve(view, {"a": "S", "b": "S"})

    for _ in range(2):
        found = ask(TableOrIndex(space=1, hash=("a",), range=("b",)))
        assert (found.hash_values, found.range_equals) == ([{"S": "x"}], [{"S": "y"}])
        found = ask(TableOrIndex(space=2, hash=("b",), range=("a",)))
        assert (found.hash_values, found.range_equals) == ([{"S": "y"}], [{"S": "x"}])


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        ({}, None, "ExpressionAttributeNames must not be empty"),
        (None, {}, "ExpressionAttributeValues must not be empty"),
        ({"a": "b"}, None, "ExpressionAttributeNames contains invalid key"),
    ],
)
def test_a_refused_expression_is_refused_again(names: Any, values: Any, message: str) -> None:
    Expressions(None, None)
    for _ in range(2):
        with pytest.raises(ValidationException, match=message):
            Expressions(names, values)


def test_bounds_are_compared_each_time() -> None:
    def between(low: str, high: str) -> None:
        values = {":low": {"N": low}, ":high": {"N": high}}
        Expressions(None, values).condition("a BETWEEN :low AND :high")

    between("1", "2")
    with pytest.raises(ValidationException, match="upper bound to be greater"):
        between("2", "1")


def test_legacy_validation_leaves_the_nesting_to_the_update() -> None:
    value: AttributeValue = {"L": []}
    for _ in range(NESTING_LEVELS_MAX):
        value = {"L": [value]}
    text = "SET a = :v, b = :w"
    flat: dict[str, AttributeValue] = {":v": {"L": []}, ":w": {"L": []}}
    assert Expressions(None, flat).update(text).apply({}) == {"a": {"L": []}, "b": {"L": []}}
    for name in flat:
        legacy = Expressions(None, flat | {name: value}, legacy=True)
        with pytest.raises(ValidationException, match="Nesting Levels have exceeded"):
            legacy.update(text).apply({})


def test_the_oldest_entry_is_evicted_and_long_texts_are_not_cached() -> None:
    values: BoundedCache[int] = BoundedCache()
    for number in range(ENTRIES_MAX + 1):
        values.put(str(number), number)
    values.put("x" * CHARACTERS_MAX, -1)
    assert [values.get(str(number)) for number in (0, 1, ENTRIES_MAX)] == [None, 1, ENTRIES_MAX]
    assert len(values._values) == ENTRIES_MAX


def test_a_text_is_prepared_once_for_all_values() -> None:
    for text in ("x", "y"):
        Expressions({"#a": "a"}, {":v": {"S": text}}).condition("#a = :v")
    assert len(prepared._kept._values) == len(substitutions._passed._values) == 1
