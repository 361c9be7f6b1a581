"""Finding the `st.unique` declarations that wrote the markers among a table's items.

The key of a marker is `unique#namespace#text`, and the namespace is by default the template of the
text. So a declaration is found if the namespace of a key is a template that produces the text.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hashrange.design.execute.writes.unique_markers import MARKER_TYPE, OWNER_ATTRIBUTE
from hashrange.design.inference.entities import InferredEntity
from hashrange.design.inference.field_guesses import Piece
from hashrange.design.inference.template_search import Parts, parts_of, render
from hashrange.design.source.model_source import distinct
from hashrange.design.source.table_shape import TableShape
from hashrange.model.values import Item


def declare_unique(
    shape: TableShape, markers: Sequence[Item], inferred: Sequence[InferredEntity]
) -> list[Item]:
    """Add `st.unique` to the entities. Returns the markers that no declaration explains.

    A marker whose item was not sampled is ignored.
    """
    owners = {_key(shape, item): (one, item) for one in inferred for item in one.group.items}
    unknown = []
    templates: dict[str, Counter[str]] = {}
    for marker in markers:
        owner = owners.get(_key(shape, marker[OWNER_ATTRIBUTE]["M"]))
        if owner is None:
            continue
        one, item = owner
        template = next(_templates(shape, marker, one, item), None)
        if template is None:
            unknown.append(marker)
        else:
            templates.setdefault(one.source.name, Counter())[template] += 1
    for one in inferred:
        for template in sorted(templates.get(one.source.name, ())):
            _declare(one, template)
    return unknown


def _key(shape: TableShape, item: Mapping[str, Mapping[str, str]]) -> str:
    return repr([sorted(item.get(c.attribute, {}).items()) for c in shape.table.columns])


def _templates(shape: TableShape, marker: Item, one: InferredEntity, item: Item) -> Iterator[str]:
    """The possible templates of the marker's text.

    The marker's key is `unique#TEMPLATE#TEXT`, and TEMPLATE may contain a `#` too. So the template
    may end before any `#`, provided that it makes the remaining text from `item`.
    """
    text = marker[shape.table.hash[0].attribute]["S"].removeprefix(f"{MARKER_TYPE}#")
    guesses = [one.guesses[attribute] for attribute in one.names]
    for end in range(len(text)):
        if text[end] == "#":
            parts = parts_of(text[:end], guesses)
            if parts is not None and _fields(parts) and render(parts, item) == text[end + 1 :]:
                yield text[:end]


def _fields(parts: Parts) -> list[str]:
    return [part.guess.attribute for part in parts if isinstance(part, Piece)]


def _declare(one: InferredEntity, template: str) -> None:
    parts = parts_of(template, [one.guesses[attribute] for attribute in one.names])
    assert parts is not None
    wanted = "_and_".join(dict.fromkeys(one.names[name] for name in _fields(parts)))
    taken = [field.name for field in one.source.fields]
    taken += [index.declared_as for index in one.source.indexes]
    name = distinct(f"one_{wanted}", [*taken, *one.source.unique])
    one.source.unique[name] = "".join(
        part if isinstance(part, str) else part.placeholder(one.names[part.guess.attribute])
        for part in parts
    )
