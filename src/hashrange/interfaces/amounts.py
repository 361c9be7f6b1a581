"""Amounts as people read them."""


def counted(number: int, noun: str = "item") -> str:
    """A number of things: "1 item", "48,210 items"."""
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
