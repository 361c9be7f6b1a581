"""The toolkit's errors, one class for each condition that a caller can react to.

`__cause__` is the error that the client or the database raised. Errors that are not listed here
(throttling, a missing table, the network) are the client's own and are raised unchanged.
"""

import sys
from collections.abc import Iterable
from typing import Any

SHOWN_MAX = 100
"""The largest number of characters of a value in an error message."""


class DesignError(Exception):
    """The base class of the toolkit's errors."""


# ---- raised while a model is declared ----


class DeclarationError(DesignError):
    """A mistake in a model. The message says where the mistake is.

    `rule` is the id of the lint rule that describes the mistake, "" if there is none.
    """

    def __init__(self, message: str, *, at: object = None, rule: str = "") -> None:
        self.rule = rule
        super().__init__(f"{place(at)}{message}" + (f" [{rule}]" if rule else ""))


class Unserved(DeclarationError):
    """No key and no index serves a pattern."""


# ---- raised before anything is sent ----


class BadValue(DesignError, ValueError):
    """A value cannot be stored, or a key that contains it would be ambiguous.

    If it is the value of a field, `entity`, `field` and `value` say which.
    """

    def __init__(
        self, reason: str, *, entity: object = "", field: str = "", value: object = None
    ) -> None:
        self.reason = reason
        self.entity = str(entity)
        self.field = field
        self.value = value
        where = ".".join(name for name in (self.entity, field) if name)
        shown = f"{where}={_short(value)}" if field else where
        super().__init__(f"{shown}: {reason}" if shown else reason)

    def of(self, entity: object = "", field: str = "", value: object = None) -> "BadValue":
        """A copy of the error, with these names wherever the error has none."""
        return BadValue(
            self.reason,
            entity=self.entity or entity,
            field=self.field or field,
            value=self.value if self.field else value,
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."


class InvalidCursor(DesignError, ValueError):
    """A cursor is from another pattern or other arguments, or has been tampered with."""


# ---- raised by reads ----


class ItemError(DesignError):
    """A stored item does not fit its class. `key` is its primary key in wire form."""

    def __init__(self, message: str, key: dict[str, Any]) -> None:
        super().__init__(message)
        self.key = key


# ---- raised by writes ----


class ConditionFailed(DesignError):
    """A condition of a write does not hold. `item` is the item that the condition concerns."""

    def __init__(self, message: str, item: object = None) -> None:
        super().__init__(message)
        self.item = item


class NotFound(ConditionFailed, LookupError):
    """The item does not exist."""


class AlreadyExists(ConditionFailed):
    """The item to create already exists."""


class Conflict(ConditionFailed):
    """Another writer changed the item after it was read."""


class EmptyBuckets(DesignError):
    """A pattern with @st.buckets found no item in the newest time buckets.

    Older buckets were not read, and may have items.
    """


class NotUnique(ConditionFailed):
    """Another item already has this unique text, `value`.

    `field` is the name of the `unique` declaration.
    """

    def __init__(self, message: str, item: object, field: str, value: str) -> None:
        super().__init__(message, item)
        self.field = field
        self.value = value


class Unprocessed(DesignError):
    """A batch ran out of time. `requests` are its unprocessed requests or keys, in wire form."""

    def __init__(self, message: str, requests: list[Any]) -> None:
        super().__init__(message)
        self.requests = requests


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: ' (did you mean ...?)' or the known names.

    The known names are listed if none of them is similar to `name`.
    """
    import difflib  # imported only after a mistake

    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (known: {', '.join(names)})" if names else ""


def place(at: object) -> str:
    """The start of a message about a class or a method, e.g. 'sensors.py, Sensors.floors: '."""
    if at is None or isinstance(at, str):
        return f"{at}: " if at else ""
    module = sys.modules.get(getattr(at, "__module__", ""))
    file = getattr(module, "__file__", None)
    name = getattr(at, "__qualname__", str(at))
    return f"{file}, {name}: " if file else f"{name}: "
