"""Testing every pattern on generated items against a search through all of them.

The search does not use keys or indexes; it only needs to know which items an index holds.
"""

import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from hashrange.design.declare.item import Item
from hashrange.design.declare.markers import PERIODS
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.types import encode
from hashrange.design.errors import BadValue, NotFound, NotUnique, Unserved
from hashrange.design.execute.connection import connect
from hashrange.design.execute.reads.pattern_calls import BoundPattern
from hashrange.design.execute.steps import Connection, run
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.plan.planner import Plan, Unplanned, variants
from hashrange.design.table import Table
from hashrange.design.tools import create
from hashrange.design.tools.prove_copies import unequal_copies
from hashrange.design.tools.sample import sample
from hashrange.expressions import Expressions
from hashrange.model.values import Item as WireItem

QUESTIONS = 60
PARENTS, CHILDREN = 20, 40
"""More items than a sample has, so that several share each part of a key."""
PAGE = 2


@dataclass
class Proof:
    """The result of `prove`: the number of questions by pattern.

    `differences` has a line for each pattern with a wrong result, or that no question could test.
    """

    table: str
    items: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a result was wrong, or nothing was tested."""
        return bool(self.differences) or not sum(self.asked.values())

    def __str__(self) -> str:
        lines = [f"{name}: {count} questions" for name, count in self.asked.items()]
        wrong = f"{len(self.differences)} differences"
        lines.append(f"{self.table}: {self.items} items, {sum(self.asked.values())} questions, "
                     f"{wrong}")  # fmt: skip
        return "\n".join([*lines, *self.differences])


def prove(table: Table, database: Any, *, seed: int = 0) -> Proof:
    """Create and fill the table in an empty database and compare every pattern's answers.

    Then change the owners of copies with sync="stream", and check that the copies become equal.
    """
    connection = connect(database)
    create.create(table.model, database)
    proof = Proof(table.name)
    stored = _fill(table, connection, seed)
    proof.items = len(stored)
    chance = random.Random(seed)
    for name, plan in table.plans.items():
        if isinstance(plan, Unplanned):
            proof.differences.append(str(plan.error))
            continue
        proof.asked[name], wrong = 0, []
        for bound in _questions(table, plan, stored, chance):
            try:
                difference = _compare(table, bound, connection, stored)
            except BadValue:  # the arguments do not fit the key
                continue
            proof.asked[name] += 1
            if difference:
                wrong.append(f"for {bound.arguments}: {difference}")
        if wrong:
            count = f"{len(wrong)} of {proof.asked[name]} results differ"
            proof.differences.append(f"{name}: {count}, first {wrong[0]}")
        elif not proof.asked[name]:
            proof.differences.append(f"{name}: no question could be asked")
    if any(copy.sync == "stream" for e in table.model.entities for copy in e.copies.values()):
        proof.differences += unequal_copies(table, database, connection, stored)
    return proof


def _fill(table: Table, connection: Connection, seed: int) -> list[Item]:
    core = StoreSteps(table.model, [], None, None)
    stored = []
    for item in sample(table, parents=PARENTS, children=CHILDREN, seed=seed):
        try:
            stored.append(run(core.write("create", item), connection))
        except (NotUnique, NotFound, BadValue):  # NotFound: its owner was left out
            continue
    return stored


# ---- questions ----


def _questions(
    table: Table, plan: Plan, stored: Sequence[Item], chance: random.Random
) -> Iterator[BoundPattern]:
    """Distinct calls with arguments from stored items, mixed, with and without optional ones."""
    asked = set()
    try:
        call = StoreSteps(table.model, [plan.pattern], None, None).calls[plan.pattern.name]
    except Unserved:
        return
    if plan.pattern.by_type is not None:
        for entity in table.model.entities:
            yield call.bind((), {plan.pattern.by_type: entity.model})
        return
    entity = plan.entities[0] if plan.routes else table.model.entity(plan.pattern.results[0])
    items = [item for item in stored if type(item) is entity.model]
    for arguments in variants(plan.pattern):
        for number in range(QUESTIONS if arguments and items else 1):
            if arguments and not items:
                return
            one, other = chance.choice(items or [None]), chance.choice(items or [None])
            given = {a.name: _argument(a, one, other) for a in arguments}
            if number % 2 and arguments:  # one argument that may not fit the others
                odd = chance.choice(arguments)
                given[odd.name] = _argument(odd, other, one)
            question = repr(given)
            if None not in given.values() and question not in asked:
                asked.add(question)
                yield call.bind((), given)


def _argument(argument: Argument, one: Item | None, other: Item | None) -> Any:
    field = argument.of(type(one).__name__).field
    value = getattr(one, field, "")
    if argument.python is date:
        value = _day(value)
    if argument.operator == "between":
        values = [value, getattr(other, field)]
        return None if None in values else tuple(sorted(values))
    if argument.operator == "begins with" and value is not None:
        return value[:1]
    return value


def _day(value: Any) -> Any:
    """The day of a datetime, in UTC."""
    return value.astimezone(UTC).date() if isinstance(value, datetime) else value


def _period(argument: Argument, value: Any) -> tuple[int, ...]:
    """The units of time that the argument's operator compares."""
    moment = value.astimezone(UTC) if isinstance(value, datetime) else value
    return tuple(moment.timetuple())[: len(PERIODS[argument.operator])]


# ---- answers ----


def _compare(
    table: Table, bound: BoundPattern, connection: Connection, stored: Sequence[Item]
) -> str | None:
    """The difference between the answer and the expected one, if any."""
    core = StoreSteps(table.model, [], None, None)
    plan = bound.builder.plan
    expected = _expected(table, plan, bound.arguments, stored)
    if plan.pattern.shape == "count":
        count = run(core.count(bound), connection)
        return None if count == len(expected) else f"{count} instead of {len(expected)}"
    if plan.pattern.shape == "one":
        found = run(core.one(bound), connection)
        return _compare_one(table, plan, found, expected)
    answered: list[Any] = []
    cursor = None
    while True:
        page = run(core.page(bound, PAGE, cursor, None, False), connection)
        answered += page.items
        cursor = page.cursor
        if cursor is None:
            break
        if len(page.items) != PAGE:
            return f"a page of {len(page.items)} before the end"
    got, wanted = sorted(map(_text, answered)), sorted(_shown(plan, expected))
    return None if got == wanted else f"{got} instead of {wanted}"


def _compare_one(table: Table, plan: Plan, found: Any, expected: Sequence[Item]) -> str | None:
    shown = _shown(plan, expected)
    if plan.pattern.facts.latest and expected:
        columns = plan.source.range
        ordered = sorted(
            expected, key=lambda i: [list(table.dump(i)[c.attribute].values()) for c in columns]
        )
        shown = _shown(plan, ordered[-1:])
    if found is None:
        return f"nothing instead of {shown}" if shown else None
    return None if _text(found) in shown else f"{_text(found)} instead of {shown}"


def _shown(plan: Plan, items: Sequence[Item]) -> list[str]:
    """The items as text, with the fields of the pattern's results."""
    results = set(plan.pattern.results)
    if len(results) == 1 and plan.followed is None:
        [result] = results
        fields = set(result.model_fields)
        return [_text(item, fields) for item in items]
    return [_text(item) for item in items]


def _text(item: Any, fields: set[str] | None = None) -> str:
    """An item's stored values as text, so that values that are stored alike are equal."""
    names = sorted(fields or type(item).model_fields)
    return repr({n: encode(v) for n in names if (v := getattr(item, n)) is not None})


def _expected(
    table: Table, plan: Plan, arguments: Mapping[str, Any], stored: Sequence[Item]
) -> list[Item]:
    models = [entity.model for entity in plan.entities] or list(plan.pattern.results)
    if plan.pattern.by_type is not None:
        models = [arguments[plan.pattern.by_type]]
    related = [
        item for item in stored if type(item) in models and _matches(table, plan, arguments, item)
    ]
    if plan.followed is None:
        return related
    return [
        target
        for item in related
        for target in stored
        if type(target) is plan.followed.model
        and all(getattr(target, n) == getattr(item, held) for n, held in plan.held.items())
    ]


def _matches(table: Table, plan: Plan, arguments: Mapping[str, Any], item: Item) -> bool:
    image = table.dump(item)
    if any(column.attribute not in image for column in plan.source.columns):
        return False
    filtered = plan.filter.parameters if plan.filter else frozenset()
    for argument in plan.pattern.arguments:
        given = arguments.get(argument.name)
        if (
            given is not None
            and argument.name not in filtered
            and not _holds(argument, given, item)
        ):
            return False
    return plan.filter is None or _passes(plan, arguments, image)


def _passes(plan: Plan, arguments: Mapping[str, Any], image: WireItem) -> bool:
    assert plan.filter is not None
    values = plan.filter.bind(arguments)
    condition = Expressions(plan.filter.names, values or None).condition(plan.filter.text)
    return bool(condition.matches(image))


def _holds(argument: Argument, given: Any, item: Item) -> bool:
    value = getattr(item, argument.of(type(item).__name__).field)
    if value is None:
        return False
    if argument.operator == "between":
        return bool(given[0] <= value <= given[1])
    if argument.operator in PERIODS:
        return _period(argument, value) == _period(argument, given)
    if type(given) is date:
        value = _day(value)
    if argument.operator == "begins with":
        return bool(value.startswith(given))
    return _COMPARE[argument.operator](value, given)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "at least": operator.ge,
    "after": operator.gt,
    "at most": operator.le,
    "before": operator.lt,
}
