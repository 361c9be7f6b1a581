"""The reads of a transaction, and the locks that keep them valid until the commit.

Every transaction takes its locks in the same order, so that there are no deadlocks:

1. Advisory locks, which cost no write. The *fence* guards the row of the catalog: every writer
   holds it shared, and a transaction that changes the catalog holds it exclusively, so that no
   writer under way misses a new index. Each space has a lock, too, which writers hold shared. A
   transaction holds it exclusively if it has read a range of the space, which must not change, or
   if it creates or drops the space.
2. Rows that were read and exist, in the order of their keys. Each row must still have the version
   that was read.
3. Rows that were read and are absent. They are inserted, and deleted again unless the transaction
   itself puts them. An insertion waits for any other transaction that inserts the same row.
"""

from collections.abc import Iterable, Sequence

from hashrange.kv import (
    CATALOG,
    SYSTEM_SPACE,
    Conflict,
    Dropped,
    Get,
    Head,
    Key,
    Range,
    Read,
)
from hashrange.storage.postgres.keys import Stored, stored
from hashrange.storage.postgres.reads import Question

FENCE = -1
DROPPED_LIST = -2
"""FENCE and DROPPED_LIST are the numbers of two advisory locks: of the fence, and of the list of
dropped spaces. The lock of a space has the space's id as its number."""

ABSENT = 0
"""The version of an absent row."""


class Guards:
    """The reads of a transaction: versions of rows, ranges, and the dropped spaces."""

    def __init__(self) -> None:
        self.versions: dict[Key, int] = {}
        self.ranges: list[tuple[Range, list[tuple[bytes, int]]]] = []
        """The ranges that were read, each with the keys and versions of its rows."""
        self.dropped: set[int] | None = None

    def add(self, reads: Iterable[Read], question: Question) -> None:
        asked = iter(question.ranges)
        for read in reads:
            match read:
                case Get():
                    for key in read.keys:
                        self._add_row(key, question)
                case Head():
                    self._add_row(read.key, question)
                case Range():
                    one = next(asked)
                    rows_max = len(one.versions) + one.page.exhausted
                    again = Range(read.space, read.start, read.end, read.reverse, rows_max)
                    self.ranges.append((again, one.versions))
                case Dropped():
                    self.dropped = set(question.dropped)

    def _add_row(self, key: Key, question: Question) -> None:
        if key[0] not in question.dropped:  # a dropped space is never restored
            row = question.row(key)
            self.versions[key] = row[0] if row else ABSENT

    def question(self, rows: bool) -> Question:
        """A question that repeats the reads of ranges and of the dropped spaces. With `rows`, it
        also repeats the reads of rows by key."""
        reads: list[Read] = [again for again, _ in self.ranges]
        if rows and self.versions:
            reads.append(Get(tuple(self.versions)))
        if self.dropped is not None:
            reads.append(Dropped())
        return Question(reads)

    def compare(self, question: Question, rows: bool) -> None:
        """Compare the earlier answers with the answers of `question`, which has repeated the reads.

        `rows` is the same as for the method `question`. Raises Conflict if anything has changed.
        """
        for asked, (_, versions) in zip(question.ranges, self.ranges, strict=True):
            if asked.versions != versions:
                raise Conflict("a range that was read has changed")
        if self.dropped is not None and self.dropped != question.dropped:
            raise Conflict("a space has been dropped or emptied")
        if rows:
            for key, version in self.versions.items():
                row = question.row(key)
                if (row[0] if row else ABSENT) != version:
                    raise Conflict("a row that was read has changed")

    def spaces(self) -> set[int]:
        """The spaces of the existing rows that were read. These spaces must not be dropped."""
        there = {space for (space, _), version in self.versions.items() if version != ABSENT}
        return there - {SYSTEM_SPACE}

    def locks(self, shared: set[int], alone: set[int], changes_catalog: bool) -> dict[int, bool]:
        """The advisory locks that the transaction needs: for each number, in order, whether the
        lock is exclusive.

        For its writes, the transaction needs the locks `shared` and, exclusively, the locks
        `alone`.
        """
        alone = alone | {again.space for again, _ in self.ranges}
        if self.dropped is not None:
            alone.add(DROPPED_LIST)
        if changes_catalog:
            alone.add(FENCE)
        elif CATALOG in self.versions:
            shared = shared | {FENCE}
        return {number: number in alone for number in sorted(shared | alone | self.spaces())}


def locks_ahead(reads: Sequence[Read]) -> tuple[dict[int, bool], list[Stored]]:
    """The locks that a locking transaction takes before it makes `reads`.

    Returns the advisory locks of ranges and spaces, in the form of `Guards.locks`, and the places
    of the rows to lock. Both are in the order of locking.
    """
    locks: dict[int, bool] = {}
    rows: set[Stored] = set()
    for read in reads:
        match read:
            case Get():
                for key in read.keys:
                    rows.add(stored(key))
                    if key[0] != SYSTEM_SPACE:
                        locks.setdefault(key[0], False)
            case Head():
                locks[FENCE] = False
            case Range():
                locks[read.space] = True
            case Dropped():
                locks[DROPPED_LIST] = True
    return dict(sorted(locks.items())), sorted(rows)
