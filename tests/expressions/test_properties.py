"""Properties of all texts, trees and items, checked on generated ones."""

import copy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hashrange.expressions import Expressions
from hashrange.expressions.paths import check_disjoint
from hashrange.expressions.tree import Path
from hashrange.model.errors import ValidationException
from hashrange.model.values import Item, equal, normalize, normalize_item

from . import generated, oracle
from .fixtures import attempt

pytestmark = pytest.mark.slow

# ---- arbitrary texts ----

PIECES = [
    *"()[],.=<>+-:#_ ",
    *["<>", "<=", ">=", " AND ", " OR ", " NOT ", " BETWEEN ", " IN ", "SET ", " REMOVE "],
    *["ADD ", " DELETE ", "a", "b1", "#n", ":v", ":w", "0", "12", "select", "size(", "f("],
    *["contains(", "attribute_exists(", "if_not_exists(", "list_append(", "begins_with(", "é"],
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
    st.text(max_size=40),
)
BINDERS = st.sampled_from(["condition", "filter", "key_condition", "projection", "update"])


@st.composite
def nearly_right(draw: st.DrawFn) -> tuple[str, str, Item]:
    """A binder, the text of a condition or an update with a few characters replaced, its values."""
    binder = draw(st.sampled_from(["condition", "filter", "update"]))
    values: Item = {}
    if binder == "update":
        text = generated.update_text(draw(generated.ACTIONS), values)
    else:
        text = generated.condition_text(draw(generated.CONDITION), values)
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(start + 3, len(text))))
    return binder, text[:start] + draw(st.sampled_from(["", *PIECES])) + text[end:], values


@given(st.one_of(st.tuples(BINDERS, TEXTS, st.just({})), nearly_right()))
@settings(max_examples=300)
def test_any_text_is_bound_or_refused(given: tuple[str, str, Item]) -> None:
    binder, text, more = given
    values: Item = {":v": {"N": "1"}, ":w": {"L": [{"S": "x"}]}, **more}
    item: Item = {"a": {"M": {"b1": {"L": [{"S": "x"}]}}}, "b1": {"N": "1"}}
    before = copy.deepcopy(item)
    try:
        bound: Any = getattr(Expressions({"#n": "n"}, values), binder)(text)
        if binder in ("condition", "filter"):
            assert bound.matches(item) in (True, False)
            assert bound.matches(None) in (True, False)
        elif binder == "projection":
            bound.project(item)
        elif binder == "update":
            bound.new_values(bound.apply(item))
        else:
            condition = bound.as_key_condition()
            condition.check_partition(["a"], ["b1"])
            condition.resolve(["a"], ["b1"], {"a": "S", "b1": "N"})
    except ValidationException:
        pass
    assert item == before


@given(generated.CONDITION, generated.ITEM)
@settings(max_examples=300)
@pytest.mark.deep
def test_conditions_follow_their_trees(tree: Any, item: Any) -> None:
    values: Item = {}
    text = generated.condition_text(tree, values)
    condition, refusal = attempt(lambda: Expressions(None, values or None).condition(text))
    # Generated operands may be equal, of a wrong type, or bounds in the wrong order.
    assert "Syntax error" not in refusal
    assume(not refusal)
    normalize_item(item)
    assert condition.matches(item) is oracle.holds(tree, oracle.plain({"M": item})[1])
    assert condition.attributes == set(paths_in(tree))


def paths_in(tree: Any) -> list[str]:
    if tree[0] == "path":
        return [tree[1][0]]
    return [name for part in tree[1:] if tree[0] != "value" for name in paths_in(part)]


# ---- paths ----


@given(st.lists(generated.PATH, min_size=1, max_size=5))
def test_paths_are_disjoint_or_the_first_fault_is_named(paths: list[Any]) -> None:
    def related(one: Any, two: Any) -> str | None:
        for a, b in zip(one, two, strict=False):
            if a != b:
                return "conflict" if isinstance(a, str) != isinstance(b, str) else None
        return "overlap"

    pairs = [(one, two) for i, two in enumerate(paths) for one in paths[:i]]
    faults = [
        (kind, one, two)
        for kind in ("overlap", "conflict")
        for one, two in pairs
        if related(one, two) == kind
    ]
    whole = [Path(path) for path in paths]
    _, message = attempt(lambda: check_disjoint("UpdateExpression", whole))
    assert bool(message) is bool(faults)
    if faults:
        kind, one, two = faults[0]
        assert f" {kind} " in message
        assert message.endswith(f"path one: {Path(one)}, path two: {Path(two)}")


@given(generated.ITEM, st.lists(generated.PATH, min_size=1, max_size=3))
def test_projections_return_the_values_at_their_paths(item: Any, paths: list[Any]) -> None:
    normalize_item(item)
    text = ", ".join(map(generated.path_text, paths))
    projection, refusal = attempt(lambda: Expressions(None, None).projection(text))
    assume(not refusal)
    picked = projection.project(item)
    whole = oracle.plain({"M": item})[1]
    found = [oracle.find(whole, path) for path in paths]
    assert bool(picked) is any(value is not None for value in found)
    for path, value in zip(paths, found, strict=True):
        if all(isinstance(part, str) for part in path):
            assert oracle.find(oracle.plain({"M": picked})[1], path) == value
    assert leaves(picked) <= leaves(item)


def leaves(item: Item) -> int:
    return str(item).count("'")


@given(generated.ACTIONS, generated.ITEM)
@settings(max_examples=300)
@pytest.mark.deep
def test_updates_follow_their_trees(actions: list[Any], item: Any) -> None:
    values: Item = {}
    text = generated.update_text(actions, values)
    update, refusal = attempt(lambda: Expressions(None, values or None).update(text))
    assert not refusal or "Two document paths" in refusal
    assume(not refusal)
    normalize_item(item)
    before = copy.deepcopy(item)
    for action in actions:
        if action[2] and isinstance(action[2][-1], dict):
            normalize(action[2][-1])
        elif action[2] and action[2][0] == "if_not_exists":
            normalize(action[2][2][1])
    try:
        expected = oracle.updated(actions, item)
        normalize_item(expected)
    except (oracle.Refused, ValidationException):  # a sum may have too many digits
        expected = None
    new, _ = attempt(lambda: update.apply(item))
    assert item == before
    assert (new is None) == (expected is None)
    if new is not None:
        assert equal({"M": new}, {"M": expected})
        assert update.attributes == {action[1][0] for action in actions}
        shared = item.keys() - update.attributes
        assert all(new[name] is item[name] for name in shared)
        assert leaves(update.old_values(item)) <= leaves(item)
