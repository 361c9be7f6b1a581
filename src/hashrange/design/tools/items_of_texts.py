"""Makes an item from texts, one for each field, e.g. from a form."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item


class FieldFaults(ValueError):
    """Some fields of an item have no valid value. `faults` has a message for each, by field."""

    def __init__(self, faults: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {fault}" for name, fault in faults.items()))
        self.faults = faults


def item_of_texts(entity: Entity, texts: Mapping[str, str]) -> Item:
    """Make an item. `texts` has the values of its fields, by name.

    A field with an empty text gets its default. Maps and lists are written as JSON. Raises
    FieldFaults.
    """
    values: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for name, declared in entity.model.model_fields.items():
        text = texts.get(name, "")
        if text:
            try:
                values[name] = _value(declared.annotation, text)
            except ValidationError as error:
                faults[name] = error.errors()[0]["msg"]
        elif declared.is_required():
            faults[name] = "is required"
    if not faults:
        try:
            return entity.model(**values)
        except ValidationError as error:
            faults = {str((*each["loc"], "item")[0]): each["msg"] for each in error.errors()}
    raise FieldFaults(faults)


def _value(declared: Any, text: str) -> Any:
    adapter: TypeAdapter[Any] = TypeAdapter(declared)
    try:
        return adapter.validate_strings(text)
    except ValidationError:
        if text.lstrip()[:1] not in ("[", "{"):
            raise
    return adapter.validate_json(text)
