"""Writing a model as the source of a Python module."""

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hashrange.design.declare.item import Item
from hashrange.design.declare.protocols.stores import Store

LINE_CHARS = 100
IMPORTS = {
    "date": "datetime", "datetime": "datetime", "time": "datetime", "Decimal": "decimal",
    "Annotated": "typing", "Any": "typing", "Literal": "typing", "Protocol": "typing",
    "TypeVar": "typing", "UUID": "uuid", "Field": "pydantic",
}  # fmt: skip
"""Maps each name in a model's annotations to the module from which it is imported."""


RESERVED = {
    *IMPORTS, "key", "st", "self", "entity", "int", "str", "bool", "bytes", "set", "list", "dict",
    "type",
}  # fmt: skip
"""Names that no field may have, because annotations or declarations next to the field use them."""


@dataclass(frozen=True)
class Part:
    """One part of a key: a template, or the names of fields that are key attributes."""

    template: str = ""
    fields: tuple[str, ...] = ()

    def source(self) -> str:
        if not self.fields:
            return quoted(self.template)
        if len(self.fields) == 1:
            return f"st.attr({quoted(self.fields[0])})"
        return f"({', '.join(map(quoted, self.fields))})"


@dataclass
class FieldSource:
    """A field. `annotation` is without `| None`, which `optional` adds."""

    name: str
    annotation: str
    attribute: str
    optional: bool = False

    def source(self) -> str:
        text = f"{self.name}: {self.annotation}"
        if self.optional and self.annotation != "Any":
            text += " | None"
        renamed = f"alias={quoted(self.attribute)}" if self.attribute != self.name else ""
        if renamed:
            default = "default=None, " if self.optional else ""
            return f"{text} = Field({default}{renamed})"
        return f"{text} = None" if self.optional else text


@dataclass
class IndexSource:
    """An entity's key in an index. `hash` is None in a local index."""

    declared_as: str
    name: str
    hash: Part | None
    range: Part | None
    project: str | tuple[str, ...] = "ALL"
    when: str = ""
    values: dict[str, str | bool] = field(default_factory=dict)

    def source(self) -> str:
        parts = [quoted(self.name)]
        parts += [part.source() for part in (self.hash, self.range) if part is not None]
        if isinstance(self.project, tuple):
            parts.append(f"project=[{', '.join(map(quoted, self.project))}]")
        elif self.project != "ALL":
            parts.append(f"project={quoted(self.project)}")
        if self.when:
            parts.append(f"when={quoted(self.when)}")
            parts += [
                f"{name}={value if isinstance(value, bool) else quoted(value)}"
                for name, value in self.values.items()
            ]
        kind = "local" if self.hash is None else "index"
        return _call(f"    {self.declared_as} = st.{kind}(", parts)


@dataclass
class EntitySource:
    """An entity. `stored_as` is the text in the type attribute, if it is not the class's name."""

    name: str
    hash: Part
    range: Part | None
    fields: list[FieldSource]
    indexes: list[IndexSource] = field(default_factory=list)
    unique: dict[str, str] = field(default_factory=dict)
    stored_as: str = ""
    comments: list[str] = field(default_factory=list)

    def source(self) -> Iterator[str]:
        yield from (f"# {line}" for comment in self.comments for line in _wrapped(comment, 98))
        stored = f", name={quoted(self.stored_as)}" if self.stored_as else ""
        yield f"class {self.name}(st.Item{stored}):"
        parts = [part.source() for part in (self.hash, self.range) if part is not None]
        yield _call("    key = st.key(", parts)
        yield from (index.source() for index in self.indexes)
        for name, template in self.unique.items():
            yield f"    {name} = st.unique({quoted(template)})"
        yield ""
        for one in sorted(self.fields, key=lambda f: f.optional):
            yield f"    {one.source()}"

    def field(self, name: str) -> FieldSource:
        return next(field for field in self.fields if field.name == name)


@dataclass
class ViewSource:
    """A view with those fields of an entity that an index holds."""

    name: str
    entity: EntitySource
    fields: list[FieldSource]

    def source(self) -> Iterator[str]:
        yield f"class {self.name}(st.View[{self.entity.name}]):"
        for one in sorted(self.fields, key=lambda f: f.optional):
            yield f"    {one.source()}"


@dataclass
class PatternSource:
    """A pattern that a key or index serves. `arguments` has (name, annotation) pairs."""

    name: str
    title: str
    arguments: Sequence[tuple[str, str]]
    returns: str
    using: str = ""
    """The argument of `@st.using`, an index with a condition; "" if the pattern has none."""

    def source(self) -> Iterator[str]:
        if self.using:
            yield f"    @st.using({self.using})"
        arguments = ["self", *(f"{name}: {annotation}" for name, annotation in self.arguments)]
        yield _call(f"    def {self.name}(", arguments, f") -> {self.returns}:")
        yield f'        """{_plain(self.title)}"""'
        yield "        ..."


@dataclass
class TableSource:
    """A table. `comments` say what is doubtful in its declaration."""

    name: str
    entities: list[EntitySource]
    patterns: list[PatternSource] = field(default_factory=list)
    views: list[ViewSource] = field(default_factory=list)
    keys: tuple[str, str] | None = None
    index_keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    type_attribute: str | None = None
    by_type: str | None = None
    stream: bool = False
    recovery: bool = False
    comments: list[str] = field(default_factory=list)

    @property
    def class_name(self) -> str:
        return class_name(self.name, "Table")


def write(tables: Sequence[TableSource], docstring: str) -> str:
    """The source of a module that declares the tables, each as a variable of its own."""
    body: list[str] = []
    taken = {entity.name for table in tables for entity in table.entities}
    variables: set[str] = set()
    for table in tables:
        for entity in table.entities:
            body += ["", "", *entity.source()]
        for view in table.views:
            body += ["", "", *view.source()]
        taken |= {view.name for view in table.views}
        protocol = distinct(f"{table.class_name}Patterns", taken)
        taken.add(protocol)
        body += ["", "", f"class {protocol}(st.Store, Protocol):"]
        for number, pattern in enumerate(table.patterns):
            body += [*([""] if number else []), *pattern.source()]
        if not table.patterns:
            body.append("    pass")
        variable = "table" if len(tables) == 1 else distinct(field_name(table.name), variables)
        variables.add(variable)
        body += ["", "", *_declaration(table, protocol, variable)]
    text = "\n".join(body)
    if re.search(r"\btype\[T\]", text):
        text = f'\nT = TypeVar("T", bound=st.Item)\n{text}'
    return f'"""{_plain(docstring)}"""\n\n{_imports(text)}{text}\n'


def _declaration(table: TableSource, protocol: str, variable: str) -> Iterator[str]:
    yield from (f"# {line}" for comment in table.comments for line in _wrapped(comment, 98))
    parts = [quoted(table.name), protocol]
    served = " ".join(pattern.returns for pattern in table.patterns)
    parts += [e.name for e in table.entities if not re.search(rf"\b{e.name}\b", served)]
    if table.keys is not None and table.keys != ("pk", "sk"):
        parts.append(f"keys={_pair(table.keys)}")
    pairs = {n: p for n, p in table.index_keys.items() if p != (f"{n}-pk", f"{n}-sk")}
    if pairs:
        inner = ", ".join(f"{quoted(name)}: {_pair(pair)}" for name, pair in pairs.items())
        parts.append(f"index_keys={{{inner}}}")
    if table.type_attribute != "entityType":
        shown = None if table.type_attribute is None else quoted(table.type_attribute)
        parts.append(f"type_attribute={shown}")
    if table.by_type is not None:
        parts.append(f"by_type={quoted(table.by_type)}")
    parts += [f"{name}=True" for name in ("stream", "recovery") if getattr(table, name)]
    yield _call(f"{variable} = st.Table(", parts)


def _pair(pair: tuple[str, str]) -> str:
    return f"({quoted(pair[0])}, {quoted(pair[1])})"


def _call(start: str, parts: Sequence[str], end: str = ")") -> str:
    """A call on one line, or with one argument on each line."""
    line = f"{start}{', '.join(parts)}{end}"
    if len(line) <= LINE_CHARS:
        return line
    indent = " " * (len(start) - len(start.lstrip()))
    inner = "".join(f"{indent}    {part},\n" for part in parts)
    return f"{start}\n{inner}{indent}{end}"


def _imports(text: str) -> str:
    modules: dict[str, list[str]] = {}
    for name, module in IMPORTS.items():
        if re.search(rf"(?<![\w.\"']){name}\b(?=[\[\(\]\), |\n:]|$)", text):
            modules.setdefault(module, []).append(name)
    lines = [f"from {m} import {', '.join(sorted(n))}" for m, n in sorted(modules.items())
             if m != "pydantic"]  # fmt: skip
    third = ["from pydantic import Field"] if "pydantic" in modules else []
    ours = ["from hashrange import design as st"]
    blocks = [block for block in (lines, third, ours) if block]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


# ---- names and texts ----


def quoted(text: str) -> str:
    """A string literal, with double quotes if possible."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return ascii(text)


def _plain(text: str) -> str:
    """The text in one line, without anything that would end a comment or docstring around it."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))
    return shown.replace("\\", "\\\\").replace('"', "'")


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a comment."""
    line = ""
    for word in _plain(text).replace("\\\\", "\\").split():
        if line and len(line) + len(word) >= width:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    if line:
        yield line


def field_name(attribute: str) -> str:
    """A field name for the attribute that pydantic accepts: `GSI1-pk` becomes `gsi1_pk`."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", attribute)
    name = re.sub(r"\W+", "_", words, flags=re.ASCII).strip("_").lower() or "attribute"
    if name[0].isdigit():
        name = f"n{name}"
    hidden = keyword.iskeyword(name) or hasattr(Item, name) or name in RESERVED
    return f"{name}_" if hidden or name.startswith("model_") else name


def index_field_name(index: str) -> str:
    """The name under which an entity declares its key in an index."""
    name = field_name(index)
    return name if name.startswith("by_") else f"by_{name}"


def class_name(text: str, fallback: str) -> str:
    """A class's name: `order-line` becomes `OrderLine`.

    `fallback` is the name for a text without letters and digits. It is also put in front of a name
    that begins with a digit, or that is a keyword or built-in name of Python.
    """
    words = [word for word in re.split(r"[^A-Za-z0-9]+", text) if word]
    name = "".join(word[0].upper() + word[1:] for word in words) or fallback
    if name[0].isdigit() or keyword.iskeyword(name) or hasattr(builtins, name):
        name = f"{fallback}{name}"
    return f"{name}Item" if name in (*IMPORTS, "T") else name


def pattern_name(text: str) -> str:
    name = field_name(text)
    return f"get_{name}" if name in vars(Store) or name.startswith("_") else name


def distinct(name: str, taken: Iterable[str]) -> str:
    """The name, followed by a number if the name is among `taken`."""
    used = {*taken}
    if name not in used:
        return name
    return next(f"{name}{n}" for n in range(2, len(used) + 3) if f"{name}{n}" not in used)
