"""Reading access patterns: the methods of a Protocol become data.

Arguments are what is known, their annotations are operators, the return type is what comes
back; decorators add facts. Nothing here knows how a pattern is served: see `planner`.
"""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from hashrange.design.declare.item import Index, Item, View, viewed
from hashrange.design.declare.markers import Operator, OperatorName
from hashrange.design.declare.protocols import AsyncQuery, AsyncStore, Query, Store
from hashrange.design.declare.types import FieldType, core_type
from hashrange.design.errors import DeclarationError, suggest

F = TypeVar("F", bound=Callable[..., Any])
Shape = Literal["one", "many", "count"]


@dataclass(frozen=True)
class Facts:
    """What decorators say. `rate` per second; `items` per call; `size` of an item in bytes."""

    rate: float | None = None
    items: int | None = None
    size: int | None = None
    consistent: bool = False
    latest: bool = False
    scan: str | None = None
    where: str | None = None
    through: type[Item] | None = None
    counted: tuple[type[Item], ...] = ()
    using: str | None = None


def facts(function: Callable[..., Any]) -> Facts:
    found: Facts = getattr(function, "__design_facts__", Facts())
    return found


def _fact(function: F, **more: Any) -> F:
    function.__design_facts__ = replace(facts(function), **more)  # type: ignore[attr-defined]
    return function


def rate(
    per_second: float, *, items: int | None = None, size: int | None = None
) -> Callable[[F], F]:
    """How often the pattern is asked, how many items it answers, of how many bytes each."""
    return lambda function: _fact(function, rate=per_second, items=items, size=size)


def consistent(function: F) -> F:
    """Read what was written before: twice the capacity, and not from a global index."""
    return _fact(function, consistent=True)


def latest(function: F) -> F:
    """The newest first; with `X | None`, only the newest."""
    return _fact(function, latest=True)


def scan_ok(reason: str) -> Callable[[F], F]:
    """This pattern may read the whole table, because ..."""
    return lambda function: _fact(function, scan=reason)


def where(condition: str) -> Callable[[F], F]:
    """A filter over what was read, e.g. `"status = :s"` where `s` is an argument."""
    return lambda function: _fact(function, where=condition)


def through(relation: type[Item]) -> Callable[[F], F]:
    """Read `relation` by the arguments, then get the items that it names by their keys."""
    return lambda function: _fact(function, through=relation)


def using(index: Index) -> Callable[[F], F]:
    """Read this index, e.g. `@st.using(Sensor.broken)`: needed where an index has a `when`.

    Such an index holds some items only, and that those are the ones meant is for you to say.
    """
    return lambda function: _fact(function, using=index.name)


def counts(*entities: type[Item]) -> Callable[[F], F]:
    """What a pattern that returns `int` counts."""
    return lambda function: _fact(function, counted=entities)


@dataclass(frozen=True)
class Argument:
    """`optional`: it may be None, and then shortens what is asked for."""

    name: str
    field: str
    operator: OperatorName
    python: Any
    optional: bool


@dataclass(frozen=True)
class Pattern:
    """`results` are items or views; empty with `by_type`: any entity, named by that argument."""

    name: str
    title: str
    owner: type
    function: Callable[..., Any]
    arguments: tuple[Argument, ...]
    results: tuple[type[Any], ...]
    shape: Shape
    asynchronous: bool
    facts: Facts
    by_type: str | None = None

    @property
    def entities(self) -> tuple[type[Item], ...]:
        return tuple(dict.fromkeys(entity_of(result) for result in self.results))

    def __str__(self) -> str:
        return f"{self.owner.__name__}.{self.name}"


def entity_of(result: type[Any]) -> type[Item]:
    model: type[Item] = viewed(result) if issubclass(result, View) else result
    return model


def read_patterns(protocol: type) -> list[Pattern]:
    """The patterns that a Protocol declares, inherited ones too. Raises DeclarationError."""
    asynchronous = _inherits(protocol, AsyncStore)
    if not asynchronous and not _inherits(protocol, Store):
        raise DeclarationError("its patterns need st.Store or st.AsyncStore as base", at=protocol)
    if not getattr(protocol, "_is_protocol", False):
        raise DeclarationError("it is no Protocol: add typing.Protocol to its bases", at=protocol)
    found: dict[str, Pattern] = {}
    for base in reversed(protocol.__mro__):
        if base in (Store, AsyncStore) or not getattr(base, "_is_protocol", False):
            continue
        for name, function in vars(base).items():
            if inspect.isfunction(function) and not name.startswith("_"):
                found[name] = _Reader(base, function, asynchronous).pattern()
    return list(found.values())


def _inherits(protocol: type, base: type) -> bool:
    return base in getattr(protocol, "__mro__", ())  # anything may have been handed in


@dataclass
class _Reader:
    owner: type
    function: Any
    asynchronous: bool

    def pattern(self) -> Pattern:
        name = self.function.__name__
        if name in vars(Store):
            raise self._error("a pattern cannot have the name of a store's method: rename it")
        hints = self._hints()
        results, shape, variable = self._returns(hints.pop("return", None))
        arguments, by_type = self._arguments(hints, variable)
        return Pattern(
            name=name,
            title=_title(self.function),
            owner=self.owner,
            function=self.function,
            arguments=tuple(arguments),
            results=results,
            shape=shape,
            asynchronous=self.asynchronous,
            facts=facts(self.function),
            by_type=by_type,
        )

    def _error(self, message: str) -> DeclarationError:
        return DeclarationError(message, at=self.function)

    def _hints(self) -> dict[str, Any]:
        try:
            return typing.get_type_hints(self.function, include_extras=True)
        except NameError as error:
            raise self._error(
                f"{error}: a model inside a function cannot be found by its name under "
                "`from __future__ import annotations`; declare it at the module's top level"
            ) from error

    # ---- what comes back ----

    def _returns(self, hint: Any) -> tuple[tuple[type[Any], ...], Shape, TypeVar | None]:
        if hint is int:
            self._expect_coroutine(True)
            counted = facts(self.function).counted
            if not counted:
                raise self._error("say what it counts: @st.counts(Entity)")
            return counted, "count", None
        origin = get_origin(hint)
        if origin in (Query, AsyncQuery):
            self._expect_coroutine(False)
            if (origin is AsyncQuery) != self.asynchronous:
                right = "AsyncQuery" if self.asynchronous else "Query"
                raise self._error(f"a pattern of this store returns st.{right}")
            [inner] = get_args(hint)
            if isinstance(inner, TypeVar):
                return (), "many", inner
            return self._results(inner), "many", None
        if type(None) in get_args(hint):
            self._expect_coroutine(True)
            return self._results(hint), "one", None
        query = "AsyncQuery" if self.asynchronous else "Query"
        raise self._error(f"it must return `X | None`, `st.{query}[X]` or `int`, not {hint}")

    def _expect_coroutine(self, single: bool) -> None:
        expected = single and self.asynchronous
        if inspect.iscoroutinefunction(self.function) != expected:
            write = "async def" if expected else "def"
            raise self._error(f"it must be written with `{write}`")

    def _results(self, hint: Any) -> tuple[type[Any], ...]:
        options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        results = tuple(option for option in options if option is not type(None))
        for result in results:
            if not (isinstance(result, type) and issubclass(result, (Item, View))):
                raise self._error(f"{result} is not an st.Item or st.View")
        return results

    # ---- what is known ----

    def _arguments(
        self, hints: dict[str, Any], variable: TypeVar | None
    ) -> tuple[list[Argument], str | None]:
        arguments, by_type = [], None
        parameters = inspect.signature(self.function).parameters
        for name, parameter in list(parameters.items())[1:]:
            if name not in hints:
                raise self._error(f"the argument {name!r} has no type")
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                raise self._error("a pattern names each of its arguments")
            hint = hints[name]
            if get_origin(hint) is type and get_args(hint) == (variable,):
                by_type = name
            else:
                arguments.append(self._argument(name, hint, parameter.default))
        if variable is not None and by_type is None:
            raise self._error(f"it needs an argument `entity: type[{variable}]`")
        optional = [argument.optional for argument in arguments]
        if optional != sorted(optional):
            raise self._error("arguments with `= None` come last")
        return arguments, by_type

    def _argument(self, name: str, hint: Any, default: Any) -> Argument:
        metadata: list[Any] = []
        python, optional = core_type(hint, metadata)
        operator = next((m for m in metadata if isinstance(m, Operator)), Operator("="))
        if default is not inspect.Parameter.empty and default is not None:
            raise self._error(f"the only default is None, which shortens the key: {name!r}")
        if optional != (default is None):
            raise self._error(f"write `{name}: T | None = None` for an argument left out")
        if operator.name == "between":
            python = self._both_ends(name, python)
        return Argument(name, operator.field or name, operator.name, python, optional)

    def _both_ends(self, name: str, python: Any) -> Any:
        ends = get_args(python) if get_origin(python) is tuple else ()
        if len(ends) != 2 or ends[0] != ends[1]:
            raise self._error(f"{name!r}: between takes a tuple of two values of one type")
        return core_type(ends[0], [])[0]


def _title(function: Callable[..., Any]) -> str:
    """The docstring's first line, or else the method's name in words."""
    text = inspect.getdoc(function)
    first = text.splitlines()[0].strip() if text else ""
    return first or function.__name__.replace("_", " ").capitalize()


# ---- arguments against fields ----

_MIDNIGHT: tuple[OperatorName, ...] = ("at least", "before")
"""A date may stand for its midnight where no doubt is left about the day itself."""


def check_argument(argument: Argument, kind: FieldType, at: object) -> None:
    """The argument's type is the field's. Raises DeclarationError."""
    given, stored = argument.python, kind.python
    if argument.operator == "day":
        if stored is not datetime or given is not date:
            raise DeclarationError(
                f"{argument.name!r}: st.Day is a date, for a field that is a datetime", at=at
            )
        return
    if given == stored or (kind.choices and given is str):
        return
    if stored is datetime and given is date and argument.operator in _MIDNIGHT:
        return
    both_literal = get_origin(given) is Literal and get_origin(stored) is Literal
    if both_literal and set(get_args(given)) <= set(get_args(stored)):
        return
    raise DeclarationError(
        f"{argument.name!r} is {_name(given)}, but the field {argument.field!r} is {_name(stored)}",
        at=at,
    )


def _name(python: Any) -> str:
    return getattr(python, "__name__", None) or str(python).replace("typing.", "")


def unknown_field_error(
    argument: Argument, known: Mapping[str, Any], at: object
) -> DeclarationError:
    return DeclarationError(
        f"{argument.name!r} is not a field{suggest(argument.field, known)}", at=at, rule="K01"
    )
