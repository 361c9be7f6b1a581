"""Every case of the fixture files; `fixtures.py` explains their notation."""

import copy
import json
from typing import Any

import pytest
from msgspec.structs import asdict

from hashrange.expressions import Expressions
from hashrange.model.errors import ValidationException
from hashrange.model.tables import TableOrIndex
from hashrange.model.values import normalize_item

from . import fixtures
from .fixtures import Case

SCHEMAS: dict[str, tuple[TableOrIndex, dict[str, str]]] = {
    "hash": (TableOrIndex(space=1, hash=("pk",)), {"pk": "S"}),
    "range": (TableOrIndex(space=1, hash=("pk",), range=("sk",)), {"pk": "S", "sk": "N"}),
    "text": (TableOrIndex(space=1, hash=("pk",), range=("sk",)), {"pk": "S", "sk": "S"}),
    "many": (
        TableOrIndex(space=1, hash=("h1", "h2"), range=("r1", "r2", "r3")),
        {"h1": "S", "h2": "N", "r1": "S", "r2": "S", "r3": "N"},
    ),
}


def _cases(*files: str) -> pytest.MarkDecorator:
    found = [case for file in files for case in fixtures.cases(file)]
    return pytest.mark.parametrize("case", found, ids=fixtures.names(found))


def _expressions(case: Case) -> Expressions:
    return Expressions(case.used("names"), case.used("values"))


def _item(case: Case) -> Any:
    item = case.item()
    normalize_item(item)
    return item


@_cases("conditions.txt", "condition_errors.txt", "syntax_errors.txt")
@pytest.mark.parametrize("parameter", ["ConditionExpression", "FilterExpression"])
def test_condition(case: Case, parameter: str) -> None:
    result: object
    try:
        expressions = _expressions(case)
        bind = expressions.filter if parameter[0] == "F" else expressions.condition
        result = bind(case.text).matches(_item(case))
        expressions.finish()
    except ValidationException as error:
        result = fixtures.outcome_of(parameter, error)
    assert fixtures.same(case.outcomes[""], result), result


@_cases("projections.txt")
def test_projection(case: Case) -> None:
    result: object
    try:
        expressions = _expressions(case)
        result = expressions.projection(case.text).project(_item(case))
        expressions.finish()
    except ValidationException as error:
        result = fixtures.outcome_of("ProjectionExpression", error)
    assert fixtures.same(case.outcomes[""], result), result


@_cases("updates.txt", "update_errors.txt")
def test_update(case: Case) -> None:
    old = _item(case)
    before = copy.deepcopy(old)
    results: dict[str, object] = {}
    try:
        expressions = _expressions(case)
        update = expressions.update(case.text)
        expressions.finish()
        new = update.apply(old)
        results = {"": new, "old": update.old_values(old), "new": update.new_values(new)}
    except ValidationException as error:
        results = {"": fixtures.outcome_of("UpdateExpression", error)}
    for name, outcome in case.outcomes.items():
        assert fixtures.same(outcome, results[name]), results[name]
    assert old == before


@_cases("key_conditions.txt")
def test_key_condition(case: Case) -> None:
    result: object
    try:
        expressions = _expressions(case)
        condition = expressions.key_condition(case.text).as_key_condition()
        expressions.finish()
        view, types = SCHEMAS[case.given["schema"]]
        condition.check_partition(view)
        result = asdict(condition.resolve(view, types))
    except ValidationException as error:
        result = fixtures.outcome_of("KeyConditionExpression", error)
    expected = case.outcomes[""]
    assert fixtures.same(expected, result), json.dumps(result)
