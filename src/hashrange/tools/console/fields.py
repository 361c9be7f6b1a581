"""Turns an item into the fields of a form, one for each attribute, and back into an item.

A form cannot carry every text: browsers change line breaks and lose U+0000. A string with such
characters is edited as a JSON string. If the name of an attribute has such characters, the whole
item is edited as JSON.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from hashrange.model.errors import ValidationException
from hashrange.model.numbers import canonical
from hashrange.tools.console.shapes import Item, TableShape
from hashrange.tools.console.values import TYPES, ValueMistake, entered, plain, pretty, typed

ESCAPED = "escaped"
KINDS = {**TYPES, ESCAPED: 'String, in quotes: "a\\nb"'}

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Field:
    """The field of one attribute. A `locked` field is a key: its name and type cannot change."""

    name: str
    kind: str
    text: str
    locked: bool = False
    fault: str = ""

    @property
    def lines(self) -> int:
        return min(18, max(1, self.text.count("\n") + 1, len(self.text) // 90))


def fields_of(item: Item, shape: TableShape, locked: bool) -> list[Field] | None:
    """The fields of an item, its keys first. None if it can be edited only as JSON."""
    if any(_UNSAFE.search(name) or "\n" in name or not name for name in item):
        return None
    keys = shape.table.keys
    names = [*(name for name in keys if name in item), *sorted(set(item) - set(keys))]
    return [_field(name, item[name], locked and name in keys) for name in names]


def _field(name: str, value: dict[str, Any], locked: bool) -> Field:
    [(kind, content)] = value.items()
    if kind == "S" and _UNSAFE.search(content):
        return Field(name, ESCAPED, json.dumps(content), locked)
    if kind in ("S", "N"):
        return Field(name, kind, content, locked)
    if kind in ("BOOL", "NULL"):
        return Field(name, kind, str(content).lower(), locked)
    if kind == "B":
        return Field(name, kind, plain(content), locked)
    return Field(name, kind, pretty(content), locked)


class FieldMistakes(ValueMistake):
    """Some fields of a form are faulty. The faults are stored by the number of the field's row."""

    def __init__(self, faults: dict[int, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = faults


def item_of_fields(names: list[str], kinds: list[str], texts: list[str]) -> Item:
    """The item that was entered. Rows without a name are left out. Raises `FieldMistakes`."""
    item: Item = {}
    faults: dict[int, str] = {}
    for row, (name, kind, text) in enumerate(zip(names, kinds, texts, strict=False)):
        if not name:
            continue
        try:
            if name in item:
                raise ValueMistake(f"{name}: occurs twice")
            item[name] = _value(name, kind, text.replace("\r\n", "\n"))
        except ValueMistake as mistake:
            faults[row] = str(mistake)
    if faults:
        raise FieldMistakes(faults)
    return item


def _number(name: str, text: str) -> str:
    try:
        canonical(text)
    except ValidationException as error:
        raise ValueMistake(f"{name}: {error.message}") from None
    return text


def _value(name: str, kind: str, text: str) -> dict[str, Any]:
    if kind == "S":
        return {"S": text}
    if kind not in KINDS:
        raise ValueMistake(f"{name}: {kind} is not a type")
    if kind == "N":
        return {"N": _number(name, text.strip())}
    if kind == "B":
        return typed({kind: text.strip()}, name)
    if kind == "NULL":
        return {"NULL": True}
    try:
        content = entered(text) if kind in ("M", "L") else json.loads(text)
    except (ValueError, RecursionError) as problem:
        needed = {"BOOL": "true or false", ESCAPED: 'a text in quotes, "a\\nb"'}
        wanted = needed.get(kind, "JSON")
        raise ValueMistake(f"{name}: {KINDS[kind]} needs {wanted}; {problem}") from None
    return typed({"S" if kind == ESCAPED else kind: content}, name)
