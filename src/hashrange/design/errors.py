"""What can go wrong, one class for each thing that somebody can react to.

Whatever the client or the database raised is the `__cause__`; an error that is not listed here
(throttling, no such table, no network) is the client's own and passes through unchanged.
"""

import sys
from collections.abc import Iterable
from typing import Any


class DesignError(Exception):
    """The root of all of these."""


# ---- raised while a model is declared ----


class DeclarationError(DesignError):
    """The model cannot work. The text says where and what to do; `rule` is the lint rule."""

    def __init__(self, message: str, *, at: object = None, rule: str = "") -> None:
        self.rule = rule
        super().__init__(f"{place(at)}{message}" + (f" [{rule}]" if rule else ""))


class Unserved(DeclarationError):
    """A pattern that no key and no index serves."""


# ---- raised before anything is sent ----


class BadValue(DesignError, ValueError):
    """A value that cannot be stored, or whose key would read as something else."""


class InvalidCursor(DesignError, ValueError):
    """A cursor of another pattern, of other arguments, tampered with, or not a cursor at all."""


# ---- raised by reads ----


class ItemError(DesignError):
    """A stored item does not fit its class. `key` is its primary key in wire form."""

    def __init__(self, message: str, key: dict[str, Any]) -> None:
        super().__init__(message)
        self.key = key


# ---- raised by writes ----


class ConditionFailed(DesignError):
    """A condition that the caller gave does not hold. `item`: the item it is about."""

    def __init__(self, message: str, item: object = None) -> None:
        super().__init__(message)
        self.item = item


class NotFound(ConditionFailed, LookupError):
    """There is no such item."""


class AlreadyExists(ConditionFailed):
    """The item that was to be created is there."""


class Conflict(ConditionFailed):
    """Somebody else changed the item after it was read."""


class NotUnique(ConditionFailed):
    """Another item holds the value. `field` is the name of the `unique` declaration."""

    def __init__(self, message: str, item: object, field: str) -> None:
        super().__init__(message, item)
        self.field = field


class Unprocessed(DesignError):
    """A batch ran out of time. `requests` are the parts that were not processed, in wire form."""

    def __init__(self, message: str, requests: list[Any]) -> None:
        super().__init__(message)
        self.requests = requests


def suggest(name: str, known: Iterable[str]) -> str:
    """' (did you mean ...?)' or, if nothing is close, what there is."""
    import difflib  # only who has made a mistake waits for it

    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (there is {', '.join(names)})" if names else ""


def place(at: object) -> str:
    """'sensors.py, Sensor: ' for a class, or for a method 'sensors.py, Sensors.floors: '."""
    if at is None or isinstance(at, str):
        return f"{at}: " if at else ""
    module = sys.modules.get(getattr(at, "__module__", ""))
    file = getattr(module, "__file__", None)
    name = getattr(at, "__qualname__", str(at))
    return f"{file}, {name}: " if file else f"{name}: "
