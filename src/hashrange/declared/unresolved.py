"""Parts of a file whose values cannot be known from the file alone."""

from typing import Any, NamedTuple


class Unresolved(NamedTuple):
    """`text` is the part as it is written, for a message."""

    text: str


def unresolved(value: Any) -> Unresolved | None:
    """The first unresolved part of a value."""
    if isinstance(value, Unresolved):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for part in parts if (found := unresolved(part))), None)
