"""Classes for the amounts that `add` takes, so that type checkers see the fields and values.

class Take(st.Amounts[Stock]):
    available: int

db.add(stock, Take(available=-3))
"""

from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from hashrange.design.declare.item import Item
from hashrange.design.errors import BadValue, DeclarationError, suggest

E = TypeVar("E", bound=Item)
Amount = int | Decimal | Set[Any]
"""What can be added: a number, or members of a set."""


class Amounts(BaseModel, Generic[E]):
    """The amounts to add to fields of an entity's item. A field that is None is left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    entity: ClassVar[type[Item]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        generic = cls.__pydantic_generic_metadata__
        if generic["origin"] is Amounts:
            cls.entity = generic["args"][0]
        elif not hasattr(cls, "entity"):
            raise DeclarationError("name its entity: st.Amounts[Stock]", at=cls)
        else:
            fields = cls.entity.model_fields
            for name in cls.model_fields:
                if name not in fields:
                    text = f"{cls.entity.__name__} has no field {name!r}{suggest(name, fields)}"
                    raise DeclarationError(text, at=cls)


def all_amounts(item: Item, by: Amounts[Any] | None, amounts: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the amounts of `by` and `amounts`. For a field in both, `amounts` is used.

    Raises BadValue if `by` is for another entity.
    """
    if by is None:
        return dict(amounts)
    if not isinstance(by, Amounts) or not isinstance(item, by.entity):
        raise BadValue(f"{by!r} is not st.Amounts[{type(item).__name__}]")
    named = {name: getattr(by, name) for name in type(by).model_fields}
    return {**{name: value for name, value in named.items() if value is not None}, **amounts}
