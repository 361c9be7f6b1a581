"""Bytes as lines of hexadecimal digits, with the characters beside them."""

WIDTH = 16
"""The number of bytes in a line."""

_SEEN = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))


def hexdump(content: bytes) -> str:
    """A line for each sixteen bytes: `00000000  68 61 73 68 ..  |hash..|`."""
    lines = []
    for start in range(0, len(content), WIDTH):
        row = content[start : start + WIDTH]
        text = row.translate(_SEEN).decode("ascii")
        lines.append(f"{start:08x}  {row.hex(' '):{3 * WIDTH - 1}}  |{text}|")
    return "\n".join(lines)
