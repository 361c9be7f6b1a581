"""Calls a pattern with arguments that are texts, from a form or a command line."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import TypeAdapter, ValidationError

from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.errors import BadValue

if TYPE_CHECKING:
    from hashrange.design.table import Table


def request_of_texts(table: "Table", pattern: Pattern, texts: Mapping[str, str]) -> Explanation:
    """The requests of a pattern. `texts` has the arguments as texts, by their names.

    An optional argument may be left out or empty. For an argument that selects an entity, the text
    is the entity's name. A tuple is written as a JSON array. Raises BadValue for a text that is not
    a valid value, or DeclarationError if no key or index serves the pattern.
    """
    values: dict[str, Any] = {}
    if pattern.by_type:
        values[pattern.by_type] = _entity(table, texts.get(pattern.by_type, ""))
    for argument in pattern.arguments:
        text = texts.get(argument.name, "")
        if text or not argument.optional:
            values[argument.name] = _value(argument, text)
        else:
            values[argument.name] = None
    return table.request(pattern.function, **values)


def _entity(table: "Table", name: str) -> type:
    for entity in table.model.entities:
        if entity.name == name:
            return entity.model
    raise BadValue(f"there is no entity {name!r}")


def _value(argument: Argument, text: str) -> Any:
    adapter: TypeAdapter[Any] = TypeAdapter(argument.python)
    try:
        return (
            adapter.validate_json(text)
            if get_origin(argument.python) is tuple
            else adapter.validate_strings(text)
        )
    except ValidationError as error:
        raise BadValue(f"{argument.name}: {error.errors()[0]['msg']}") from None
