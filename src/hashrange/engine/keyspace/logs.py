"""Keys of the records of change logs and index logs.

    change log    slot (1) | milliseconds (8) | number (8)
    index log     slot of the store (2) | number (8)

The store assigns the number (see `kv.Append`). A slot of a change log is a range of hashes: see
`hashrange.model.streams.Slot`. A slot of the store has all rows whose keys begin with the same ten
bits (`kv.slot_of`). A record of an index log is in the slot of its item's row.
"""

from struct import Struct

from hashrange import kv

_KEY = Struct(">BQQ")
_NUMBER_BYTES = 8
_PREFIX_BYTES = 2
_LARGE_ODD_NUMBER = 2_654_435_761

parse = _KEY.unpack
"""Returns the (slot, milliseconds, number) in the key of a change log's record."""


prefix = Struct(">BQ").pack
"""`prefix(slot, milliseconds)` is the start of the keys of all records of this slot and time."""


def has_time(start: bytes) -> bool:
    """Whether keys with this start have a time. Only keys of a change log do."""
    return len(start) == _KEY.size - _NUMBER_BYTES


def time_of(start: bytes) -> int:
    """The time in milliseconds in `start`, which is a result of `prefix`."""
    return int.from_bytes(start[1:], "big")


def key(slot: int, milliseconds: int, number: int) -> bytes:
    return _KEY.pack(slot, milliseconds, number)


def is_same_slot(key: bytes, other: bytes) -> bool:
    """Whether two keys of an index log are in the same slot."""
    return key[:_PREFIX_BYTES] == other[:_PREFIX_BYTES]


def some_slot(milliseconds: int) -> int:
    """A slot of the store at which to begin a search through all slots. It depends on the time."""
    return milliseconds * _LARGE_ODD_NUMBER % kv.SLOTS


def index_prefix(slot: int) -> bytes:
    """The start of the keys of an index log's records in this slot of the store.

    `slot` may also be `kv.SLOTS`, the number after the last slot. The result is then greater than
    all keys.
    """
    return (slot << 6).to_bytes(2, "big") if slot < kv.SLOTS else b"\xff\xff\xff"
