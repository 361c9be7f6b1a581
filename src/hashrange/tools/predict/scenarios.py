"""Scenarios as text: `on-demand`, `provisioned:500/200`, `shard(GSI4, 16)`, `index(GSI4).write=50`.

Several parts joined with `&` are one scenario.
"""

import re
from typing import Any

from hashrange.runtime.prediction.reading import TraceError
from hashrange.runtime.prediction.scenarios import Scenario, Units

UNITS_MAX = 10_000_000
SHARDS_MAX = 10_000
AS_IT_IS = Scenario(name="as it is")
_PROVISIONED = re.compile(r"provisioned:(\d+)/(\d+)")
_SHARD = re.compile(r"shard\(([\w.-]+), *(\d+)\)")
_UNITS = re.compile(r"(?:index|table)\(([\w.-]+)\)\.(read|write)=(\d+)")
FORMS = "on-demand, provisioned:500/200, shard(GSI4, 16) and index(GSI4).write=50"


def scenario(text: str) -> Scenario:
    """The scenario that a text describes. Raises TraceError."""
    made: dict[str, Any] = {"changed": {}, "shards": {}}
    for part in text.split("&"):
        _add(made, text, part.strip())
    return Scenario(name=text.strip(), **made)


def _add(made: dict[str, Any], text: str, part: str) -> None:
    if part == "on-demand":
        made["mode"] = part
    elif match := _PROVISIONED.fullmatch(part):
        read, write = (_number(text, each, UNITS_MAX) for each in match.groups())
        made |= {"mode": "provisioned", "units": Units(read, write)}
    elif match := _SHARD.fullmatch(part):
        made["shards"][match[1]] = _number(text, match[2], SHARDS_MAX)
    elif match := _UNITS.fullmatch(part):
        units = _number(text, match[3], UNITS_MAX)
        read, write = made["changed"].get(match[1], (None, None))
        made["changed"][match[1]] = (units, write) if match[2] == "read" else (read, units)
    else:
        raise TraceError(f"{text!r}: not a scenario; use {FORMS}, or join several with &")


def _number(text: str, digits: str, most: int) -> int:
    number = int(digits[:12])
    if not 1 <= number <= most:
        raise TraceError(f"{text!r}: {digits} is not a number from 1 to {most:,}")
    return number
