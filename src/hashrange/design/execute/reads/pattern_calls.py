"""Calls of a pattern: binds and checks the arguments, and chooses the plan for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item
from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import BadValue, EmptyBuckets, NotFound
from hashrange.design.execute.reads.arguments import ArgumentCheck
from hashrange.design.execute.reads.cursor import Position
from hashrange.design.execute.reads.loading import Loader
from hashrange.design.execute.reads.reading import PlanReader
from hashrange.design.execute.reads.request_builder import RequestBuilder
from hashrange.design.execute.reads.searching import SearchBuilder
from hashrange.design.plan.planner import plan_given
from hashrange.design.plan.plans import Plan, Unplanned
from hashrange.design.plan.proposals import plan


@dataclass(slots=True)
class BoundPattern:
    """A pattern with its arguments, order and limit. `took` is set after the pattern has run."""

    call: "PatternCall"
    builder: RequestBuilder
    arguments: dict[str, Any]
    took: Explanation | None = None
    reverse: bool = False
    limit: int | None = None

    def reversed(self) -> "BoundPattern":
        """The same call in the opposite order. Raises BadValue for a Scan."""
        if self.builder.plan.operation == "Scan":
            raise BadValue(f"{self.call.pattern}: a Scan has no order that could be reversed")
        return replace(self, reverse=not self.reverse, took=None)

    def limited(self, most: int) -> "BoundPattern":
        if most < 1:
            raise BadValue(f"a limit must be at least 1, not {most}")
        return replace(self, limit=most, took=None)

    def reader(self, at: Position | None = None, now: datetime | None = None) -> PlanReader:
        return PlanReader(self.builder, self.arguments, at, self.reverse, now)

    @property
    def cursor_name(self) -> str:
        return f"{self.call.cursor_name} reversed" if self.reverse else self.call.cursor_name

    @property
    def timed(self) -> bool:
        """Whether the pattern has @st.buckets, so that its range may end at the present time."""
        return self.call.pattern.facts.buckets is not None

    @property
    def entity(self) -> Entity:
        """The entity of the one item that the pattern reads by its primary key.

        Raises BadValue if the pattern does not read by the primary key.
        """
        if self.builder.plan.operation != "GetItem":
            raise BadValue(f"{self.call.pattern} does not name one item by its primary key")
        return self.builder.plan.route.entity

    def assigned(self, item: Item) -> dict[str, Any]:
        """The fields of a `blank` item that the caller has assigned."""
        known = self.builder.plan.route.bound
        moved = [f for f, a in known.items() if vars(item)[f] != self.arguments[a.name]]
        return {n: v for n, v in vars(item).items() if n in moved or n not in known}

    def blank(self) -> Item:
        """An item with only its key fields, on which a caller of `patch` assigns the others."""
        values = {f: self.arguments[a.name] for f, a in self.builder.plan.route.bound.items()}
        item = self.entity.model.model_construct()
        vars(item).clear()
        vars(item).update(values)
        return item

    def empty(self) -> EmptyBuckets:
        bucket, count = self.builder.plan.route.bucket, self.call.pattern.facts.buckets
        assert bucket is not None
        return EmptyBuckets(
            f"{self.call.pattern}: no item in the last {count} {bucket.unit.name}s, but there may "
            "be older items: raise at_most in @st.buckets(at_most=...), or give the range a start"
        )

    def not_found(self) -> NotFound:
        return NotFound(f"{self.call.pattern}: there is no such item")


class PatternCall:
    """A pattern of an open store, with a request builder for each choice of optional arguments."""

    def __init__(self, pattern: Pattern, model: TableModel) -> None:
        self.pattern = pattern
        self.cursor_name = str(pattern)
        self.results = _results(pattern, model)
        self.loader = Loader(model, self.results)
        self.names = [*_parameters(pattern)]
        self.builders: dict[frozenset[str], RequestBuilder] = {}
        for arguments in pattern.variants():
            planned = plan_given(pattern, model, arguments)
            if isinstance(planned, Unplanned):
                whole = plan(pattern, model)
                raise whole.error if isinstance(whole, Unplanned) else planned.error
            left_out = frozenset(a.name for a in pattern.arguments) - planned.given
            build = RequestBuilder if planned.search is None else SearchBuilder
            self.builders[left_out] = build(planned, model)
        self.complete = self.builders[frozenset()]
        self.checks = [
            _check(argument, self.complete.plan, model) for argument in pattern.arguments
        ]

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> BoundPattern:
        """Bind the arguments of a call.

        Raises TypeError for missing or unknown arguments, BadValue for wrong values.
        """
        if kwargs or len(args) != len(self.names):
            arguments = self._named(args, kwargs)
        else:
            arguments = dict(zip(self.names, args, strict=True))
        left_out = []
        for check in self.checks:
            value = arguments.get(check.name)
            if value is None:
                if not check.argument.optional:
                    raise TypeError(f"{self.pattern}: {check.name!r} is missing")
                left_out.append(check.name)
            elif type(value) is not str or not check.plain_text:  # the most common case first
                arguments[check.name] = check.value(value)
        if isinstance(self.complete, SearchBuilder):  # any filter can be left out
            return BoundPattern(self, self.complete, self.complete.checked(arguments))
        return BoundPattern(self, self._builder(left_out) if left_out else self.complete, arguments)

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        arguments = dict(zip(self.names, args, strict=False)) | dict(kwargs)
        fits = len(args) + len(kwargs) == len(arguments) and len(args) <= len(self.names)
        if not fits or arguments.keys() - set(self.names):
            raise TypeError(
                f"{self.pattern}({', '.join(self.names)}) was called with {args} {dict(kwargs)}"
            )
        return arguments

    def expect_result(self, entity: type[Any]) -> None:
        """Raise BadValue unless the pattern returns items of this class or of a subclass."""
        if not any(issubclass(result, entity) for result in self.results):
            names = " | ".join(result.__name__ for result in self.results)
            raise BadValue(f"{self.pattern}: it returns {names}, not {entity.__name__}")

    def _builder(self, left_out: Sequence[str]) -> RequestBuilder:
        builder = self.builders.get(frozenset(left_out))
        if builder is None:
            raise TypeError(f"{self.pattern}: only the last arguments can be left out")
        return builder


def call_of(get: Any) -> PatternCall:
    """The PatternCall behind an attribute of a store, such as `db.sensor`. Raises TypeError."""
    call = getattr(get, "call", None)
    if not isinstance(call, PatternCall):
        raise TypeError(f"{get!r} is not a pattern of a store: write e.g. db.edit(db.sensor, ...)")
    return call


def bind(get: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> BoundPattern:
    return call_of(get).bind(args, kwargs)


def _parameters(pattern: Pattern) -> Iterable[str]:
    function = pattern.function
    code = function.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def _results(pattern: Pattern, model: TableModel) -> Sequence[type[Any]]:
    return [e.model for e in model.entities] if pattern.by_type else pattern.results


def _check(argument: Argument, plan: Plan, model: TableModel) -> ArgumentCheck:
    entity = plan.entities[0] if plan.routes else None
    if entity is None and plan.pattern.entities:
        entity = model.entity(plan.pattern.entities[0])
    if plan.filter is not None and argument.name in plan.filter.parameters:
        fields = {parameter: field for field, parameter in plan.filter.pairs}
        return ArgumentCheck(argument, entity, fields.get(argument.name, ""), exact=False)
    field = argument.of(entity).field
    return ArgumentCheck(argument, entity, field, exact=argument.exact)
