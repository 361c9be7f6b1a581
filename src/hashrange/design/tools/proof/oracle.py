"""The results of a pattern by its declaration, found by a search through all written items.

The search filters plain values by the fields of the pattern's arguments. It uses none of the
toolkit's keys, routes, references, templates or requests.
"""

import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from hashrange.design.declare.item import Index, Item
from hashrange.design.declare.markers import PERIODS, OperatorName
from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.types import core_type
from hashrange.design.tools.proof.declared import (
    Held,
    Model,
    Record,
    Relations,
    copies,
    indexes,
    names_in,
    placeholders,
    refers,
)
from hashrange.design.tools.proof.plain_conditions import passes

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "at least": operator.ge,
    "after": operator.gt,
    "at most": operator.le,
    "before": operator.lt,
}
Place = list[Any]
"""The values that determine the position of an item in the order of a sort key."""


@dataclass
class Answer:
    """The records that a pattern returns.

    The records of `left_out` match the pattern too, but are not in the index that it reads.
    """

    records: list[Record]
    left_out: list[Record]


class Oracle:
    """Knows the items that were written, and computes what patterns should return."""

    def __init__(self, models: Sequence[Model], records: Sequence[Record]) -> None:
        self.relations = Relations(models)
        self.records = list(records)

    def settle(self) -> None:
        """Set each copied field to the value of its owner, if the owner exists."""
        for record in self.records:
            for name, copy in copies(record.model).items():
                owner = self.relations.owner_of(record, name, self.records)
                if owner is not None:
                    record.values[name] = owner.values[copy.field]

    def read(self, pattern: Pattern) -> tuple[type[Item], ...]:
        """The entities whose items the arguments select.

        With @st.through, the pattern returns items of another entity.
        """
        return pattern.entities if pattern.facts.through is None else (pattern.facts.through,)

    def answer(self, pattern: Pattern, arguments: Mapping[str, Any], source: str | None) -> Answer:
        """What the pattern returns from the table, or from the index `source`."""
        models = self.read(pattern)
        if pattern.by_type is not None:
            models = (arguments[pattern.by_type],)
        records = [r for r in self.records if r.model in models and _matches(pattern, arguments, r)]
        records = [r for r in records if self._in_shard(pattern, arguments, r, source)]
        records = self._recent(pattern, arguments, records, source)
        answer = Answer([r for r in records if _holds(source, r)],
                        [r for r in records if not _holds(source, r)])  # fmt: skip
        if pattern.facts.through is not None:
            answer.records = self._followed(pattern, answer.records)
        return answer

    def present(self, pattern: Pattern, source: str | None) -> datetime:
        """The time at which a range without an upper end ends: the latest in the partition keys."""
        times = [r[name] for r in self.records if r.model in self.read(pattern)
                 for name, _ in _times(r.model, source) if r[name] is not None]  # fmt: skip
        last = max(times, default=date.min)
        if isinstance(last, datetime):
            return last
        return datetime(last.year, last.month, last.day, tzinfo=UTC)

    def _recent(
        self,
        pattern: Pattern,
        arguments: Mapping[str, Any],
        records: Sequence[Record],
        source: str | None,
    ) -> list[Record]:
        """For a pattern with @st.buckets and no lower end, the records of the newest units of time.

        The declaration limits the number of these units, e.g. to 7 days.
        """
        most = pattern.facts.buckets
        left = [*records]
        for name, spec in _times(records[0].model, source) if most and records else ():
            ends = {a.operator: arguments[a.name] for a in pattern.arguments if a.field == name}
            if ends.keys() & {"at least", "after", "between"}:
                continue
            last = ends.get("at most", self.present(pattern, source))
            if "before" in ends:
                last = ends["before"] - timedelta(microseconds=1)
            unit = max(spec.count("%") - 1, 0)
            end = _count(last, unit)
            left = [r for r in left if end - (most or 0) < _count(r[name], unit) <= end]
        return left

    def _in_shard(
        self, pattern: Pattern, arguments: Mapping[str, Any], record: Record, source: str | None
    ) -> bool:
        numbers = [arguments[a.name] for a in pattern.arguments if a.operator == "shard"]
        part = _hash_part(record.model, source) if numbers else None
        return all(_shard(record[name], int(spec)) in numbers
                   for name, spec, function in placeholders(part)
                   if function == "shard")  # fmt: skip

    def newest(self, pattern: Pattern, answer: Answer, source: str | None) -> list[Record]:
        """The records of `answer` that can be the newest. Several can have the same place."""
        places = [self.place(pattern, record, source) for record in answer.records]
        if not places or None in places:
            return answer.records
        last = max(p for p in places if p is not None)
        return [r for r, place in zip(answer.records, places, strict=True) if place == last]

    def place(self, pattern: Pattern, record: Record, source: str | None) -> Place | None:
        """The record's place in the order of the results; None if the results have no such order.

        The place has the numbers and times in the record's sort key, in their order. It ends before
        the first field that is a string.
        """
        if pattern.facts.through is not None or pattern.by_type is not None:
            return None
        parts = [one.range for one in indexes(record.model, source or "")]
        part = record.model.key.range if source is None else next(iter(parts), None)
        place: Place = []
        for name, spec, function in placeholders(part):
            value = record[name]
            if spec.startswith("%") and isinstance(value, (datetime, date, time)):
                utc = value.astimezone(UTC) if isinstance(value, datetime) else value
                place.append(format(utc, spec))
            elif isinstance(value, (int, Decimal)) and (spec or not isinstance(part, str)):
                place.append(-value if function == "desc" else value)
            elif isinstance(value, (datetime, date, time)):
                place.append(value)
            else:  # a delimiter after a text can change the order of keys
                break
        return place

    def _followed(self, pattern: Pattern, records: Sequence[Record]) -> list[Record]:
        [result] = pattern.entities
        held = self._followed_by(pattern)
        return [
            other
            for record in records
            for other in self.records
            if other.model is result and refers(record, other, held)
        ]

    def _followed_by(self, pattern: Pattern) -> Held:
        """The reference that `@st.through` follows.

        It is the reference with the field that `@st.through` names. If no field is named, it is the
        reference with a field that is not an argument of the pattern.
        """
        assert pattern.facts.through is not None
        held = self.relations.between(pattern.facts.through, pattern.entities[0])
        wanted = pattern.facts.through_field
        if wanted is not None:
            held = [one for one in held if wanted in one.values()]
        elif len(held) > 1:
            known = {a.field for a in pattern.arguments if a.operator == "="}
            held = [one for one in held if not known.issuperset(one.values())]
        [one] = held
        return one


def _matches(pattern: Pattern, arguments: Mapping[str, Any], record: Record) -> bool:
    condition = pattern.facts.where
    for argument in pattern.arguments:
        value = arguments.get(argument.name)
        filtered = condition is not None and f":{argument.name}" in condition
        shard = argument.operator == "shard"
        if value is not None and not (filtered or shard) and not _fits(argument, value, record):
            return False
    return condition is None or passes(condition, record, arguments)


def _hash_part(model: Model, source: str | None) -> Any:
    if source is None:
        return model.key.hash
    return next((one.hash for one in indexes(model, source)), None)


def _times(model: Model, source: str | None) -> list[tuple[str, str]]:
    """(field, format) of each date or time in a partition key; the default format is a day's."""
    placed = placeholders(_hash_part(model, source))
    kinds = {name: core_type(info.annotation, [])[0] for name, info in model.model_fields.items()}
    return [(name, spec or "%Y-%m-%d") for name, spec, function in placed
            if not function and kinds.get(name) in (date, datetime)]  # fmt: skip


def _count(value: Any, unit: int) -> int:
    """The number of years, months, days or hours (`unit` 0 to 3) from a fixed time to `value`."""
    moment = value.astimezone(UTC) if isinstance(value, datetime) else value
    if unit < 2:
        return int(moment.year * (12 if unit else 1) + (moment.month - 1 if unit else 0))
    return int(moment.toordinal() * (24 if unit > 2 else 1) + (moment.hour if unit > 2 else 0))


def _holds(source: str | None, record: Record) -> bool:
    """Whether the table, or the index `source`, has the record.

    An index leaves out a record if a field of the index key is None, or if the record does not
    satisfy the condition of the index.
    """
    declared = indexes(record.model, source) if source is not None else []
    return not declared or any(_has(one, record) for one in declared)


def _has(index: Index, record: Record) -> bool:
    names = [*names_in(index.hash), *names_in(index.range)]
    if any(record[name] is None for name in names):
        return False
    return index.when is None or passes(index.when, record, index.values)


def _fits(argument: Argument, wanted: Any, record: Record) -> bool:
    value = record[argument.of(record.model.__name__).field]
    if value is None:
        return False
    if argument.operator == "any of":
        return value in wanted
    if argument.unit is not None:
        both = argument.operator == "between"
        value = _period(argument.unit, value)
        wanted = tuple(_period(argument.unit, one) for one in (wanted if both else (wanted,)))
        wanted = wanted if both else wanted[0]
    if argument.operator == "between":
        return bool(wanted[0] <= value <= wanted[1])
    if argument.operator in PERIODS:
        return _period(argument.operator, value) == _period(argument.operator, wanted)
    if type(wanted) is date:
        value = day_of(value)
    if isinstance(value, Enum) and not isinstance(wanted, Enum):
        value = value.value
    if argument.operator == "begins with":
        start: Any = value[: len(wanted)]
        return bool(start == wanted)
    return _COMPARE[argument.operator](value, wanted)


def day_of(value: Any) -> Any:
    """The date of a datetime, in UTC. Any other value is returned as it is."""
    return value.astimezone(UTC).date() if isinstance(value, datetime) else value


def _period(unit: OperatorName, value: Any) -> tuple[int, ...]:
    """The month, day or hour of a time, with the larger units before it: e.g. (2024, 10, 14)."""
    moment = value.astimezone(UTC) if isinstance(value, datetime) else value
    return tuple(moment.timetuple())[: len(PERIODS[unit])]


def _shard(value: Any, shards: int) -> int:
    """The number of a value's shard: a digest of eight bytes, modulo the number of shards."""
    return int(hashlib.blake2b(str(value).encode(), digest_size=8).hexdigest(), 16) % shards
