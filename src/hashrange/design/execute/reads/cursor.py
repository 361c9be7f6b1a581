"""Cursors: the position after a page, as a text that a web client can keep.

A cursor holds its pattern, a digest of the arguments, and a position for each partition that is
being read. With @st.buckets, it also holds the time at which the first page was read: a range
without an end ends there. A
cursor is accepted only for the same pattern and arguments, and only inside their range of keys, so
that a forged cursor cannot read other items. If there is a key, the cursor is signed with it.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from hashrange.design.errors import InvalidCursor
from hashrange.design.execute.reads.request_builder import KeyRange
from hashrange.model.values import Item

_SIGNATURE_BYTES = 16
Positions = list[Item | None]


class Position(NamedTuple):
    """The place where a page ends: the last key that was read from each partition of a group.

    `now` is the time of the first page. With @st.buckets, a range without an upper end is read up
    to the bucket of `now`.
    """

    group: int
    positions: Positions
    now: datetime


class Cursor(NamedTuple):
    """The content of a cursor. `now` is None unless the pattern has @st.buckets."""

    pattern: str
    digest: str
    positions: Any
    group: int
    now: datetime | None


def encode(
    pattern: str, asked: Sequence[KeyRange | None], at: Position, key: bytes | None, *, timed: bool
) -> str:
    more = [at.group, at.now.isoformat()] if timed else []
    content = [pattern, _digest(asked), at.positions, *more]
    body = json.dumps(content, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_signature(body, key) + body).decode().rstrip("=")


def decode(cursor: str, key: bytes | None, *, timed: bool, present: datetime) -> Cursor:
    """Decode the text of a cursor. If `timed`, the cursor contains the time of the first page.

    Raises InvalidCursor if it was not signed with `key`, or if its time is later than `present`.
    """
    try:
        data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        size = _SIGNATURE_BYTES if key is not None else 0
        signature, body = data[:size], data[size:]
        if not hmac.compare_digest(signature, _signature(body, key)):
            raise InvalidCursor("the cursor's signature is wrong")
        pattern, digest, positions, *more = json.loads(body)
        if not timed:
            [] = more
            return Cursor(pattern, digest, positions, 0, None)
        group, text = more
        now = datetime.fromisoformat(text)
        if type(group) is not int or now > present:
            raise ValueError("not a cursor that this module made")
        return Cursor(pattern, digest, positions, group, now)
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, InvalidCursor):
            raise
        raise InvalidCursor("this is not a cursor") from None


def position(
    cursor: Cursor,
    pattern: str,
    asked: Sequence[KeyRange | None],
    names: set[str],
    now: datetime,
) -> Position:
    """The position in a cursor, after a check of the cursor.

    `asked` are the ranges that the call reads, and `names` the key attributes of a position. Raises
    InvalidCursor if the cursor was made for another pattern or other ranges, or if its keys are
    outside these ranges. `now` is the time of the first page.
    """
    if cursor.pattern != pattern or cursor.digest != _digest(asked):
        raise InvalidCursor(f"the cursor was not made by {pattern} with these arguments")
    parts = [part for part in asked if (part.group if part is not None else 0) == cursor.group]
    if not parts or not isinstance(cursor.positions, list) or len(cursor.positions) != len(parts):
        raise InvalidCursor("this is not a cursor")
    for one, part in zip(cursor.positions, parts, strict=True):
        if one is not None and not _inside(one, part, names):
            raise InvalidCursor(f"the cursor is outside the keys that {pattern} reads")
    return Position(cursor.group, cursor.positions, now)


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
