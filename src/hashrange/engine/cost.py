"""Estimates the cost of an evaluation beforehand, from the rows that it will read.

The weight of a request is the number of times that it goes through each row: once to decode the
row, and once for each operator of its expressions. The weight is 0 if the request returns stored
rows unchanged. A row has about one unit for each value in it, and one for each 256 bytes. The cost
is the weight times these units. Each unit of cost takes about 0.2 to 0.5 microseconds of processor
time.
"""

from hashrange import kv

UNITS_MAX = 8 * 1024
"""The largest cost of an evaluation for which other requests wait: it takes a few milliseconds. A
costlier request is evaluated aside."""

PAUSE_BYTES = 64 * 1024
"""An evaluation of many rows pauses for other requests when the bytes evaluated since its last
pause, times the weight, exceed this."""

_SHORT_BYTES = 1024
_CHEAP_BYTES = 16 * 1024
"""The units of a row are not counted if its bytes times the weight are at most this."""

_QUOTES_PER_VALUE = 4


def units(value: bytes) -> int:
    """The units of a row: the cost of going through it once."""
    return value.count(b'"') // _QUOTES_PER_VALUE + len(value) // 256


def is_long(answer: list[bytes | None] | list[int]) -> bool:
    """Whether an answer has a row that is so long that its cost matters."""
    for value in answer:  # noqa: SIM110 - every write comes here, and `any` would cost more
        if type(value) is bytes and len(value) > _SHORT_BYTES:
            return True
    return False


def cost(weight: int, body: bytes, answer: kv.Answer) -> int:
    """The cost of evaluating the answer to one of a request's reads.

    The values in the body of the request are compared with each row, so they count too. The costs
    of rows by key are added up, because these rows are evaluated together. Of a page, only the most
    costly row counts, because an evaluation pauses between the rows of a page.
    """
    body_units = units(body) if weight > 1 and len(body) > _SHORT_BYTES else 0
    if type(answer) is kv.Page:
        return max([_cost(weight, body_units, value) for _, value in answer.rows], default=0)
    total = 0
    if type(answer) is list:
        for value in answer:
            if type(value) is bytes:
                total += _cost(weight, body_units, value)
                if total > UNITS_MAX:
                    break
    return total


def _cost(weight: int, body_units: int, value: bytes) -> int:
    if weight * len(value) > _CHEAP_BYTES:
        return weight * (body_units + units(value))
    return weight * body_units
