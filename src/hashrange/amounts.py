"""Amounts and times in a form for people."""

from datetime import datetime


def counted(number: int, noun: str = "item") -> str:
    """A number and its noun, with an "s" unless the number is 1: "1 item", "48,210 items"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(count: float) -> str:
    """A number of bytes: "512 bytes", "4.1 KB"."""
    if count < 1024:
        return "1 byte" if count == 1 else f"{count:,.0f} bytes"
    for unit in ("KB", "MB"):
        count /= 1024
        if count < 1024:
            return f"{count:,.1f} {unit}"
    return f"{count / 1024:,.1f} GB"


def moment(time: object) -> str:
    """A time: "2026-11-23 20:36:04 UTC". Empty for a value that is not a time."""
    return time.strftime("%Y-%m-%d %H:%M:%S %Z") if isinstance(time, datetime) else ""
