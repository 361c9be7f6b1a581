"""Calling a pattern: binds and checks the arguments and picks the plan for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.protocols import Explanation
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import BadValue
from hashrange.design.execute.loading import Loader
from hashrange.design.execute.request_builder import RequestBuilder
from hashrange.design.plan.planner import Unplanned, plan_given, variants
from hashrange.design.plan.proposals import plan


@dataclass(slots=True)
class BoundPattern:
    """A pattern with its arguments. `took` is set once it has run."""

    call: "PatternCall"
    builder: RequestBuilder
    arguments: dict[str, Any]
    took: Explanation | None = None


class PatternCall:
    """A pattern of an open store, with a request builder for each set of arguments."""

    def __init__(self, pattern: Pattern, model: TableModel) -> None:
        self.pattern = pattern
        self.entity = ", ".join(model.__name__ for model in pattern.entities)
        self.loader = Loader(model, _results(pattern, model))
        self.names = [*_parameters(pattern)]
        self.checks = [(a.name, a, _classes(a)) for a in pattern.arguments]
        self.builders: dict[frozenset[str], RequestBuilder] = {}
        for arguments in variants(pattern):
            found = plan_given(pattern, model, arguments)
            if isinstance(found, Unplanned):
                whole = plan(pattern, model)
                raise whole.error if isinstance(whole, Unplanned) else found.error
            left_out = frozenset(a.name for a in pattern.arguments) - found.given
            self.builders[left_out] = RequestBuilder(found, model)
        self.complete = self.builders[frozenset()]

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> BoundPattern:
        """Raises TypeError for missing or unknown arguments, BadValue for wrong values."""
        if kwargs or len(args) != len(self.names):
            arguments = self._named(args, kwargs)
        else:
            arguments = dict(zip(self.names, args, strict=True))
        left_out = []
        for name, argument, classes in self.checks:
            value = arguments.get(name)
            if value is None:
                if not argument.optional:
                    raise TypeError(f"{self.pattern}: {name!r} is missing")
                left_out.append(name)
            elif type(value) is not str or str not in classes:  # the most common case first
                try:
                    _expect(argument, value, classes)
                except BadValue as error:
                    raise error.of(self.entity) from None
        return BoundPattern(self, self._builder(left_out) if left_out else self.complete, arguments)

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        arguments = dict(zip(self.names, args, strict=False)) | dict(kwargs)
        fits = len(args) + len(kwargs) == len(arguments) and len(args) <= len(self.names)
        if not fits or arguments.keys() - set(self.names):
            raise TypeError(f"{self.pattern}({', '.join(self.names)}): got {args} {dict(kwargs)}")
        return arguments

    def _builder(self, left_out: Sequence[str]) -> RequestBuilder:
        builder = self.builders.get(frozenset(left_out))
        if builder is None:
            raise TypeError(f"{self.pattern}: arguments are left out from the right only")
        return builder


def _parameters(pattern: Pattern) -> Iterable[str]:
    function = pattern.function
    code = function.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def _results(pattern: Pattern, model: TableModel) -> Sequence[type[Any]]:
    return [e.model for e in model.entities] if pattern.by_type else pattern.results


def _classes(argument: Argument) -> tuple[type, ...]:
    """The classes that a value may be an instance of; empty: not checked."""
    python = argument.python
    if isinstance(python, type):
        return (python,)
    choices = get_args(python)
    return tuple({type(choice) for choice in choices if not isinstance(choice, type)})


def _expect(argument: Argument, value: Any, classes: tuple[type, ...]) -> None:
    values = value if argument.operator == "between" else (value,)
    for one in values:
        if classes and not isinstance(one, classes):
            names = " or ".join(c.__name__ for c in classes)
            raise BadValue(f"it is not {names}", field=argument.name, value=one)
        if isinstance(one, datetime) and one.tzinfo is None:
            raise BadValue("it has no time zone", field=argument.name, value=one)
