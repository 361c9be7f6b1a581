"""Conditions of stored items as classes, so that type checkers see their fields and values.

class InStock(st.Condition[Stock]):
    available: st.AtLeast[int]

db.put(stock, where=InStock(available=5))
"""

from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from hashrange.design.declare.item import Item
from hashrange.design.declare.markers import Operator
from hashrange.design.declare.types import core_type
from hashrange.design.errors import BadValue, DeclarationError, suggest

E = TypeVar("E", bound=Item)
_TEXTS = {
    "=": "{field} = :{name}",
    "at least": "{field} >= :{name}",
    "at most": "{field} <= :{name}",
    "after": "{field} > :{name}",
    "before": "{field} < :{name}",
    "between": "{field} BETWEEN :{name} AND :{name}_to",
    "begins with": "begins_with({field}, :{name})",
}


class _Comparison(NamedTuple):
    name: str
    operator: Operator

    def text(self) -> str:
        field = self.operator.field or self.name
        return _TEXTS[self.operator.name].format(field=field, name=self.name)


class Condition(BaseModel, Generic[E]):
    """A condition of an entity's stored items: all of its comparisons hold.

    A field of the class is compared with the entity's field of the same name, or with the field
    that its operator names, as in patterns. A comparison with None is left out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    entity: ClassVar[type[Item]]
    comparisons: ClassVar[tuple[_Comparison, ...]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        generic = cls.__pydantic_generic_metadata__
        if generic["origin"] is Condition:
            cls.entity = generic["args"][0]
        elif not hasattr(cls, "entity"):
            raise DeclarationError("name its entity: st.Condition[Stock]", at=cls)
        else:
            cls.comparisons = tuple(_comparison(cls, name) for name in cls.model_fields)

    def parts(self) -> tuple[str, dict[str, Any]]:
        """The condition in DynamoDB's syntax, with the values of its parameters."""
        texts, values = [], {}
        for comparison in self.comparisons:
            name, value = comparison.name, getattr(self, comparison.name)
            if value is None:
                continue
            texts.append(comparison.text())
            if comparison.operator.name == "between":
                values[name], values[f"{name}_to"] = value
            else:
                values[name] = value
        if not texts:
            raise BadValue(
                f"{type(self).__name__} compares nothing: set at least one of its fields"
            )
        return " AND ".join(texts), values


Where = str | Condition[Any]
"""A condition as text, or as an instance of a condition's class."""


def _comparison(condition: type[Condition[Any]], name: str) -> _Comparison:
    info = condition.model_fields[name]
    metadata: list[Any] = [*info.metadata]
    core_type(info.annotation, metadata)
    operator = next((m for m in metadata if isinstance(m, Operator)), Operator("="))
    fields = condition.entity.model_fields
    field = operator.field or name
    if field not in fields:
        raise DeclarationError(
            f"{condition.entity.__name__} has no field {field!r}{suggest(field, fields)}",
            at=condition,
        )
    if operator.name not in _TEXTS:
        raise DeclarationError(
            f"{name!r}: a condition cannot use the operator {operator.name!r}; for a period of "
            "time, write st.AtLeast and st.Before",
            at=condition,
        )
    return _Comparison(name, operator)
