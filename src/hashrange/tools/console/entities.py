"""The entity type of an item in a table that holds several, guessed from the item alone."""

import re
import threading

from hashrange.tools.console.shapes import Item, Source

COLOURS = 10
"""The number of entity colours in the style sheet."""

_NAMES = ("type", "_type", "entity", "_et", "kind", "entitytype", "entity_type", "__edb_e__", "et")
_PREFIX = re.compile(r"([^#|:/\d]{1,40})[#|:/]")


def entity_of(item: Item, source: Source) -> str:
    """A name for the item's type: the value of an attribute such as `type`, or else the prefixes of
    its keys.

    `customer#ann` and `order#7` make "customer · order". The name is empty if the item has neither
    such an attribute nor prefixes.
    """
    for name, value in item.items():
        if name.lower() in _NAMES and "S" in value and 0 < len(value["S"]) <= 40:
            return str(value["S"])
    prefixes = [_prefix(item.get(name, {}).get("S", "")) for name in source.keys]
    return " · ".join(dict.fromkeys(filter(None, prefixes)))


def conditions_of(item: Item, source: Source) -> list[tuple[str, str, str]]:
    """Filters that together match all items of this item's type. Empty if the type is unknown. Each
    filter has an attribute, an operator and a text."""
    for name, value in item.items():
        if name.lower() in _NAMES and "S" in value and 0 < len(value["S"]) <= 40:
            return [(name, "=", value["S"])]
    texts = {name: item.get(name, {}).get("S", "") for name in source.keys}
    conditions = []
    for name, text in texts.items():
        if prefix := _PREFIX.match(text):
            conditions.append((name, "begins_with", prefix[0]))
        elif text.isalpha():
            conditions.append((name, "=", text))
    return conditions


def _prefix(text: str) -> str:
    """The prefix of a key: `order` of `order#7`. A text of at most 20 capital letters is its own
    prefix. Any other text has none."""
    match = _PREFIX.match(text)
    if match:
        return match[1]
    return text if text.isalpha() and text.isupper() and len(text) <= 20 else ""


class Colours:
    """Numbers the colours of entity types, in the order in which the types are first seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def of(self, entity: str) -> int:
        with self._lock:
            if len(self._numbers) > 1000:  # a "type" that differs in each item
                self._numbers.clear()
            return self._numbers.setdefault(entity, len(self._numbers) % COLOURS)
