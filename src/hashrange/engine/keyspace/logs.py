"""Keys of the records of a change log: slot (1) | milliseconds (8) | the store's number (8).

The slot of a record depends on the hash: see `hashrange.model.streams.Slot`.
"""

from struct import Struct

_KEY = Struct(">BQQ")

parse = _KEY.unpack
"""(slot, milliseconds, number) of a key"""


def prefix(slot: int, milliseconds: int) -> bytes:
    """The start of the keys of all records of this time, to which the store adds its number."""
    return bytes([slot]) + milliseconds.to_bytes(8, "big")


def time_of(start: bytes) -> int:
    """The milliseconds in a `prefix`."""
    return int.from_bytes(start[1:], "big")


def key(slot: int, milliseconds: int, number: int) -> bytes:
    return _KEY.pack(slot, milliseconds, number)
