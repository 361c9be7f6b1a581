"""Functions for every store: they end a page at its bounds, and measure and shorten answers."""

from collections.abc import Iterable
from itertools import islice

from hashrange.kv import HEADER_BYTES, TOO_LARGE, Answer, Page, Range, unpack_weight


def page_of(rows: Iterable[tuple[bytes, bytes]], read: Range) -> Page:
    """The page that the bounds of `read` allow. `rows` are all rows of the range, in order."""
    rows_max, weight_max = read.rows_max, read.weight_max
    if weight_max is None:
        taken = list(islice(rows, rows_max))
        return Page(taken, rows_max is None or len(taken) < rows_max)
    taken = []
    total = 0
    for row in islice(rows, rows_max):
        taken.append(row)
        total += unpack_weight(row[1])[0]
        if total >= weight_max:
            return Page(taken, False)
    return Page(taken, rows_max is None or len(taken) < rows_max)


def bytes_of(answer: Answer) -> int:
    """The number of bytes in the values of an answer."""
    if isinstance(answer, Page):
        return sum([len(value) for _, value in answer.rows])
    return sum([len(value) for value in answer if isinstance(value, bytes)])


def small(values: Iterable[bytes | None], bytes_max: int) -> list[bytes | None]:
    """Rows that were read by their keys, with TOO_LARGE instead of rows above `bytes_max` bytes."""
    return [TOO_LARGE if value and len(value) > bytes_max else value for value in values]


def cut(values: Iterable[bytes | None], weight_max: int) -> list[bytes | None]:
    """Rows that were read by their keys (None for a missing one). When the weights of the rows
    together exceed `weight_max`, the remaining rows are cut to their headers."""
    rows: list[bytes | None] = []
    weight = 0
    for value in values:
        if value is None:
            rows.append(None)
            continue
        rows.append(value if weight <= weight_max else value[:HEADER_BYTES])
        weight += unpack_weight(value)[0]
    return rows
