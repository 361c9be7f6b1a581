"""The columns of a CSV file: their delimiter, names and types.

If neither the header nor the caller gives the type of a column, its cells determine it: each is a
boolean (`true` or `false`), a number in its usual form (`12`, `-0.5`, `94.0`, but neither `007` nor
`1e5`), or else a string. If the cells of a column have several types, the file is refused, because
no query could rely on the attribute.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from hashrange.formats.csv_rows import rows
from hashrange.formats.files import Input
from hashrange.formats.items import DataError, one_line
from hashrange.model.limits import NUMBER_DIGITS_MAX

KINDS = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})

Column = tuple[str, str]
"""(name of an attribute, type of its values)"""

_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a |"}
_LOOK_ROWS = 20
_NAMED_MAX = 5
"""The largest number of columns that a message names."""
_is_number = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?").fullmatch
_KIND_NAMES = {"N": "number", "BOOL": "boolean", "S": "text"}


def _silent(text: str) -> None:
    pass


class Hints(NamedTuple):
    """Facts known before the file is read: `types` by attribute, and the `key` attributes.

    `say` is called with each remark on the file for the user.
    """

    types: Mapping[str, str] = {}
    key: Sequence[str] = ()
    say: Callable[[str], None] = _silent


def delimiter_of(source: Input, hints: Hints) -> str:
    """The delimiter with which the first rows look most like a table."""
    scores = {each: _score(source, each, hints.key) for each in _DELIMITERS}
    best = max(scores, key=lambda each: scores[each])
    if best != ",":
        hints.say(f"{source.name}: the columns are separated by {_DELIMITERS[best]}")
    return best


def _score(source: Input, delimiter: str, key: Sequence[str]) -> tuple[bool, bool, int]:
    try:
        first_rows = [row for _, row in islice(rows(source, delimiter), _LOOK_ROWS) if row]
    except DataError:  # the reader reports the fault if it occurs with the right delimiter
        return False, False, 0
    if not first_rows or len(first_rows[0]) == 1:
        return False, False, 0
    names = {_column(cell)[0] for cell in first_rows[0]}
    regular = all(len(row) == len(first_rows[0]) for row in first_rows)
    return names.issuperset(key), regular, len(first_rows[0])


def columns_in(source: Input, delimiter: str, hints: Hints) -> list[Column]:
    """The columns of the header, with their types. Raises DataError."""
    _, header = next(rows(source, delimiter), (1, []))
    columns = [_column(cell) for cell in header]
    known = [(name, kind or hints.types.get(name)) for name, kind in columns]
    _check(source, known, hints.key)
    untyped = [at for at, (_, kind) in enumerate(known) if kind is None]
    counts = _count(source, delimiter, untyped) if untyped else {}
    mixed = {known[at][0]: count for at, count in counts.items() if len(count.kinds) > 1}
    if mixed:
        raise _several_types(source, mixed)
    return [(name, kind or counts[at].kind) for at, (name, kind) in enumerate(known)]


def _column(cell: str) -> tuple[str, str | None]:
    name, colon, kind = cell.rpartition(":")
    return (name, kind) if colon and kind in KINDS else (cell, None)


def _check(source: Input, columns: list[tuple[str, str | None]], key: Sequence[str]) -> None:
    names = [name for name, _ in columns]
    if not all(names):
        raise DataError(f"{source.name}:1: a column has no name; the first line must be the header")
    if len(set(columns)) < len(columns):
        raise DataError(f"{source.name}:1: two columns have the same name")
    missing = [name for name in key if name not in names]
    if not columns or not missing:
        return
    shown = ", ".join(repr(one_line(name))[:60] for name in names[:_NAMED_MAX])
    what = f"the header has the columns {shown}{', ...' if len(names) > _NAMED_MAX else ''}"
    if len(names) == 1:
        what = (
            f"the header has one column, {shown}; columns are separated by commas, semicolons, "
            "tabs or |"
        )
    raise DataError(f"{source.name}:1: no column for the key attribute {missing[0]}: {what}")


class _Count:
    """For each type, the number of a column's cells and the first of them, with its line."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.first: dict[str, tuple[int, str]] = {}

    @property
    def kind(self) -> str:
        """The type of a column whose cells all have the same type; S if all cells are empty."""
        return next(iter(self.kinds), "S")

    def note(self, cell: str, line: int) -> None:
        kind = _kind(cell)
        if kind not in self.first:
            self.first[kind] = line, cell
        self.kinds[kind] += 1


def _count(source: Input, delimiter: str, untyped: list[int]) -> dict[int, _Count]:
    source.doing = "looking at the types of all cells"
    counts = {at: _Count() for at in untyped}
    for line, row in _after_header(source, delimiter):
        for at, count in counts.items():
            if at < len(row) and row[at]:
                count.note(row[at], line)
    source.doing = ""
    return counts


def _after_header(source: Input, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    return islice(rows(source, delimiter), 1, None)


def _kind(cell: str) -> str:
    if cell in ("true", "false"):
        return "BOOL"
    if _is_number(cell) and (len(cell) <= NUMBER_DIGITS_MAX or _digits(cell) <= NUMBER_DIGITS_MAX):
        return "N"
    return "S"


def _digits(number: str) -> int:
    """The number of significant digits of a number in its usual form."""
    whole, _, fraction = number.lstrip("-").partition(".")
    fraction = fraction.rstrip("0")
    return len((whole + fraction).lstrip("0") if fraction else whole.rstrip("0"))


def _several_types(source: Input, mixed: Mapping[str, _Count]) -> DataError:
    told = [f"{one_line(name)}: {_counts(count)}" for name, count in mixed.items()]
    types = ",".join(f"{one_line(name)}:S" for name in islice(mixed, _NAMED_MAX))
    more = f"; {len(told) - _NAMED_MAX} more" if len(told) > _NAMED_MAX else ""
    return DataError(
        f"{source.name}: columns have cells of different types: "
        f"{'; '.join(told[:_NAMED_MAX])}{more}; give the types, for example --types {types}"
    )


def _counts(count: _Count) -> str:
    parts = []
    rarest = min(count.kinds, key=lambda kind: count.kinds[kind])
    for kind, name in _KIND_NAMES.items():
        if number := count.kinds[kind]:
            parts.append(f"{number:,} {name}{'' if number == 1 else 's'}")
    line, cell = count.first[rarest]
    return f"{', '.join(parts)} (line {line:,}: {one_line(cell)[:40]!r})"
