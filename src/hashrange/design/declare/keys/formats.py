"""Formats of values in keys: how they are written and read, and whether they keep the order.

Format specifications are Python's own: `{words:06d}`, `{price:09.2f}`, `{at:%Y-%m-%d}`, `{name:.3}`
(three characters). DynamoDB sorts texts by bytes, so only some formats keep the order of the
values: numbers of fixed width (`{n:+06d}` if they can be negative), dates in ISO 8601, and plain
text. `{score|desc:08d}` sorts the largest number first. A value that does not fit its width is
refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, get_args, get_origin
from uuid import UUID

from hashrange.design.declare.keys.ends import MOMENTS, TEXTS, Ends, in_steps, stepped
from hashrange.design.declare.keys.possible_texts import (
    ANY,
    DIGITS,
    CharRun,
    CharRuns,
    Chars,
    literal,
)
from hashrange.design.declare.types import (
    FieldType,
    check_text,
    core_type,
    in_utc,
    number_text,
    time_text,
    utc_text,
)
from hashrange.design.errors import BadValue, DeclarationError

SLUG = Chars(frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"))


@dataclass(frozen=True, slots=True)
class Format:
    """How one placeholder is written.

    `runs` describes the possible texts. `ordered` means that texts sort in the order of the values,
    or, if `descending`, in the opposite order. `fixed` means that all texts have the same length,
    and `free` that any text is possible. If only the first characters of a value are shown,
    `length` is their number. `before(value)` is the value whose text comes just before the text of
    `value`, or None. `ends` finds the nearest value that can be written, for the end of a range.
    `units` are the directives in the format of a date or time. `leading(value, units)` is the
    beginning of the text that shows these units, or None.
    """

    render: Callable[[Any], str]
    runs: CharRuns
    ordered: bool = False
    fixed: bool = False
    free: bool = False
    read: Callable[[str], Any] | None = None
    before: Callable[[Any], Any] | None = None
    ends: Ends = field(default_factory=Ends)
    choices: tuple[str, ...] = ()
    units: frozenset[str] = frozenset()
    leading: Callable[[Any, frozenset[str]], str | None] | None = None
    descending: bool = False
    length: int | None = None


UNITS: dict[Any, frozenset[str]] = {
    datetime: frozenset({"%Y", "%m", "%d", "%H", "%M", "%S", "%f"}),
    date: frozenset({"%Y", "%m", "%d"}),
    time: frozenset({"%H", "%M", "%S", "%f"}),
}
"""Maps each type to the directives that together show a whole value."""


def format_of(kind: FieldType, spec: str, at: object, *, descending: bool = False) -> Format:
    """The format of a field in a key, for its type and the format specification `spec`.

    `descending` is for `|desc`. Raises DeclarationError if the type or `spec` does not fit.
    """
    python = kind.python
    if kind.tag == "N" and not kind.expires:
        written = _number(Decimal if python is Decimal else int, spec, at)
        return _mirrored(written, spec, at) if descending else written
    if descending:
        message = "|desc is only for numbers; to read in descending order, use @st.latest"
        raise DeclarationError(message, at=at)
    if python in (datetime, date, time):
        return _temporal(python, spec, at)
    beginning = _BEGINNING(spec) if python is str else None
    if spec and not beginning:
        name = getattr(python, "__name__", str(python))
        raise DeclarationError(f"the format {spec!r} does not fit {name}", at=at)
    if kind.choices:
        return Format(_choice, _choice_runs(kind.choices), read=_itself, choices=kind.choices)
    if python is str:
        written = _free_text(kind)
        return _shortened(written, int(beginning[1])) if beginning else written
    if is_path(python):
        return Format(_segments, [CharRun(_PATH, 1)], read=_read_segments)
    if python is UUID:
        hexadecimal = Chars(frozenset("0123456789abcdef-"))
        return Format(str, [CharRun(hexadecimal, 36, 36)], fixed=True, ordered=True, read=UUID)
    name = getattr(python, "__name__", str(python))
    raise DeclarationError(f"{name} cannot be part of a key's text", at=at, rule="K01")


def _itself(text: str) -> str:
    return text


_BEGINNING = re.compile(r"\.([1-9]\d*)").fullmatch


def _free_text(kind: FieldType) -> Format:
    runs = [CharRun(SLUG if kind.delimited else ANY, 1, kind.length_max)]
    return Format(_text, runs, ordered=True, free=not kind.delimited, read=_itself, ends=TEXTS)


def _shortened(written: Format, length: int) -> Format:
    """The format that shows a text's first `length` characters. A shorter text is shown whole."""
    [run] = written.runs
    most = length if run.most is None else min(run.most, length)
    return replace(
        written,
        render=lambda value: _text(value)[:length],
        runs=[run._replace(most=most)],
        read=None,
        length=length,
    )


def _text(value: Any) -> str:
    if not value:
        raise BadValue("a part of a key cannot be an empty text")
    text: str = value if type(value) is str else str(value)
    if not text.isascii():
        check_text(text)
    return text


def _choice(value: Any) -> str:
    return str(value.value) if isinstance(value, Enum) else _text(value)


def _choice_runs(choices: tuple[str, ...]) -> CharRuns:
    lengths = [len(choice) for choice in choices]
    return [CharRun(Chars(frozenset("".join(choices))), min(lengths), max(lengths))]


# ---- paths ----

_PATH = Chars(SLUG.members | frozenset("/"))


def is_path(python: Any) -> bool:
    """Whether a field is a tuple of any number of texts, which a key shows as `/a/b/`."""
    inner = get_args(python) if get_origin(python) is tuple else ()
    return len(inner) == 2 and inner[1] is Ellipsis and core_type(inner[0], [])[0] is str


def _segments(value: Any) -> str:
    """The text of a path: `/a/b/`, or `/` for ().

    It ends in `/`, so that a path used as a prefix is compared in whole segments.
    """
    for segment in value:
        if not isinstance(segment, str) or not segment or not set(segment) <= SLUG.members:
            raise BadValue("a segment of a path in a key can only have letters, digits, - and _")
    return "".join(["/", *(f"{segment}/" for segment in value)])


def _read_segments(text: str) -> tuple[str, ...]:
    return tuple(text.split("/")[1:-1])


# ---- numbers ----

_INTEGER = re.compile(r"0([1-9]\d*)d").fullmatch
_FIXED = re.compile(r"0([1-9]\d*)\.(\d+)f").fullmatch
_BEYOND = Decimal(10) ** 400
"""A number that is larger than all numbers that a format of fixed width can show."""
_SIGN = "+"
"""The character with which the format of numbers that can be negative begins, as in `+06d`."""


def _number(python: Any, spec: str, at: object) -> Format:
    if not spec:
        signed = Chars(DIGITS.members | frozenset("-."))
        return Format(number_text, [CharRun(signed)], read=python)
    whole, decimal = _INTEGER(spec.lstrip(_SIGN)), _FIXED(spec.lstrip(_SIGN))
    padded = _signed if spec.startswith(_SIGN) else _padded
    if whole and python is int:
        return padded(int(whole[1]), 0, python)
    if decimal and python is Decimal:
        return padded(int(decimal[1]), int(decimal[2]), python)
    example = "06d" if python is int else "09.2f"
    raise DeclarationError(
        f"the format {spec!r} does not fit {python.__name__}: write e.g. {example!r}", at=at
    )


def _mirrored(written: Format, spec: str, at: object) -> Format:
    """The format in descending order: it shows a number's distance from the largest number."""
    if written.before is None or written.read is None:
        raise DeclarationError(f"|desc needs a number of fixed width, not {spec!r}", at=at)
    least, most = written.ends.up(-_BEYOND), written.ends.down(_BEYOND)
    step, render, read = most - written.before(most), written.render, written.read
    return replace(
        written,
        render=lambda value: render(least + most - value),
        read=lambda text: least + most - read(text),
        before=lambda value: value + step if value < most else None,
        descending=True,
    )


def _unfit(least: str, whole: int, digits: int) -> BadValue:
    most = "9" * whole
    if not digits:
        return BadValue(f"in this key it must be from {least} to {most}")
    most += "." + "9" * digits
    return BadValue(
        f"in this key it must be from {least} to {most}, with at most {digits} decimal places"
    )


def _padded(width: int, digits: int, python: Any) -> Format:
    step = Decimal(1).scaleb(-digits)

    def render(value: Any) -> str:
        exact = Decimal(value)
        text = f"{exact:0{width}.{digits}f}"
        if value < 0 or len(text) != width or Decimal(text) != exact:
            raise _unfit("0", whole, digits)
        return text

    def before(value: Any) -> Any:
        return python(value - step) if value > 0 else None

    def read(text: str) -> Any:
        return python(text)

    whole = width - digits - 1 if digits else width
    runs = [CharRun(DIGITS, whole, whole)]
    if digits:
        runs += [*literal("."), CharRun(DIGITS, digits, digits)]
    ends = in_steps(Decimal(0), Decimal(10) ** whole - step, step, python)
    return Format(render, runs, ordered=True, fixed=True, read=read, before=before, ends=ends)


def _signed(width: int, digits: int, python: Any) -> Format:
    """The format of numbers of `width` characters that can be negative, with a digit in front.

    The digit is 1 for 0 and positive numbers. For a negative number it is 0, followed by the
    distance from the smallest number. So the texts sort as the numbers do: with `{n:+03d}`, -5, 0
    and 5 are 0995, 1000 and 1005.
    """
    step = Decimal(1).scaleb(-digits)
    bias = Decimal(10) ** (width - digits - 1 if digits else width)

    def render(value: Any) -> str:
        exact = Decimal(value)
        text = f"{exact + bias:0{width + 1}.{digits}f}"
        if not -bias <= exact < bias or Decimal(text) - bias != exact:
            raise _unfit(f"-1{'0' * whole}", whole, digits)
        return text

    def before(value: Any) -> Any:
        return python(value - step) if value > -bias else None

    def read(text: str) -> Any:
        return python(Decimal(text) - bias)

    whole = width - digits - 1 if digits else width
    runs = [CharRun(Chars(frozenset("01")), 1, 1), CharRun(DIGITS, whole, whole)]
    if digits:
        runs += [*literal("."), CharRun(DIGITS, digits, digits)]
    ends = in_steps(-bias, bias - step, step, python)
    return Format(render, runs, ordered=True, fixed=True, read=read, before=before, ends=ends)


# ---- dates and times ----

_DIRECTIVES: dict[str, tuple[int, timedelta | None]] = {
    "%Y": (4, None), "%m": (2, None), "%d": (2, timedelta(days=1)),
    "%H": (2, timedelta(hours=1)), "%M": (2, timedelta(minutes=1)),
    "%S": (2, timedelta(seconds=1)), "%f": (6, timedelta(microseconds=1)),
}  # fmt: skip
"""Maps each directive to (width of its text, length of its unit). None: the length varies."""
UNIT_ORDER = list(_DIRECTIVES)
_DEFAULTS: dict[Any, str] = {
    datetime: "%Y-%m-%dT%H:%M:%S.%fZ",
    date: "%Y-%m-%d",
    time: "%H:%M:%S.%f",
}
_CLOCK = re.compile("%[HMSf]")


def _temporal(python: Any, spec: str, at: object) -> Format:
    spec = spec or _DEFAULTS[python]
    pieces = [piece for piece in re.split(r"(%.)", spec) if piece]
    directives = [piece for piece in pieces if piece[0] == "%"]
    unknown = [d for d in directives if d not in _DIRECTIVES]
    if unknown or (python is date and _CLOCK.search(spec)):
        known = " ".join(UNIT_ORDER[:3] if python is date else UNIT_ORDER)
        raise DeclarationError(f"the format {spec!r} may only use {known}", at=at, rule="K09")
    runs: list[CharRun] = []
    for piece in pieces:
        width = _DIRECTIVES[piece][0] if piece[0] == "%" else 0
        runs += [CharRun(DIGITS, width, width)] if width else literal(piece)
    return Format(
        _renderer(python, spec),
        runs,
        ordered=_in_order(python, directives),
        fixed=True,
        read=_reader(python, spec, directives),
        before=_stepper(python, directives),
        ends=MOMENTS if python is datetime else Ends(),
        units=frozenset(directives),
        leading=_leading(pieces),
    )


def _leading(pieces: list[str]) -> Callable[[Any, frozenset[str]], str | None]:
    """`Format.leading` for a format of these pieces."""

    def leading(value: Any, units: frozenset[str]) -> str | None:
        seen: set[str] = set()
        for number, piece in enumerate(pieces):
            seen |= {piece} & UNITS[datetime]
            if seen == units:
                return _renderer(datetime, "".join(pieces[: number + 1]))(value)
        return None

    return leading


def _in_order(python: Any, directives: list[str]) -> bool:
    """Whether the directives go from the type's largest unit downwards without a gap."""
    first = 3 if python is time else 0
    return bool(directives) and directives == UNIT_ORDER[first : first + len(directives)]


def _renderer(python: Any, spec: str) -> Callable[[Any], str]:
    if spec == _DEFAULTS[datetime] and python is datetime:
        return utc_text
    if spec == _DEFAULTS[time] and python is time:
        return time_text
    if python is datetime:
        # The value is a date if the argument is `st.Day`.
        def render(value: Any) -> str:
            moment = in_utc(value) if isinstance(value, datetime) else value
            return _strftime(moment, spec)

        return render
    return lambda value: _strftime(value, spec)


def _strftime(value: Any, spec: str) -> str:
    """strftime, with four digits for the year on every platform."""
    text: str = value.strftime(spec.replace("%Y", f"{value.year:04d}") if "%Y" in spec else spec)
    return text


def _reader(python: Any, spec: str, directives: list[str]) -> Callable[[str], Any] | None:
    """The function that reads a value from its text; None if the text shows only a part."""
    if not UNITS[python] <= set(directives):
        return None

    def read(text: str) -> Any:
        value = datetime.strptime(text, spec).replace(tzinfo=UTC)
        return {datetime: value, date: value.date(), time: value.time()}[python]

    return read


def _stepper(python: Any, directives: list[str]) -> Callable[[Any], Any] | None:
    steps = [_DIRECTIVES[d][1] for d in directives]
    smallest = [step for step in steps if step is not None]
    if python is time or not smallest:
        return None
    step = min(smallest)
    return lambda value: stepped(value, -step)
