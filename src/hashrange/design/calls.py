"""Calling a pattern: its arguments are bound and checked, and the plan for them is picked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_args

from hashrange.design.asking import Asking
from hashrange.design.errors import BadValue
from hashrange.design.model import TableModel
from hashrange.design.patterns import Argument, Pattern
from hashrange.design.planner import Unplanned, plan_given, variants
from hashrange.design.protocols import Explanation
from hashrange.design.reading import Loader


@dataclass
class Bound:
    """A pattern with arguments, ready to run."""

    call: "PatternCall"
    asking: Asking
    arguments: dict[str, Any]
    took: Explanation = field(default_factory=lambda: Explanation("", []))


class PatternCall:
    """A pattern of an open store: binds arguments, checks them, and picks the plan."""

    def __init__(self, pattern: Pattern, model: TableModel) -> None:
        self.pattern = pattern
        self.loader = Loader(model, _results(pattern, model))
        self.names = [*_parameters(pattern)]
        self.checks = [(a, _classes(a)) for a in pattern.arguments]
        self.askings: dict[frozenset[str], Asking] = {}
        for arguments in variants(pattern):
            found = plan_given(pattern, model, arguments)
            if isinstance(found, Unplanned):
                raise found.error
            self.askings[found.given] = Asking(found, model)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
        """Raises TypeError for arguments that do not fit, BadValue for their values."""
        arguments = dict(zip(self.names, args, strict=False)) | dict(kwargs)
        fits = len(args) + len(kwargs) == len(arguments) and len(args) <= len(self.names)
        if not fits or arguments.keys() - set(self.names):
            raise TypeError(f"{self.pattern}({', '.join(self.names)}): got {args} {dict(kwargs)}")
        given = []
        for argument, classes in self.checks:
            value = arguments.get(argument.name)
            if value is None:
                if not argument.optional:
                    raise TypeError(f"{self.pattern}: {argument.name!r} is missing")
                continue
            _expect(argument, value, classes)
            given.append(argument.name)
        asking = self.askings.get(frozenset(given))
        if asking is None:
            raise TypeError(f"{self.pattern}: arguments are left out from the right only")
        return Bound(self, asking, arguments)


def _parameters(pattern: Pattern) -> Iterable[str]:
    function = pattern.function
    code = function.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def _results(pattern: Pattern, model: TableModel) -> Sequence[type[Any]]:
    return [e.model for e in model.entities] if pattern.by_type else pattern.results


def _classes(argument: Argument) -> tuple[type, ...]:
    """What a value may be an instance of; empty: not checked."""
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
            raise BadValue(f"{argument.name}={one!r} is not {names}")
        if isinstance(one, datetime) and one.tzinfo is None:
            raise BadValue(f"{argument.name}={one!r} has no time zone")
