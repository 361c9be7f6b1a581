"""Fields that are computed from other fields, for keys and conditions.

    class User(st.Item):
        by_domain = st.index("GSI1", "domain#{domain}", "{email}")

        email: str

        @st.derived("email")
        def domain(self) -> str:
            return self.email.split("@")[1]

Every write stores the computed value. A write that does not read the item, such as `patch`, refuses
to change the fields that the decorator names.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from hashrange.design.errors import BadValue, DeclarationError, suggest

T = TypeVar("T")


class Derived(Generic[T]):
    """See `derived`. On an item, the attribute returns the computed value."""

    def __init__(self, inputs: tuple[str, ...], function: Callable[[Any], T]) -> None:
        self.inputs = inputs
        self.function = function
        self.name = function.__name__

    @overload
    def __get__(self, item: None, owner: Any = None) -> "Derived[T]": ...
    @overload
    def __get__(self, item: object, owner: Any = None) -> T: ...
    def __get__(self, item: object | None, owner: Any = None) -> "Derived[T] | T":
        if item is None:
            return self
        if isinstance(item, _Inputs):
            return self.function(item)
        return self.value(vars(item), type(item))

    def value(self, values: Mapping[str, Any], model: type[Any]) -> T:
        """Compute the value from the fields `values` of an item. Raises BadValue."""
        inputs = {name: values[name] for name in self.inputs}
        try:
            result = self.function(_Inputs(model, self, inputs))
            return typing.cast(T, self._type.validate_python(result))
        except DeclarationError:
            raise
        except ValidationError as error:
            reason = "; ".join(one["msg"] for one in error.errors())
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        raise BadValue(f"it cannot be computed from {inputs}: {reason}", field=self.name)

    @cached_property
    def info(self) -> FieldInfo:
        """Pydantic's description of the type that the function returns. Raises DeclarationError."""
        hints = typing.get_type_hints(self.function, include_extras=True)
        if hints.get("return") in (None, type(None)):
            message = f"{self.name}: write the type that it returns, e.g. `-> str`"
            raise DeclarationError(message, at=self.function)
        return FieldInfo.from_annotation(hints["return"])

    @cached_property
    def _type(self) -> TypeAdapter[Any]:
        return TypeAdapter(typing.get_type_hints(self.function, include_extras=True)["return"])

    def expect_inputs(self, model: type[Any]) -> None:
        """Raise DeclarationError unless the inputs are fields of the model."""
        if not self.inputs:
            message = f'{self.name}: name the fields that it uses: @st.derived("email")'
            raise DeclarationError(message, at=self.function)
        for name in self.inputs:
            if name not in model.model_fields:
                text = f"{self.name}: {name} is not a field{suggest(name, model.model_fields)}"
                raise DeclarationError(text, at=self.function)
        _ = self.info


class _Inputs:
    """The `self` of a derived field's function, with only the fields that its decorator names."""

    def __init__(self, model: type[Any], derived: Derived[Any], values: dict[str, Any]) -> None:
        vars(self).update(values)
        self.__model = model
        self.__derived = derived

    def __getattr__(self, name: str) -> Any:
        derived = self.__derived
        if name in self.__model.model_fields:
            names = ", ".join(repr(one) for one in (*derived.inputs, name))
            raise DeclarationError(
                f"{derived.name} uses {name}, so name it in the decorator: @st.derived({names})",
                at=derived.function,
            )
        attribute = inspect.getattr_static(self.__model, name)
        return attribute.__get__(self, self.__model) if hasattr(attribute, "__get__") else attribute


def derived(*inputs: str) -> Callable[[Callable[[Any], T]], Derived[T]]:
    """Declare a field that the decorated method computes from the fields `inputs`.

    Each write stores the computed value. The field can be used in keys, indexes, `st.unique`,
    conditions and patterns like any other field, but cannot be assigned. The method must return the
    same value for the same inputs.
    """
    return lambda function: Derived(inputs, function)


def derived_fields(model: type[Any]) -> dict[str, Derived[Any]]:
    """A model's own and inherited derived fields."""
    fields: dict[str, Derived[Any]] = {}
    for base in reversed(model.__mro__):
        fields |= {name: one for name, one in vars(base).items() if isinstance(one, Derived)}
    return fields
