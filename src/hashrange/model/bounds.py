"""Checks of numbers that a user sets, with the allowed range in the message."""

from math import inf


def check_number(name: str, value: object, *, above_zero: bool, most: float = inf) -> None:
    """Raises ValueError unless `value` is a finite number from 0 to `most` or, with `above_zero`,
    above 0."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        enough = value > 0 if above_zero else value >= 0
        if enough and value <= most and value != inf:
            return
    least = "above 0" if above_zero else "of at least 0"
    range_ = least if most == inf else f"{least} and at most {most:g}"
    raise ValueError(f"{name} must be a number {range_}, not {value!r}")
