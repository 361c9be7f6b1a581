"""The archive of a database file: copies of the file and the segments of its log, as objects.

    generations/G              when and why a chain of segments began
    log/G/N                    a segment: whole transactions of the log, about a second of them
    parts/G/ID/N               a part of a copy of the file, 16 MB before compression
    snapshots/G/N              a copy: its parts, and the segments that it needs

G and N are numbers with leading zeros, ID is the id of a copy. The segments of a generation have
consecutive numbers, and each names the SHA-256 of the segment before it. If this chain breaks,
another generation begins, with a copy.

The parts of a copy are read while the file changes, so they are from different moments. Therefore a
restore applies segments after the parts. These segments include every page that changed while the
parts were read. The object of the copy has the numbers of the first of these segments (`start`) and
of the last (`through`).
"""

from hashrange.archive.contents import Contents
from hashrange.archive.format import ArchiveError
from hashrange.archive.restoring import Restored, restore
from hashrange.archive.shipper import Limits, Shipper

__all__ = ["ArchiveError", "Contents", "Limits", "Restored", "Shipper", "restore"]
