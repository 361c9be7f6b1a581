"""Key templates: `sensor#{sensor_id}#{at:%Y-%m-%d}`, `event#{day}#{event_id|shard:10}`.

A template is text with placeholders for fields, as in Python's `str.format`. `{field|shard:n}` is
a number from 0 to n-1 computed from the field's value, which spreads one busy key over n keys.
`{field|desc:08d}` is a number whose texts sort in descending order.
"""

import hashlib
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from hashrange.design.declare.keys.formats import Format, format_of
from hashrange.design.declare.keys.possible_texts import DIGITS, REST, CharRun, Chars, literal
from hashrange.design.declare.types import FieldType
from hashrange.design.errors import BadValue, DeclarationError, suggest

HIGHEST = "\U0010ffff"
"""The highest character: a prefix followed by it sorts after every text with that prefix."""


class Placeholder(NamedTuple):
    """A placeholder. `shards` is the number of shards if it stands for a shard number, else 0."""

    field: str
    spec: str
    shards: int = 0
    descending: bool = False

    def __str__(self) -> str:
        if self.shards:
            return f"{{{self.field}|shard:{self.shards}}}"
        if self.descending:
            return f"{{{self.field}|desc:{self.spec}}}"
        return f"{{{self.field}:{self.spec}}}" if self.spec else f"{{{self.field}}}"


Part = str | Placeholder


def parse(text: str, at: object) -> tuple[Part, ...]:
    """The constants and placeholders of a template's text. Raises DeclarationError."""
    parts: list[Part] = []
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as error:
        raise DeclarationError(f"the template {text!r}: {error}", at=at, rule="K01") from None
    for constant, field, spec, conversion in pieces:
        if constant:
            parts.append(constant)
        if field is not None:
            parts.append(_placeholder(text, field, spec or "", conversion, at))
    if not parts:
        raise DeclarationError("a template cannot be empty", at=at, rule="K01")
    return tuple(parts)


def _placeholder(
    text: str, field: str, spec: str, conversion: str | None, at: object
) -> Placeholder:
    name, bar, function = field.partition("|")
    if not name.isidentifier() or conversion:
        raise DeclarationError(
            f"{{{field}}} in {text!r}: a placeholder must be the name of a field", at=at, rule="K01"
        )
    if not bar:
        return Placeholder(name, spec)
    if function == "desc":
        return Placeholder(name, spec, descending=True)
    if function != "shard" or not spec.isdigit() or int(spec) < 2:
        raise DeclarationError(
            f"{{{field}}} in {text!r}: write shards as {{{name}|shard:10}}, and numbers in "
            f"descending order as {{{name}|desc:08d}}",
            at=at,
            rule="K01",
        )
    return Placeholder(name, "", int(spec))


def shard_of(value: Any, shards: int) -> int:
    """A shard number from a digest of the value's text, the same on every machine and version."""
    digest = hashlib.blake2b(str(value).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


@dataclass(frozen=True)
class Template:
    """A template of one entity, with the format of each placeholder.

    A natural key attribute (`st.attr("name")`) is a template of a single placeholder.
    """

    parts: tuple[Part, ...]
    formats: Mapping[Placeholder, Format]

    def __str__(self) -> str:
        return "".join(str(part) for part in self.parts)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.field for part in self.placeholders))

    @cached_property
    def placeholders(self) -> tuple[Placeholder, ...]:
        return tuple(part for part in self.parts if isinstance(part, Placeholder))

    @cached_property
    def _steps(self) -> tuple[tuple[str, str, Callable[[Any], str] | None, int], ...]:
        """(constant, field, rendering, shards) of each part, flattened for speed."""
        return tuple(
            (part, "", None, 0)
            if isinstance(part, str)
            else ("", part.field, None if part.shards else self.formats[part].render, part.shards)
            for part in self.parts
        )

    @cached_property
    def _single(self) -> tuple[str, str, Callable[[Any], str], str] | None:
        """(text before, field, rendering, text after) if the template has only one placeholder."""
        if len(self.placeholders) != 1 or self.placeholders[0].shards:
            return None
        [part] = self.placeholders
        at = self.parts.index(part)
        before, after = ("".join(map(str, p)) for p in (self.parts[:at], self.parts[at + 1 :]))
        return before, part.field, self.formats[part].render, after

    def render(self, values: Mapping[str, Any], shard: int | None = None) -> str | None:
        """The key's text, or None if one of its fields is None. Raises BadValue.

        `shard` is the shard number to use instead of computing one from a field.
        """
        if self._single is not None:
            before, name, rendering, after = self._single
            value = values[name]
            if value is None:
                return None
            try:
                return f"{before}{rendering(value)}{after}"
            except BadValue as error:
                raise error.of(field=name, value=value) from None
        text, field, value = "", "", None
        try:
            for constant, field, written, shards in self._steps:
                if not field:
                    text += constant
                    continue
                if written is None and shard is not None:
                    text += str(shard)
                    continue
                value = values[field]
                if value is None:
                    return None
                text += written(value) if written else str(shard_of(value, shards))
        except BadValue as error:
            raise error.of(field=field, value=value) from None
        return text

    def render_known(self, parts: Sequence[Part], values: Mapping[str, Any]) -> str:
        """The text of `parts`, the first parts of the template.

        Raises BadValue if a value contains the constant text that follows its placeholder.
        """
        text = ""
        for number, part in enumerate(parts):
            if isinstance(part, str):
                text += part
                continue
            value = values[part.field]
            written = self.formats.get(part)
            if written is None:
                text += str(shard_of(value, part.shards))
                continue
            try:
                piece = written.render(value)
            except BadValue as error:
                raise error.of(field=part.field, value=value) from None
            follows = self.parts[number + 1] if number + 1 < len(self.parts) else ""
            if written.free and isinstance(follows, str) and follows and follows in piece:
                raise BadValue(
                    f"it contains the delimiter {follows!r}", field=part.field, value=value
                )
            text += piece
        return text

    # ---- the texts that a template can produce ----

    def runs(self, free: Chars, parts: Sequence[Part] | None = None) -> list[CharRun]:
        """The possible texts of `parts` (default: all parts).

        Free text has only characters of `free`.
        """
        if parts is not None:
            return self._runs(free, parts)
        if free not in self._known_runs:
            self._known_runs[free] = self._runs(free, self.parts)
        return self._known_runs[free]

    @cached_property
    def _known_runs(self) -> dict[Chars, list[CharRun]]:
        """The results of `runs`, cached because every comparison of two keys needs them."""
        return {}

    def _runs(self, free: Chars, parts: Sequence[Part]) -> list[CharRun]:
        runs: list[CharRun] = []
        for part in parts:
            if isinstance(part, str):
                runs += literal(part)
            elif part.shards:
                runs.append(CharRun(DIGITS, 1, len(str(part.shards - 1))))
            else:
                written = self.formats[part]
                runs += [
                    CharRun(free, r.least, r.most) if written.free else r for r in written.runs
                ]
        return runs

    def beginning(self, free: Chars, parts: Sequence[Part]) -> list[CharRun]:
        """The possible texts of a template that begins with `parts` (see `runs`)."""
        return [*self.runs(free, parts), REST]

    @cached_property
    def literal_text(self) -> str:
        return "".join(part for part in self.parts if isinstance(part, str))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A regular expression for the template's texts.

        Each field matches as few characters as possible, and the last field matches the rest.
        """
        pieces = []
        for number, part in enumerate(self.parts):
            if isinstance(part, str):
                pieces.append(re.escape(part))
            elif part.shards:
                pieces.append(r"\d+")
            else:
                pieces.append(f"(?P<_{number}>{_expression(self.formats[part])})")
        return re.compile("".join(pieces), re.DOTALL)

    def split(self, text: str) -> dict[int, str] | None:
        """Each placeholder's text by position; None if the template cannot produce `text`."""
        match = self.pattern.fullmatch(text)
        return {int(k[1:]): v for k, v in match.groupdict().items()} if match else None

    def read(self, text: str) -> dict[str, Any]:
        """The values in `text` by field, without the fields whose format cannot be read back."""
        values = {}
        for number, piece in (self.split(text) or {}).items():
            part = self.parts[number]
            assert isinstance(part, Placeholder)
            back = self.formats[part].read
            if back is not None:
                values[part.field] = back(piece)
        return values

    def readable(self) -> Iterator[str]:
        """The names of the fields that `read` returns."""
        for part in self.placeholders:
            if not part.shards and self.formats[part].read is not None:
                yield part.field

    # ---- delimiters ----

    def check_split(self, values: Mapping[str, Any], text: str) -> None:
        """Raise BadValue if values other than `values` give the same text."""
        for number, piece in (self.split(text) or {}).items():
            part = self.parts[number]
            assert isinstance(part, Placeholder)
            if self.formats[part].render(values[part.field]) != piece:
                raise BadValue(
                    f"other values give the same text {text!r} in the template {str(self)!r}",
                    field=part.field,
                    value=values[part.field],
                )


def _expression(written: Format) -> str:
    if written.choices:
        return "|".join(re.escape(c) for c in sorted(written.choices, key=len, reverse=True))
    pieces = []
    for run in written.runs:
        chars = run.chars
        if chars.inverted:
            group = "."
        else:
            group = f"[{''.join(re.escape(c) for c in sorted(chars.members))}]"
        most = "" if run.most is None else run.most
        pieces.append(f"{group}{{{run.least}}}" if run.least == most else
                      f"{group}{{{run.least},{most}}}?")  # fmt: skip
    return "".join(pieces)


def bind(
    parts: tuple[Part, ...], fields: Mapping[str, FieldType], at: object, what: str
) -> Template:
    """The template of these parts, with the formats of its placeholders.

    Raises DeclarationError (K01) for an unknown field. `what` begins the error's message.
    """
    formats = {}
    for part in parts:
        if not isinstance(part, Placeholder):
            continue
        if part.field not in fields:
            raise DeclarationError(
                f"{what}: {part} is not a field{suggest(part.field, fields)}", at=at, rule="K01"
            )
        if not part.shards:
            kind = fields[part.field]
            formats[part] = format_of(kind, part.spec, at, descending=part.descending)
    return Template(parts, formats)
