"""Reading access patterns: the methods of a Protocol become data.

Arguments are known values, their annotations are operators, and the return type is the result;
decorators add facts. How a pattern is served is decided in `plan`.
"""

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from hashrange.design.declare.facts import Facts, facts
from hashrange.design.declare.item import Item, View, viewed
from hashrange.design.declare.markers import PERIODS, RANGES, Operator, OperatorName
from hashrange.design.declare.protocols.queries import AsyncQuery, Query
from hashrange.design.declare.protocols.stores import AsyncStore, Store
from hashrange.design.declare.types import core_type
from hashrange.design.declare.vectors import Nearest, VectorLike
from hashrange.design.errors import DeclarationError

Shape = Literal["one", "many", "count", "nearest"]


@dataclass(frozen=True)
class Argument:
    """An argument of a pattern. An `optional` argument that is None shortens the key condition.

    `fields` has an (entity, field) pair for each entity in which `field` has another name.
    """

    name: str
    field: str
    operator: OperatorName
    python: Any
    optional: bool
    fields: tuple[tuple[str, str], ...] = ()
    values: tuple[Any, ...] = ()
    """The values that `@st.scatter` reads. With values, a caller does not pass the argument."""
    unit: OperatorName | None = None
    """The unit of a range of whole months, days or hours: "day" for st.AtLeast[st.Day].

    The unit at an end of the range is included or excluded as a whole.
    """

    @property
    def exact(self) -> bool:
        """Whether the operator asks for a field that equals the argument, or one of its values."""
        return self.operator in ("=", "any of")

    def of(self, entity: object) -> "Argument":
        """The argument, with the field's name in `entity`."""
        name = dict(self.fields).get(str(entity)) if self.fields else None
        return self if name is None else replace(self, field=name, fields=())


@dataclass(frozen=True)
class SearchArguments:
    """The arguments of a pattern that returns st.Nearest: the vector, and the number of items.

    `vector` is the name of the argument that takes the vector. `top` is the default number of
    items; None if the caller has to pass the number.
    """

    vector: str
    top: int | None


TOP = "top"
"""The name of the argument for the number of items that a search returns."""


@dataclass(frozen=True)
class Pattern:
    """An access pattern. `results` are classes of items or views. `search` is for vector searches.

    A pattern can return items of any entity that the caller names. Then `by_type` is the name of
    the argument for the entity, and `results` is empty.
    """

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
    search: SearchArguments | None = None

    @property
    def entities(self) -> tuple[type[Item], ...]:
        return tuple(dict.fromkeys(entity_of(result) for result in self.results))

    def variants(self) -> Iterator[tuple[Argument, ...]]:
        """The arguments that calls can pass: all, then all but the last optional one, and so on."""
        arguments = list(self.arguments)
        yield tuple(arguments)
        while arguments and arguments[-1].optional:
            arguments.pop()
            yield tuple(arguments)

    def __str__(self) -> str:
        return f"{self.owner.__name__}.{self.name}"


def entity_of(result: type[Any]) -> type[Item]:
    model: type[Item] = viewed(result) if issubclass(result, View) else result
    return model


def with_subclasses(patterns: Sequence[Pattern], listed: Sequence[type[Item]]) -> list[Pattern]:
    """The patterns, with each class without a key replaced by the entities that extend it.

    Such entities are found among the results of all patterns, the relations in @st.through, and
    `listed`. Raises DeclarationError if no entity extends the class.
    """
    returned = [model for pattern in patterns for model in pattern.entities]
    through = [p.facts.through for p in patterns if p.facts.through is not None]
    entities = [m for m in dict.fromkeys([*returned, *through, *listed]) if hasattr(m, "key")]

    def extended(pattern: Pattern, result: type[Any]) -> list[type[Any]]:
        if hasattr(entity_of(result), "key"):
            return [result]
        models = [model for model in entities if issubclass(model, result)]
        if not models:
            name = result.__name__
            message = (
                f"{name} has no key, and the table has no entity that extends it: declare key = "
                f'st.key("...", "..."), or list the entities, e.g. st.Table(..., My{name})'
            )
            raise DeclarationError(message, at=pattern.function)
        return models

    changed = []
    for pattern in patterns:
        results = [one for result in pattern.results for one in extended(pattern, result)]
        changed.append(replace(pattern, results=tuple(dict.fromkeys(results))))
    return changed


def read_patterns(protocol: type) -> list[Pattern]:
    """The patterns that a Protocol declares or inherits. Raises DeclarationError."""
    asynchronous = _inherits(protocol, AsyncStore)
    if not asynchronous and not _inherits(protocol, Store):
        raise DeclarationError(
            "a Protocol of patterns needs st.Store or st.AsyncStore as a base class", at=protocol
        )
    if not getattr(protocol, "_is_protocol", False):
        raise DeclarationError(
            "it is not a Protocol: add typing.Protocol to its bases", at=protocol
        )
    patterns: dict[str, Pattern] = {}
    for base in reversed(protocol.__mro__):
        if base in (Store, AsyncStore) or not getattr(base, "_is_protocol", False):
            continue
        for name, function in vars(base).items():
            if inspect.isfunction(function) and not name.startswith("_"):
                patterns[name] = _Reader(base, function, asynchronous).pattern()
    return list(patterns.values())


def _inherits(protocol: type, base: type) -> bool:
    return base in getattr(protocol, "__mro__", ())  # `protocol` can be any object


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
        search = self._search(hints) if shape == "nearest" else None
        apart = (search.vector, TOP) if search is not None else ()
        arguments, by_type = self._arguments(hints, variable, apart)
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
            search=search,
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

    # ---- results ----

    def _returns(self, hint: Any) -> tuple[tuple[type[Any], ...], Shape, TypeVar | None]:
        if hint is int:
            self._expect_coroutine(True)
            counted = facts(self.function).counted
            if not counted:
                raise self._error("declare which entities it counts: @st.counts(Entity)")
            return counted, "count", None
        if facts(self.function).counted:
            raise self._error("@st.counts is for patterns that return int")
        origin = get_origin(hint)
        if origin in (Query, AsyncQuery):
            self._expect_coroutine(False)
            if (origin is AsyncQuery) != self.asynchronous:
                right = "AsyncQuery" if self.asynchronous else "Query"
                raise self._error(f"a pattern of this store must return st.{right}")
            [inner] = get_args(hint)
            if isinstance(inner, TypeVar):
                return (), "many", inner
            return self._results(inner), "many", None
        if origin is Nearest:
            self._expect_coroutine(True)
            [inner] = get_args(hint)
            return self._results(inner), "nearest", None
        if type(None) in get_args(hint):
            self._expect_coroutine(True)
            return self._results(hint), "one", None
        query = "AsyncQuery" if self.asynchronous else "Query"
        raise self._error(
            f"it must return `X | None`, `st.{query}[X]`, `st.Nearest[X]` or `int`, not {hint}"
        )

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

    # ---- arguments ----

    def _search(self, hints: dict[str, Any]) -> SearchArguments:
        """The vector and the number of items of a search. Removes both arguments from `hints`."""
        vectors = [name for name, hint in hints.items() if hint == VectorLike]
        if len(vectors) != 1 or hints.get(TOP) is not int:
            raise self._error("a search must have the arguments `to: st.VectorLike` and `top: int`")
        for name in (*vectors, TOP):
            del hints[name]
        default: Any = inspect.signature(self.function).parameters[TOP].default
        if default is not inspect.Parameter.empty and type(default) is not int:
            raise self._error("the default of 'top' must be a number")
        return SearchArguments(vectors[0], default if isinstance(default, int) else None)

    def _arguments(
        self, hints: dict[str, Any], variable: TypeVar | None, apart: Sequence[str]
    ) -> tuple[list[Argument], str | None]:
        arguments, by_type = [], None
        parameters = inspect.signature(self.function).parameters
        for name, parameter in list(parameters.items())[1:]:
            if name in apart:
                continue
            if name not in hints:
                raise self._error(f"the argument {name!r} has no type")
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                raise self._error("a pattern cannot take *args or **kwargs")
            hint = hints[name]
            if get_origin(hint) is type and get_args(hint) == (variable,):
                by_type = name
            else:
                arguments.append(self._argument(name, hint, parameter.default))
        if variable is not None and by_type is None:
            raise self._error(f"it needs an argument `entity: type[{variable}]`")
        optional = [argument.optional for argument in arguments]
        if optional != sorted(optional):
            raise self._error("arguments with `= None` must come last")
        return arguments, by_type

    def _argument(self, name: str, hint: Any, default: Any) -> Argument:
        metadata: list[Any] = []
        python, optional = core_type(hint, metadata)
        if default is not inspect.Parameter.empty and default is not None:
            raise self._error(f"{name!r}: the default can only be None")
        if optional != (default is None):
            raise self._error(f"write `{name}: T | None = None` for an optional argument")
        if any(isinstance(one, Operator) and one.name == "between" for one in metadata):
            python = self._both_ends(name, python, metadata)
        units = [m for m in metadata if isinstance(m, Operator) and m.name in PERIODS]
        others = [m for m in metadata if isinstance(m, Operator) and m.name not in PERIODS]
        [operator, *more] = [*others, *units, Operator("=")]
        unit = units[0].name if others and units else None
        if len(others) > 1 or len(units) > 1 or (unit and operator.name not in RANGES):
            both = f"{operator.name} and {more[0].name}"
            raise self._error(f"{name!r}: {both} cannot be combined")
        if operator.name == "any of":
            python = self._member(name, python)
        field, fields = operator.field or name, operator.fields
        return Argument(name, field, operator.name, python, optional, fields, unit=unit)

    def _member(self, name: str, python: Any) -> Any:
        inner = [one for one in get_args(python) if one is not Ellipsis]
        if len(inner) != 1:
            raise self._error(f"{name!r}: write st.AnyOf[T], or a list of T with st.any_of(field)")
        return core_type(inner[0], [])[0]

    def _both_ends(self, name: str, python: Any, metadata: list[Any]) -> Any:
        ends = get_args(python) if get_origin(python) is tuple else ()
        if len(ends) != 2 or ends[0] != ends[1]:
            raise self._error(f"{name!r}: between takes a tuple of two values of the same type")
        return core_type(ends[0], metadata)[0]


def _title(function: Callable[..., Any]) -> str:
    """The docstring's first line, or the method's name in words."""
    text = inspect.getdoc(function)
    first = text.splitlines()[0].strip() if text else ""
    return first or function.__name__.replace("_", " ").capitalize()
