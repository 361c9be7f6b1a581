"""Keys of the records of change logs.

    of a table's log     slot (1) | milliseconds (8) | the store's number (8)
    of its index log     slot of the store (2) | the store's number (8)

The slot of a record in a table's log depends on the hash: see
`hashrange.model.streams.Slot`. A record of the index log is in the same slot of the store as its
item.
"""

from struct import Struct

from hashrange import kv

_KEY = Struct(">BQQ")
_NUMBER_BYTES = 8
_PREFIX_BYTES = 2
_LARGE_ODD_NUMBER = 2_654_435_761

parse = _KEY.unpack
"""(slot, milliseconds, number) of a key"""


prefix = Struct(">BQ").pack
"""The start of the keys of all records of a (slot, milliseconds): the store adds its number."""


def has_time(start: bytes) -> bool:
    """Whether keys with this start belong to a table's log: the keys of an index log have no
    time."""
    return len(start) == _KEY.size - _NUMBER_BYTES


def time_of(start: bytes) -> int:
    """The milliseconds in the start of a key, as `prefix` makes it."""
    return int.from_bytes(start[1:], "big")


def key(slot: int, milliseconds: int, number: int) -> bytes:
    return _KEY.pack(slot, milliseconds, number)


def is_same_slot(key: bytes, other: bytes) -> bool:
    """Whether two keys that begin with an `index_prefix` are in the same slot."""
    return key[:_PREFIX_BYTES] == other[:_PREFIX_BYTES]


def some_slot(milliseconds: int) -> int:
    """A slot of the store to begin with, which depends on the time."""
    return milliseconds * _LARGE_ODD_NUMBER % kv.SLOTS


def index_prefix(slot: int) -> bytes:
    """The start of the keys of an index log's records in this slot of the store.

    For `kv.SLOTS`, the number after the last slot, the result is greater than all keys.
    """
    return (slot << 6).to_bytes(2, "big") if slot < kv.SLOTS else b"\xff\xff\xff"
