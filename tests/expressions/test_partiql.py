"""PartiQL: every case of its fixture files, and properties of all statements."""

import copy
import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hashrange.expressions import Condition, Expressions, partiql
from hashrange.expressions.partiql import keys as partiql_keys
from hashrange.model.errors import ValidationException
from hashrange.model.values import Item, normalize, normalize_item

from . import fixtures, generated
from .fixtures import Case

pytestmark = pytest.mark.slow


def _cases(file: str) -> pytest.MarkDecorator:
    found = fixtures.cases(file)
    return pytest.mark.parametrize("case", found, ids=fixtures.names(found))


def bind(text: str, parameters: list[Any] | None = None) -> partiql.Statement:
    given_values = copy.deepcopy(parameters or [])
    for value in given_values:
        normalize(value)
    return partiql.bind(partiql.parse(text), given_values)


def outcome(statement: partiql.Statement, item: Item) -> object:
    """The effect of a statement on an item, in the notation of the fixture file."""
    match statement:
        case partiql.Select(_, _, columns, where):
            statement.check_columns()
            found = [item] if where is None or Condition.of(where).matches(item) else []
            return [columns.project(each) if columns else each for each in found]
        case partiql.Insert():
            return statement.item
        case partiql.Update():
            return statement.changes.apply(item)
        case partiql.Delete():
            return Condition.of(statement.where).matches(item)
        case partiql.Exists(select):
            return outcome(select, item)


@_cases("partiql.txt")
def test_statement(case: Case) -> None:
    item = case.item()
    normalize_item(item)
    result: object
    try:
        result = outcome(bind(case.text, case.given["parameters"]), item)
    except ValidationException as error:
        result = f"error: {error.message}"
    assert fixtures.same(case.outcomes[""], result), json.dumps(result)


# ---- the rows that a WHERE clause asks for ----

TYPES = {"pk": "S", "sk": "S"}


def where_of(text: str, parameters: list[Any] | None = None) -> Any:
    statement = bind(f"SELECT * FROM t WHERE {text}", parameters)
    assert isinstance(statement, partiql.Select)
    return statement.where


@_cases("partiql_keys.txt")
def test_keys(case: Case) -> None:
    results: dict[str, object] = {}
    try:
        plan = partiql_keys.plan(where_of(case.text), "pk", "sk", TYPES)
        queries = [
            [q.hash_values[0]["S"], _texts(q.range_equals), q.operator, _texts(q.operands)]
            for q in plan.queries or ()
        ]
        results = {"": queries, "left": plan.filter is not None, "filter": list(plan.filtered)}
    except ValidationException as error:
        results = {"": f"error: {error.message}"}
    for name, expected in case.outcomes.items():
        assert fixtures.same(expected, results[name]), results[name]


def _texts(values: list[Any]) -> list[str]:
    return [value["S"] for value in values]


KEY_TESTS = st.builds(
    "{} {} '{}'".format,
    st.sampled_from(["pk", "sk", "x"]),
    st.sampled_from(["=", "=", "=", "<", ">=", "<>"]),
    st.sampled_from("abc"),
)
WHERES = st.recursive(
    KEY_TESTS,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT {}".format, inner),
    ),
    max_leaves=6,
)
PARTITIONS = st.builds("pk = '{}'".format, st.sampled_from("abc"))
KEYED = st.one_of(
    st.builds("{} AND {}".format, PARTITIONS, WHERES),
    st.builds("{} AND ({} OR {})".format, WHERES, PARTITIONS, PARTITIONS),
)
BRANCHES = st.lists(KEYED, min_size=1, max_size=3).map(" OR ".join)
ROWS: list[Item] = [
    {"pk": {"S": pk}, "sk": {"S": sk}, "x": {"S": x}} for pk in "abc" for sk in "abc" for x in "ab"
]


@given(BRANCHES)
@settings(max_examples=300)
def test_queries_find_each_row_that_matches_once(text: str) -> None:
    where = where_of(text)
    plan = partiql_keys.plan(where, "pk", "sk", TYPES)
    found = ROWS
    if plan.queries is not None:
        found = [row for query in plan.queries for row in ROWS if _in_query(query, row)]
        assume(len({*map(str, found)}) == len(found))  # or else it is refused
    if plan.filter:
        found = [row for row in found if Condition.of(plan.filter).matches(row)]
    expected = [row for row in ROWS if Condition.of(where).matches(row)]
    assert sorted(map(str, found)) == sorted(map(str, expected))


def _in_query(query: Any, row: Item) -> bool:
    pk, sk = row["pk"], row["sk"]
    if pk != query.hash_values[0] or (query.range_equals and sk != query.range_equals[0]):
        return False
    if query.operator is None:
        return True
    [operand] = query.operands
    return bool({"<": sk["S"] < operand["S"], ">=": sk["S"] >= operand["S"]}[query.operator])


# ---- the same trees as expressions ----


@given(generated.CONDITION, generated.ITEM)
@settings(max_examples=300)
def test_conditions_are_those_of_expressions(tree: Any, item: Any) -> None:
    values: Item = {}
    text = generated.condition_text(tree, values)
    parameters = [values[name] for name in re.findall(r":v\d+", text)]
    normalize_item(item)
    seen = attempt(lambda: Condition.of(where_of(re.sub(r":v\d+", "?", text), parameters)), item)
    same = attempt(lambda: Expressions(None, values or None).condition(text), item)
    assert seen == same


def attempt(make: Any, item: Item) -> object:
    """Whether the condition matches, or the reason it was refused for."""
    try:
        return make().matches(item)
    except ValidationException as refusal:
        return refusal.message.removeprefix("Invalid ConditionExpression: ")


# ---- arbitrary texts ----

PIECES = [
    *"()[]{},.=<>+-*?;:'\"#_ ",
    *["<<", ">>", "<>", "!=", "<=", ">=", "||", "--", "/*", "*/", "''", "\n", "`"],
    *["SELECT ", "FROM ", "t ", "WHERE ", "AND ", "OR ", "NOT ", "BETWEEN ", "IN ", "IS ", "LIKE "],
    *["MISSING ", "NULL ", "INSERT INTO ", "VALUE ", "UPDATE ", "SET ", "REMOVE ", "DELETE FROM "],
    *["RETURNING ", "ALL ", "OLD ", "NEW ", "ORDER BY ", "DESC ", "EXISTS(", "size(", "COUNT("],
    *["a", "b1", "0", "12", "1e5", ".5", "'x'", '"q"', "set_add(", "begins_with(", "list_append("],
    *["CASE ", "CAST", "true ", "é", "😀", "DOUBLE PRECISION ", "AS "],
]
STARTS = [
    "",
    "SELECT * FROM t WHERE ",
    "UPDATE t SET a = ",
    "INSERT INTO t VALUE {'a': ",
    "FROM t ",
]
TEXTS = st.builds(
    lambda start, rest, end: start + rest + end,
    st.sampled_from(STARTS),
    st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
        st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
        st.text(max_size=40),
    ),
    st.sampled_from(["", "}", " WHERE a = 1", ";"]),
)


@given(TEXTS)
@settings(max_examples=500)
def test_any_text_is_bound_or_refused(text: str) -> None:
    item: Item = {"a": {"L": [{"M": {"b1": {"S": "x"}}}]}, "b1": {"N": "1"}}
    before = copy.deepcopy(item)
    with suppress(ValidationException):
        outcome(bind(text, [{"N": "1"}, {"SS": ["x"]}, {"L": []}]), item)
    assert item == before


NESTING = ["(", "[", "{'a':", "<<", "NOT ", "-", "size(", "f(", "a.", "1 + ", "a = 1 AND ("]


@given(st.sampled_from(STARTS), st.sampled_from(NESTING), st.integers(1, 2000))
@settings(max_examples=60, deadline=2000)
@pytest.mark.deep
def test_depth_does_no_harm(start: str, opening: str, depth: int) -> None:
    with pytest.raises(ValidationException):
        bind(f"{start}{opening * depth}")
    closing = {"(": ")", "[": "]", "{": "}", "<": ">>"}.get(opening[0], "")
    with suppress(ValidationException):
        bind(f"{start}{opening * depth}1{closing * depth}")
