"""Cursors: the end of a page as a text that a web client can keep.

A cursor holds its pattern, a digest of the arguments, and a position for each partition. It is
accepted only for the same pattern and arguments, and only inside their range of keys, so that a
forged cursor cannot read anything else. With a key, it is also signed.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any

from hashrange.design.errors import InvalidCursor
from hashrange.design.execute.reads.request_builder import KeyRange
from hashrange.model.values import Item

_SIGNATURE_BYTES = 16
Positions = list[Item | None]


def encode(pattern: str, asked: Sequence[KeyRange | None], at: Positions, key: bytes | None) -> str:
    body = json.dumps([pattern, _digest(asked), at], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_signature(body, key) + body).decode().rstrip("=")


def decode(
    cursor: str, pattern: str, asked: Sequence[KeyRange | None], names: set[str], key: bytes | None
) -> Positions:
    """The positions of a cursor. `names` are their attributes. Raises InvalidCursor."""
    try:
        data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        size = _SIGNATURE_BYTES if key is not None else 0
        signature, body = data[:size], data[size:]
        if not hmac.compare_digest(signature, _signature(body, key)):
            raise InvalidCursor("the cursor's signature is wrong")
        named, digest, positions = json.loads(body)
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, InvalidCursor):
            raise
        raise InvalidCursor("this is not a cursor") from None
    if named != pattern or digest != _digest(asked):
        raise InvalidCursor(f"the cursor is not from {pattern} with these arguments")
    if not isinstance(positions, list) or len(positions) != len(asked):
        raise InvalidCursor("this is not a cursor")
    for position, part in zip(positions, asked, strict=True):
        if position is not None and not _inside(position, part, names):
            raise InvalidCursor(f"the cursor is outside the keys that {pattern} reads")
    return positions


def _inside(position: Any, part: KeyRange | None, names: set[str]) -> bool:
    if not isinstance(position, dict) or set(position) != names:
        return False
    for value in position.values():
        if not isinstance(value, dict) or len(value) != 1:
            return False
        [(tag, content)] = value.items()
        if tag not in ("S", "N", "B") or not isinstance(content, str):
            return False
    return part is None or part.holds(position)


def _digest(asked: Sequence[KeyRange | None]) -> str:
    text = json.dumps([part and [part.equals, part.operator, part.operands] for part in asked])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _signature(body: bytes, key: bytes | None) -> bytes:
    if key is None:
        return b""
    return hmac.digest(key, body, "sha256")[:_SIGNATURE_BYTES]
