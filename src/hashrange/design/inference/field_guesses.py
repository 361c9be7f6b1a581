"""Guesses for a group of items: the attributes' types, and the texts of their values in keys."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from hashrange.design.declare.keys.formats import Format, format_of
from hashrange.design.declare.keys.templates import Placeholder, shard_of
from hashrange.design.declare.types import FieldType, decode, encode, field_type
from hashrange.design.errors import BadValue, DeclarationError
from hashrange.model.values import AttributeValue, Item

DATE_TIME_SPECS = (
    "", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H", "%Y-%m-%d", "%Y-%m", "%Y",
    "%Y%m%d", "%Y%m", "%Y/%m/%d", "%H:%M:%S.%f", "%H:%M:%S", "%H:%M",
)  # fmt: skip
DATE_SPECS = ("", "%Y-%m", "%Y", "%Y%m%d", "%Y%m", "%m-%d", "%Y/%m/%d")
WIDTHS = range(2, 20)
"""The widths that are tried for signed numbers in keys, in digits."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass
class FieldGuess:
    """An attribute of a group, with a type that reproduces all of its stored values.

    `annotation` is "Any" if there is no such type; no template can then have the attribute.
    `present` counts the items that have the attribute, and `distinct` counts its values.
    """

    attribute: str
    annotation: str
    kind: FieldType | None
    present: int
    distinct: int
    doubt: str = ""

    def value(self, raw: Item) -> Any:
        """The value in a stored item; None if it is absent or of another type."""
        stored = raw.get(self.attribute)
        if stored is None or self.kind is None:
            return None
        try:
            return _validated(self.kind.python, decode(stored))
        except ValidationError:
            return None

    def formats(self, text: str, value: Any) -> Iterator[tuple[str, str]]:
        """Yield (format specification, text) for each form of the value that `text` may contain."""
        for spec in self._specs(text, value):
            rendered = self.rendered(spec, value)
            if rendered is not None:
                yield spec, rendered

    def _specs(self, text: str, value: Any) -> Iterator[str]:
        python = self.kind.python if self.kind is not None else None
        if python is datetime:
            yield from DATE_TIME_SPECS
        elif python is date:
            yield from DATE_SPECS
        else:
            yield ""
        if python is int:
            runs = {len(run) for run in re.findall(r"\d+", text)}
            yield from (f"0{width}d" for width in sorted(runs))
            yield from (f"+0{width}d" for width in WIDTHS if width + 1 in runs)
        elif python is Decimal:
            for run in sorted(set(_NUMBER.findall(text)), key=len):
                digits = len(run.partition(".")[2])
                if digits:
                    yield f"0{len(run)}.{digits}f"
                    yield f"+0{len(run) - 1}.{digits}f"

    def rendered(self, spec: str, value: Any) -> str | None:
        written = self.format(spec)
        if written is None or value is None:
            return None
        try:
            return written.render(value)
        except BadValue:
            return None

    def format(self, spec: str) -> Format | None:
        if self.kind is None:
            return None
        try:
            return format_of(self.kind, spec, self.attribute)
        except DeclarationError:
            return None


@dataclass(frozen=True)
class Piece:
    """A placeholder of a template whose field is still a guess."""

    guess: FieldGuess
    spec: str
    shards: int = 0

    def __hash__(self) -> int:
        return hash((self.guess.attribute, self.spec, self.shards))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Piece) and self.text == other.text

    @property
    def text(self) -> str:
        return f"{self.guess.attribute}:{self.spec}|{self.shards}"

    def render(self, raw: Item) -> str | None:
        value = self.guess.value(raw)
        if value is None:
            return None
        return str(shard_of(value, self.shards)) if self.shards else self.guess.rendered(
            self.spec, value
        )  # fmt: skip

    def placeholder(self, name: str) -> str:
        return str(Placeholder(name, self.spec, self.shards))


# ---- types ----

_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _validated(python: Any, value: Any) -> Any:
    adapter = _ADAPTERS.get(python)
    if adapter is None:
        adapter = _ADAPTERS[python] = TypeAdapter(python)
    return adapter.validate_python(value)


_TEXTS: tuple[tuple[str, Any, re.Pattern[str]], ...] = (
    ("datetime", datetime, re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")),
    ("date", date, re.compile(r"\d{4}-\d\d-\d\d")),
    ("time", time, re.compile(r"\d\d:\d\d:\d\d\.\d{6}")),
    ("UUID", UUID, re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
)
"""The types whose values are stored as texts of one form: (annotation, type, form)."""
_SIMPLE: dict[str, tuple[str, Any]] = {
    "B": ("bytes", bytes),
    "BOOL": ("bool", bool),
    "SS": ("set[str]", set[str]),
    "BS": ("set[bytes]", set[bytes]),
    "S": ("str", str),
}


def guess_field(attribute: str, items: Sequence[Item], ttl: str | None) -> FieldGuess:
    """The type of an attribute of some of the items. `ttl` is the table's TTL attribute."""
    values = [item[attribute] for item in items if attribute in item]
    distinct = len({repr(value) for value in values})
    tags = {tag for value in values for tag in value}
    if attribute == ttl and tags == {"N"}:
        return FieldGuess(attribute, "st.TTL", None, len(values), distinct)
    if len(tags) > 1:
        doubt = f"{attribute} is of several types: {', '.join(sorted(tags))}"
        return FieldGuess(attribute, "Any", None, len(values), distinct, doubt)
    [tag] = tags
    annotation, python = _annotation(tag, values)
    kind = None
    if python is not None:
        kind = field_type(FieldInfo.from_annotation(python), attribute)
        if not _keeps(kind, values):
            annotation, python, kind = "str", str, None
            if tag != "S":
                annotation = "Any"
            else:
                kind = field_type(FieldInfo.from_annotation(str), attribute)
    return FieldGuess(attribute, annotation, kind, len(values), distinct)


def _annotation(tag: str, values: Sequence[AttributeValue]) -> tuple[str, Any]:
    if tag == "S":
        for annotation, python, form in _TEXTS:
            if all(form.fullmatch(value["S"]) for value in values):
                return annotation, python
    if tag == "N":
        whole = all(Decimal(value["N"]) % 1 == 0 for value in values)
        return ("int", int) if whole else ("Decimal", Decimal)
    if tag == "NS":
        whole = all(Decimal(number) % 1 == 0 for value in values for number in value["NS"])
        return ("set[int]", set[int]) if whole else ("set[Decimal]", set[Decimal])
    if tag == "L":
        inner = _inner([member for value in values for member in value["L"]])
        return f"list[{inner}]", None
    if tag == "M":
        inner = _inner([member for value in values for member in value["M"].values()])
        return f"dict[str, {inner}]", None
    return _SIMPLE.get(tag, ("Any", None))


def _inner(values: Sequence[AttributeValue]) -> str:
    """The annotation of the members of a list or a map."""
    tags = {tag for value in values for tag in value}
    if tags == {"S"}:
        return "str"
    if tags == {"BOOL"}:
        return "bool"
    return _annotation("N", values)[0] if tags == {"N"} else "Any"


def _keeps(kind: FieldType, values: Sequence[AttributeValue]) -> bool:
    """Whether each value stays the same when it is read as this type and stored again."""
    for stored in values:
        try:
            again = encode(_validated(kind.python, decode(stored)))
        except (ValidationError, BadValue):
            return False
        if {t: sorted(c) if isinstance(c, list) else c for t, c in again.items()} != {
            t: sorted(c) if isinstance(c, list) else c for t, c in stored.items()
        }:
            return False
    return True
