"""Sorting items into entities, by a stored type or by the form of their keys."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hashrange.design.declare.schema import Column
from hashrange.design.execute.writes.unique_markers import MARKER_TYPE, OWNER_ATTRIBUTE
from hashrange.design.source.table_shape import TableShape
from hashrange.model.values import Item

TYPE_NAMES = (
    "entityType", "type", "_type", "__typename", "entity", "_et", "__edb_e__", "kind", "itemType",
    "recordType", "Type", "EntityType", "_ct",
)  # fmt: skip
"""Names under which programs store the type of an item, the usual ones first."""
TYPED_LEAST = 0.9
"""The least share of items that must have an attribute if it names the types of the items."""
TYPES_MAX = 100
CONSTANT_LEAST = 3
GROUP_LEAST = 0.005
"""The least share of a table's items that become an entity because their keys have one form."""
_SEGMENTS = re.compile(r"[^A-Za-z0-9]+|[A-Za-z0-9]+")
_DELIMITERS = re.compile(r"([#:|/@~!^$&+,;]+)")


@dataclass
class Group:
    """Items of one entity. `stored_as` is their type, if items have one.

    `name` is the name of the entity, if a file gives it. `templates` has proposed templates by key
    attribute; a template is used if it reproduces every key.
    """

    items: list[Item]
    stored_as: str = ""
    name: str = ""
    templates: dict[str, str] = field(default_factory=dict)
    form: tuple[str, ...] = ()


@dataclass
class Groups:
    """The items by entity. `markers` are markers of unique texts; `foreign` items fit no group."""

    type_attribute: str | None
    groups: list[Group] = field(default_factory=list)
    markers: list[Item] = field(default_factory=list)
    foreign: list[Item] = field(default_factory=list)


def group(shape: TableShape, items: Sequence[Item]) -> Groups:
    """Sort the items into groups. The groups are in the order of their first items."""
    attribute = type_attribute(shape, items)
    groups = Groups(attribute)
    rest: list[Item] = []
    for item in items:
        (groups.markers if _is_marker(shape, item) else rest).append(item)
    if attribute is not None:
        by_type: dict[str, list[Item]] = {}
        for item in rest:
            name = item.get(attribute, {}).get("S")
            if name:
                by_type.setdefault(name, []).append(item)
            else:
                groups.foreign.append(item)
        groups.groups = [Group(members, name) for name, members in by_type.items()]
        return groups
    by_form: dict[tuple[str, ...], list[Item]] = {}
    constants = _constants(shape.table.columns, rest)
    for item in rest:
        form = tuple(_form(column, item, constants) for column in shape.table.columns)
        by_form.setdefault(form, []).append(item)
    for form, members in by_form.items():
        if len(by_form) > 1 and len(members) < GROUP_LEAST * len(rest):
            groups.foreign += members
        else:
            groups.groups.append(Group(members, form=form))
    return groups


def _is_marker(shape: TableShape, item: Item) -> bool:
    text = item[shape.table.hash[0].attribute].get("S", "")
    owner = item.get(OWNER_ATTRIBUTE, {})
    return text.startswith(f"{MARKER_TYPE}#") and "M" in owner


# ---- an attribute that names the type ----


def type_attribute(shape: TableShape, items: Sequence[Item]) -> str | None:
    """The attribute that holds the type of most items, if there is one.

    It has few values, and all items with the same value have keys of the same form.
    """
    counts: Counter[str] = Counter()
    for item in items:
        counts.update(name for name, value in item.items() if "S" in value)
    keys = {column.attribute for column in shape.table.columns}
    likely = [
        name
        for name in TYPE_NAMES
        if name not in keys and counts[name] >= TYPED_LEAST * len(items) > 0
    ]
    for name in likely:
        values = {item[name]["S"] for item in items if "S" in item.get(name, {})}
        if len(values) <= TYPES_MAX and _one_form_each(shape, items, name):
            return name
    return None


def _one_form_each(shape: TableShape, items: Sequence[Item], name: str) -> bool:
    """Whether the keys of nearly all items with the same value of the attribute begin alike.

    The keys of one value may also begin with more than FORMS_FREE different texts.
    """
    forms: dict[str, Counter[tuple[str, ...]]] = {}
    for item in items:
        value = item.get(name, {}).get("S")
        if value is not None:
            form = tuple(_beginning(item[c.attribute].get("S", "")) for c in shape.table.columns)
            forms.setdefault(value, Counter())[form[:1]] += 1
    return all(max(counted.values()) >= TYPED_LEAST * counted.total() or len(counted) > FORMS_FREE
               for counted in forms.values())  # fmt: skip


FORMS_FREE = 8
"""The number of beginnings above which the keys of one type are taken to begin with a value."""


def _beginning(text: str) -> str:
    return _DELIMITERS.split(text, maxsplit=1)[0]


# ---- the form of keys ----

Constants = Mapping[str, frozenset[tuple[int, str]]]


def _constants(columns: Sequence[Column], items: Sequence[Item]) -> Constants:
    """The (position, text) pairs of the constant segments of each key attribute.

    Delimiters divide a key into segments. A segment is constant if it occurs often, has a letter,
    and is not the value of another attribute of the item.
    """
    keys = {column.attribute for column in columns}
    constants = {}
    for column in columns:
        counts: Counter[tuple[int, str]] = Counter()
        values: Counter[tuple[int, str]] = Counter()
        for item in items:
            texts = {next(iter(v.values())) for n, v in item.items() if n not in keys and
                     ("S" in v or "N" in v)}  # fmt: skip
            for segment in enumerate(_DELIMITERS.split(item[column.attribute].get("S", ""))):
                counts[segment] += 1
                values[segment] += segment[1] in texts
        least = max(CONSTANT_LEAST, GROUP_LEAST * len(items))
        constants[column.attribute] = frozenset(
            segment
            for segment, count in counts.items()
            if (count >= least or len(items) < 2 * CONSTANT_LEAST)
            and values[segment] * 2 < count
            and (segment[0] % 2 or any(c.isalpha() for c in segment[1]))
        )
    return constants


def _form(column: Column, item: Item, constants: Constants) -> str:
    """The key with `*` in place of everything that is not constant: `CUST#*`."""
    if column.tag != "S":
        return f"({column.tag})"
    known = constants[column.attribute]
    segments = enumerate(_DELIMITERS.split(item[column.attribute]["S"]))
    text = "".join(text if (n, text) in known or n % 2 else "*" for n, text in segments)
    return re.sub(r"\*(?:[^*\w]+\*)+$", "*", text)


def words_of(text: str) -> list[str]:
    """The words in a template's constant text, for the name of a class."""
    return [word for word in _SEGMENTS.findall(text) if word.isalpha()]
