"""Makes arguments for calls of a pattern from the items that were written."""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.tools.proof.declared import Model, Record, fields_of
from hashrange.design.tools.proof.nearest import search_question
from hashrange.design.tools.proof.oracle import Oracle, day_of
from hashrange.design.tools.proof.plain_conditions import compared_field
from hashrange.design.tools.sample import NUMBERS, TEXTS

QUESTIONS = 60
SHARDS = 8


def questions(
    pattern: Pattern, oracle: Oracle, models: Sequence[Model], chance: random.Random
) -> Iterator[Mapping[str, Any]]:
    """Distinct sets of arguments for the pattern, with and without the optional arguments.

    The values come from written items; some sets mix the values of two items.
    """
    if pattern.by_type is not None:
        for model in models:
            yield {pattern.by_type: model}
        return
    entity = oracle.read(pattern)[0]
    items = [record for record in oracle.records if record.model is entity]
    asked = set()
    for arguments in pattern.variants():
        for number in range(QUESTIONS if arguments and items else 1):
            if arguments and not items:
                return
            one, other = (chance.choice(items or [Record(entity, {})]) for _ in range(2))
            values_asked = {a.name: _argument(pattern, a, one, other, chance) for a in arguments}
            if number % 2 and arguments:  # one argument that may not fit the others
                odd = chance.choice(arguments)
                values_asked[odd.name] = _argument(pattern, odd, other, one, chance)
            if pattern.search is not None:
                values_asked |= search_question(pattern, models, chance)
            question = repr(values_asked)
            if None not in values_asked.values() and question not in asked:
                asked.add(question)
                yield values_asked


def _argument(
    pattern: Pattern, argument: Argument, one: Record, other: Record, chance: random.Random
) -> Any:
    if argument.operator == "shard":
        return chance.randrange(SHARDS)
    field = argument.of(one.model.__name__).field
    if field not in fields_of(one.model):  # a condition compares it with another field
        condition = pattern.facts.where
        field = (compared_field(condition, argument.name) if condition else None) or field
        value = one.values.get(field)
        right = isinstance(argument.python, type) and isinstance(value, argument.python)
        return value if right else _any(argument, chance)
    value = one[field]
    if argument.python is date:
        value = day_of(value)
    if argument.operator == "any of":
        return [v for v in dict.fromkeys([value, other[field]]) if v is not None] or None
    if argument.operator == "between":
        second = other[field]
        values = [value, day_of(second) if argument.python is date else second]
        return None if None in values else tuple(sorted(values))
    if argument.operator == "begins with" and value is not None:
        return value[: chance.choice((1, len(value) - 1, len(value)))] or value
    return value


def _any(argument: Argument, chance: random.Random) -> Any:
    if argument.python is str:
        return chance.choice(TEXTS)
    if argument.python in (int, Decimal):
        return argument.python(chance.randint(0, NUMBERS))
    return None
