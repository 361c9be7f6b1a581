"""Reading the attributes of a stored item with code that is compiled for its entity.

A query of 50 items reads hundreds of attributes, and a dictionary display with constant names takes
half the time of a loop over names.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from hashrange.design.declare.absent import STORED, absent_value
from hashrange.design.declare.types import AS_IT_IS, FieldType
from hashrange.model.values import Item as WireItem

Reader = Callable[[WireItem], dict[str, Any]]


def reader(
    fields: Mapping[str, FieldType],
    keys: Mapping[str, str],
    filled_in: Mapping[str, Any],
    refused: Collection[str],
) -> Reader:
    """A function that reads the values of a stored item's fields, for pydantic to validate.

    `fields` maps attributes to their types, and `filled_in` maps attributes to the values that they
    have if they are absent. `keys` maps an attribute to its name in the result, if the two differ.
    The function raises KeyError if an attribute that is always stored is missing, if an attribute
    has another type than its field, or if an attribute in `refused` is present.
    """
    known: dict[str, Any] = {"absent": dict(filled_in)}
    always, sometimes = [], []
    for number, (name, kind) in enumerate(fields.items()):
        key, as_it_is = keys.get(name, name), kind.tag in AS_IT_IS
        content = f"raw[{name!r}][{kind.tag!r}]"
        if not as_it_is:
            known[f"decode{number}"] = kind.decode
            content = f"decode{number}(raw[{name!r}])"
        if as_it_is and absent_value(kind) is STORED:
            always.append(f"{key!r}: {content}")
            continue
        sometimes += [f" if {name!r} in raw:", f"  values[{key!r}] = {content}"]
        if name in filled_in:
            sometimes += [" else:", f"  values[{key!r}] = absent[{name!r}]"]
    lines = ["def read(raw):"]
    lines += [f" if {name!r} in raw: raise KeyError({name!r})" for name in refused]
    lines += [f" values = {{{', '.join(always)}}}", *sometimes, " return values"]
    exec("\n".join(lines), known)
    made: Reader = known["read"]
    return made
