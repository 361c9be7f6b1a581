"""Checks the arguments of a pattern's call, and converts them as the fields of the item do."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Annotated, Any, get_args, get_origin

from pydantic import (
    AfterValidator,
    BeforeValidator,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.markers import PERIODS, Delimited
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.types import core_type
from hashrange.design.errors import BadValue
from hashrange.design.execute.reads.whole_units import whole_units

_SEVERAL = ("between", "any of")
_DECORATORS: dict[str, Callable[[Any], Any]] = {
    "after": AfterValidator,
    "before": BeforeValidator,
    "plain": PlainValidator,
    "wrap": WrapValidator,
}


class ArgumentCheck:
    """The check of one argument. `field` is the field that the argument is compared with, if any.

    With `exact`, the argument is compared for equality, so it must be a valid value of the field.
    Otherwise (the end of a range, a prefix, a filter) a value that the field refuses is left
    unchanged.
    """

    def __init__(self, argument: Argument, entity: Entity | None, field: str, exact: bool) -> None:
        self.argument = argument
        self.name = argument.name
        self.entity = entity
        self.field = field
        self.exact = exact
        self.classes = _classes(argument)
        self.converts = _converts(argument, entity, field)
        self.plain_text = self.converts is None and str in self.classes
        """Whether every text is accepted unchanged."""

    def value(self, value: Any) -> Any:
        """Check and convert the argument's value for the request. Raises BadValue."""
        try:
            self._expect(value)
            if self.argument.unit is not None:
                assert self.entity is not None
                return whole_units(self.argument, value, self.entity.fields[self.field].python)
            if self.converts is None:
                return value
            if self.argument.operator in _SEVERAL:
                return tuple(self._converted(end) for end in value)
            return self._converted(value)
        except BadValue as error:
            raise error.of(self.entity or "") from None

    def _converted(self, value: Any) -> Any:
        assert self.converts is not None
        try:
            return self.converts(value)
        except ValidationError as error:
            if not self.exact:
                return value
            reason = "; ".join(one["msg"] for one in error.errors())
            raise BadValue(reason, field=self.field, value=value) from None
        except Exception:  # a validator that needs the item's other fields
            return value

    def _expect(self, value: Any) -> None:
        several = self.argument.operator == "any of"
        if several and (isinstance(value, (str, bytes)) or not isinstance(value, Collection)):
            raise BadValue("it is not a list, tuple or set of values", field=self.name, value=value)
        values = value if self.argument.operator in _SEVERAL else (value,)
        for one in values:
            if self.classes and not isinstance(one, self.classes):
                names = " or ".join(c.__name__ for c in self.classes)
                raise BadValue(f"it is not {names}", field=self.name, value=one)
            if isinstance(one, datetime) and one.tzinfo is None:
                raise BadValue("it has no time zone", field=self.name, value=one)


def _classes(argument: Argument) -> tuple[type, ...]:
    """The classes that a value may have; empty if the class is not checked."""
    python = argument.python
    if isinstance(python, type):
        return (python,)
    if get_origin(python) is tuple:
        return (tuple,)
    choices = get_args(python)
    return tuple({type(choice) for choice in choices if not isinstance(choice, type)})


def _converts(argument: Argument, entity: Entity | None, field: str) -> Callable[[Any], Any] | None:
    """The field's validators as one function; None if nothing has to be validated."""
    if entity is None or field not in entity.fields or argument.operator in PERIODS:
        return None
    kind = entity.fields[field]
    if argument.python != kind.python and not kind.choices:
        return None  # a date for a datetime field
    info = entity.info(field)
    metadata = [*info.metadata]
    core, _ = core_type(info.annotation, metadata)
    metadata = [m for m in metadata if not isinstance(m, Delimited)]
    metadata += _field_validators(entity, field)
    if not metadata and not kind.choices:
        return None
    checked: Any = Annotated[(core, *metadata)] if metadata else core  # pyright: ignore
    return TypeAdapter(checked).validate_python


def _field_validators(entity: Entity, field: str) -> Iterator[Any]:
    """The functions with @field_validator that apply to this field."""
    for decorator in entity.model.__pydantic_decorators__.field_validators.values():
        if field in decorator.info.fields or "*" in decorator.info.fields:
            yield _DECORATORS[decorator.info.mode](decorator.func)
