"""Where a page ends, for every store, and how much an answer holds."""

from collections.abc import Iterable
from itertools import islice

from hashrange.kv import Answer, Page, Range, unpack_weight


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
    """How many bytes the values of an answer have."""
    if isinstance(answer, Page):
        return sum([len(value) for _, value in answer.rows])
    return sum([len(value) for value in answer if isinstance(value, bytes)])
