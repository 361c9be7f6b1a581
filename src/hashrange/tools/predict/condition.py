"""`--fail-if 'throttled > 0.1%'`: a condition on a value that is predicted as a range.

The prediction fails if the condition holds for the whole range. If the condition holds for only a
part of the range, the verdict is STRADDLES.
"""

import operator
import re
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from hashrange.runtime.prediction.reading import TraceError

FORM = re.compile(r"(throttled|lag|dollars) *(>=|<=|>|<) *(\d+(?:\.\d+)?)(%|s|\$)?")
UNITS = {"throttled": "%", "lag": "s", "dollars": "$"}
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


class Verdict(IntEnum):
    """The result of a condition, and the exit status. 2 is left out, because argparse uses it."""

    HOLDS_NOT = 0
    FAILS = 1
    STRADDLES = 3


class Condition(NamedTuple):
    text: str
    name: str
    sign: str
    number: float

    def verdict(self, low: float, high: float) -> Verdict:
        holds = [COMPARE[self.sign](value, self.number) for value in (low, high)]
        if all(holds):
            return Verdict.FAILS
        return Verdict.STRADDLES if any(holds) else Verdict.HOLDS_NOT


def condition(text: str) -> Condition:
    """The condition that a text describes. Raises TraceError."""
    match = FORM.fullmatch(text.strip())
    if match is None or match[4] not in (None, UNITS[match[1]]):
        raise TraceError(
            f"--fail-if {text!r}: write for example 'throttled > 0.1%', 'lag > 5s' or "
            "'dollars > 100$'"
        )
    number = float(match[3])
    return Condition(text, match[1], match[2], number / 100 if match[4] == "%" else number)
