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

parse = _KEY.unpack
"""(slot, milliseconds, number) of a key"""


def prefix(slot: int, milliseconds: int) -> bytes:
    """The start of the keys of all records of this time, to which the store adds its number."""
    return bytes([slot]) + milliseconds.to_bytes(8, "big")


def has_time(start: bytes) -> bool:
    """Whether keys that start so are of a table's log: the keys of an index log have no time."""
    return len(start) == _KEY.size - _NUMBER_BYTES


def time_of(start: bytes) -> int:
    """The milliseconds in a `prefix`."""
    return int.from_bytes(start[1:], "big")


def key(slot: int, milliseconds: int, number: int) -> bytes:
    return _KEY.pack(slot, milliseconds, number)


def index_prefix(slot: int) -> bytes:
    """The start of the keys of an index log's records in this slot of the store.

    For `kv.SLOTS`, the number after the last slot, it is after all keys.
    """
    return (slot << 6).to_bytes(2, "big") if slot < kv.SLOTS else b"\xff\xff\xff"
