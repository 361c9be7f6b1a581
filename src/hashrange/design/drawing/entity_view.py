"""The entity-relation chart: boxes with keys and fields, and lines for relations."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Index, declarations
from hashrange.design.declare.schema import EntityKey
from hashrange.design.drawing.relations import Relation, depths, relations
from hashrange.design.drawing.style import css, entity_class, line_class
from hashrange.design.drawing.svg import MARGIN, Canvas, columns, cut, text_width
from hashrange.design.table import Table

LINE, HEADER = 18.0, 28.0
SIZE = 11.5
KEY_CHARS, FIELD_CHARS = 58, 60
BETWEEN_COLUMNS, BETWEEN_BOXES = 90.0, 28.0
TOP = 64.0


@dataclass
class _Box:
    entity: Entity
    number: int
    keys: list[tuple[str, str]]
    fields: list[tuple[str, str, bool]]
    x: float = 0
    y: float = 0
    entering: list[Relation] = field(default_factory=list)
    bends: dict[str, list["_Bend"]] = field(default_factory=dict)
    """Maps the name of each parent to the bends of the line from the parent's box to this box.

    The line has a bend in each column between the two boxes.
    """

    @property
    def label(self) -> float:
        return max(columns(name) for name, _ in self.keys) * SIZE * 0.605 + 14

    @property
    def width(self) -> float:
        widths = [text_width(str(self.entity), "bold", 14) + 30]
        widths += [self.label + text_width(cut(t, KEY_CHARS), "mono", SIZE) for _, t in self.keys]
        widths += [text_width(_field(n, t), "mono", SIZE) for n, t, _ in self.fields]
        return max(widths) + 24

    @property
    def height(self) -> float:
        return HEADER + (len(self.keys) + len(self.fields)) * LINE + 20


@dataclass
class _Bend:
    """The point at which a line crosses a column of boxes.

    `wanted` is the height at which the line would be straight.
    """

    wanted: float
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 16.0


def draw_entities(table: Table) -> str:
    """Draw the table's entities and the relations between them."""
    related = relations(table.model, table.volumes)
    boxes = _boxes(table, related)
    _place(boxes, depths(table.model, related), related)
    canvas = Canvas()
    canvas.text(MARGIN, MARGIN + 14, f"{table.name} · entities", "ink bold", size=17)
    keys = " and ".join(column.attribute for column in table.model.table.columns)
    canvas.text(MARGIN, MARGIN + 33, f"{keys}: the primary key", "muted")
    for relation in related:
        boxes[relation.child.name].entering.append(relation)
    for relation in related:
        _connect(canvas, boxes[relation.parent.name], boxes[relation.child.name], relation)
    for box in boxes.values():
        _draw_box(canvas, box)
    return canvas.render(f"{table.name}: entities", css())


def _boxes(table: Table, related: list[Relation]) -> dict[str, _Box]:
    boxes = {}
    for number, entity in enumerate(table.model.entities):
        keys = [*_key_lines(entity, entity.key, "")]
        for index in entity.indexes:
            keys += _key_lines(entity, index, f"{index.source.name} ")
        keys += [("unique", str(unique.template)) for unique in entity.unique]
        counted = [r for r in related if r.child is entity and r.count]
        keys += [(f"for a {relation.parent}", relation.count) for relation in counted]
        boxes[entity.name] = _Box(entity, number, keys, [*_field_lines(table, entity)])
    return boxes


def _key_lines(entity: Entity, key: EntityKey, prefix: str) -> Iterator[tuple[str, str]]:
    """(label, text) of a key's lines, e.g. `GSI1` and `room#{room_id} / sensor#{sensor_id}`.

    The primary key has one line for each of its attributes. The condition of a sparse index has a
    line of its own.
    """
    if not prefix:
        for column in key.columns:
            yield column.attribute, str(column.template)
        return
    columns = key.hash + key.range if key.source.kind == "GSI" else key.range
    text = " / ".join(str(column.template) for column in columns)
    yield prefix.strip(), text
    if key.when is not None:
        yield "", _condition(entity, key)


def _condition(entity: Entity, key: EntityKey) -> str:
    """The condition of a sparse index key, with its values: `when status = 'open'`."""
    declared = declarations(entity.model)[key.declared_as]
    assert isinstance(declared, Index)
    assert declared.when is not None
    values = {f":{name}": repr(value) for name, value in declared.values.items()}
    words = [values.get(word, word) for word in declared.when.split()]
    return f"when {' '.join(words)}"


def _field_lines(table: Table, entity: Entity) -> Iterator[tuple[str, str, bool]]:
    for name, kind in entity.fields.items():
        text = _type_name(kind.python, kind.choices)
        if kind.expires:
            text = "TTL"
        if kind.counts:
            text = "version"
        if kind.optional:
            text += "?"
        if name in entity.copies:
            copy = entity.copies[name]
            text += f" = {copy.owner.__name__}.{copy.field}"
        referred = table.model.references.named(entity, name)
        if referred:
            text += f" → {' | '.join(str(other) for other, _ in referred)}"
        yield name, text, name in entity.key_fields


def _type_name(python: Any, choices: tuple[str, ...]) -> str:
    if choices:
        return " | ".join(choices)
    origin = get_origin(python)
    if origin is not None:
        inner = ", ".join(_type_name(a, ()) for a in get_args(python) if a is not Ellipsis)
        return f"{getattr(origin, '__name__', str(origin))}[{inner}]"
    return str(getattr(python, "__name__", python))


def _field(name: str, text: str) -> str:
    return cut(f"{name}  {text}", FIELD_CHARS)


# ---- places ----


def _place(boxes: dict[str, _Box], depth: dict[str, int], related: list[Relation]) -> None:
    """Place the boxes in columns by depth.

    If a line crosses a column, a gap between the boxes (a bend) is kept free for it.
    """
    x = MARGIN
    for column in range(max(depth.values()) + 1):
        here: list[_Box | _Bend] = [box for name, box in boxes.items() if depth[name] == column]
        for relation in related:
            if depth[relation.parent.name] < column < depth[relation.child.name]:
                bends = boxes[relation.child.name].bends.setdefault(relation.parent.name, [])
                bends.append(_Bend(_port(boxes, relation)))
                here.append(bends[-1])
        width = max((one.width for one in here if isinstance(one, _Box)), default=0.0)
        here.sort(key=lambda one: (_wanted(one, boxes, related), isinstance(one, _Bend)))
        y = TOP + MARGIN
        for one in here:
            one.x, one.y = x, max(y, _wanted(one, boxes, related) if column else y)
            if isinstance(one, _Bend):
                one.width = width
            y = one.y + one.height + BETWEEN_BOXES
        x += width + BETWEEN_COLUMNS


def _port(boxes: dict[str, _Box], relation: Relation) -> float:
    """The y from which a line goes on: of its last bend or, without one, of the parent's box."""
    bends = boxes[relation.child.name].bends.get(relation.parent.name)
    return bends[-1].y if bends else boxes[relation.parent.name].y


def _wanted(one: "_Box | _Bend", boxes: dict[str, _Box], related: list[Relation]) -> float:
    if isinstance(one, _Bend):
        return one.wanted
    return min((_port(boxes, r) for r in related if r.child is one.entity), default=0.0)


# ---- drawing ----


def _draw_box(canvas: Canvas, box: _Box) -> None:
    colour = entity_class(box.number)
    canvas.rect(box.x, box.y, box.width, box.height, "box", 6)
    canvas.rect(box.x, box.y, box.width, HEADER, f"{colour} tint", 6)
    canvas.rect(box.x, box.y, 5, box.height, f"{colour} band", 2)
    canvas.text(box.x + 16, box.y + 19, str(box.entity), f"{colour} bold", size=14)
    y = box.y + HEADER + 15
    for name, text in box.keys:
        canvas.text(box.x + 16, y, name, "muted mono", size=SIZE)
        canvas.text(box.x + 16 + box.label, y, text, "ink mono", size=SIZE, most=KEY_CHARS)
        y += LINE
    canvas.line(box.x + 12, y - 9, box.x + box.width - 8, y - 9, "rule")
    y += 6
    for name, text, key in box.fields:
        shown = _field(name, text)
        style = "ink bold mono" if key else "ink mono"
        width = canvas.text(box.x + 16, y, shown[: len(name)], style, size=SIZE)
        canvas.text(box.x + 16 + width, y, shown[len(name) :].rstrip(), "muted mono", size=SIZE)
        y += LINE


def _connect(canvas: Canvas, parent: _Box, child: _Box, relation: Relation) -> None:
    """Draw a relation: a curve from the parent's right side to the child's left side.

    The curve ends in a crow's foot if a parent can have many children.
    """
    x, y = parent.x + parent.width, parent.y + HEADER / 2
    x2 = child.x
    y2 = child.y + HEADER / 2 + child.entering.index(relation) * 16
    style = f"line {line_class(parent.number)}"
    path, at = f"M{x:.1f} {y:.1f}", (x, y)
    for bend in child.bends.get(parent.entity.name, ()):
        middle = bend.y + HEADER / 2
        path += f"{_curve(at, (bend.x, middle))}H{bend.x + bend.width:.1f}"
        at = (bend.x + bend.width, middle)
    canvas.path(f"{path}{_curve(at, (x2 - 12, y2))}H{x2:.1f}", style)
    canvas.path(f"M{x + 8:.1f} {y - 5:.1f}V{y + 5:.1f}", style)
    if relation.optional:
        canvas.circle(x + 15, y, 4, f"ring {line_class(parent.number)}")
    if relation.single:
        canvas.path(f"M{x2 - 8:.1f} {y2 - 5:.1f}V{y2 + 5:.1f}", style)
    else:
        canvas.path(f"M{x2 - 12:.1f} {y2:.1f}L{x2:.1f} {y2 - 6:.1f}M{x2 - 12:.1f} {y2:.1f}"
                    f"L{x2:.1f} {y2 + 6:.1f}", style)  # fmt: skip


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    bend = max(30.0, (end[0] - start[0]) / 2)
    return (
        f"C{start[0] + bend:.1f} {start[1]:.1f} {end[0] - bend:.1f} {end[1]:.1f} "
        f"{end[0]:.1f} {end[1]:.1f}"
    )
