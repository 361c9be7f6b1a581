"""Keys as they are stored in PostgreSQL.

    slot   the first ten bits of the key, which are those of the partition digest
    key    the key; for a key longer than 2,600 bytes, these bytes and a digest of the whole key
    rest   the remaining bytes of a longer key; no index has them

An index row of PostgreSQL has at most 2,704 bytes. DynamoDB's limits allow no key of this length
today, but the waist has no limit. Different keys stay different, because the digest is that of the
whole key. Keys with the same first 2,600 bytes are not in order: see `reads` for ranges of such
keys.
"""

from hashlib import blake2b
from typing import NamedTuple

from hashrange.kv import SLOTS, Key, slot_of

SLOT_AFTER_ALL = SLOTS
KEY_BYTES_MAX = 2_600
_DIGEST_BYTES = 32
AFTER_DIGESTS = b"\xff" * (_DIGEST_BYTES + 1)


class Stored(NamedTuple):
    """The place of a row. Places have the same order as the primary key's index."""

    space: int
    slot: int
    key: bytes
    rest: bytes | None


def stored(address: Key) -> Stored:
    space, key = address
    if len(key) <= KEY_BYTES_MAX:
        return Stored(space, slot_of(key), key, None)
    digest = blake2b(key, digest_size=_DIGEST_BYTES).digest()
    return Stored(space, slot_of(key), key[:KEY_BYTES_MAX] + digest, key[KEY_BYTES_MAX:])


def original(key: bytes, rest: bytes | None) -> bytes:
    return key if rest is None else key[:KEY_BYTES_MAX] + rest


def first_from(start: bytes) -> tuple[int, bytes]:
    """The lowest slot and stored key of all rows whose key is `start` or later."""
    return slot_of(start), start[:KEY_BYTES_MAX]


def first_after(end: bytes | None) -> tuple[int, bytes]:
    """A slot and a stored key that are greater than those of all rows with a key before `end`. If
    `end` is too long for the index, they are greater than those of some later rows too."""
    if end is None:
        return SLOT_AFTER_ALL, b""
    if len(end) <= KEY_BYTES_MAX:
        return slot_of(end), end
    return slot_of(end), end[:KEY_BYTES_MAX] + AFTER_DIGESTS
