"""Reads. All reads of one round trip are one statement, so their answers are as of one moment.

The statement is a union of the parts that the reads need. Each row names its part and its read. One
prepared statement serves any number of reads of the same kinds.

For a range that is bounded by weight, the number of rows is guessed. Only the values that fit into
the page are read. If they do not fill the page, everything is read again with more rows. If a range
has keys that are too long for the index, the whole range is read and then sorted in this process.

If many rows are read by key, values are read until they have `READ_BYTES_MAX` bytes together. The
answers end before the first read with a value that was left out.
"""

from collections.abc import Callable, Container, Sequence
from functools import cached_property
from itertools import groupby, takewhile
from math import ceil
from typing import Any

from hashrange.kv import (
    CATALOG,
    CLOCK,
    SLOTS,
    SYSTEM_SPACE,
    Answer,
    Counters,
    Dropped,
    Get,
    Head,
    Key,
    Page,
    Range,
    Read,
    slot_of,
    unpack_weight,
)
from hashrange.paging import page_of
from hashrange.storage.postgres.keys import (
    KEY_BYTES_MAX,
    first_after,
    first_from,
    original,
    stored,
)
from hashrange.storage.postgres.read_statements import (
    BACKWARD,
    BOUNDED_GETS,
    COUNTERS,
    DROPPED,
    FENCE,
    FORWARD,
    GETS,
    MANY_GETS,
    PLACED,
    TIME,
    statement,
)

ROWS_AT_FIRST = 256
"""The number of rows requested at first for a page that is bounded by weight."""

NOWHERE = None, None, None
"""Stands for the place of a row that is not to be read."""

READS_ANSWERED_MIN = 2
"""This many reads are answered, however large their rows are: see `kv.READ_BYTES_MAX`."""


class Question:
    """The keys and ranges of several reads, and the rows of the answer.

    If a transaction compares the answer with the database at its end (`compared`), the rows of the
    answer need not be as of one moment, and `bounds` is empty. Otherwise `bounds` has the keys of
    the rows that must be as of one moment. With `locks_system`, these include rows of the system
    space.
    """

    def __init__(
        self, reads: Sequence[Read], compared: bool = False, locks_system: bool = False
    ) -> None:
        self.compared = compared
        self._locks_system = locks_system
        self.keys: dict[Key, int] = {}
        """Maps each key to its position among the requested keys."""
        self.bounds: dict[Key, tuple[int, int | None]] = {}
        """The keys whose rows must be as of one moment, each with the number of its read and the
        read's `weight_max`. The latter is None if another read requests the same key, because then
        the row must not be cut."""
        self.names: dict[bytes, int] = {}
        """Maps the name of each counter to its position among the requested counters."""
        self.ranges: list[Asked] = []
        self.bytes_max: int | None = None
        """The `bytes_max` of all reads of rows by key."""
        self.time = self.lists_dropped = False
        self.dropped: set[int] = set()
        for read in reads[:READS_ANSWERED_MIN]:
            self._add(read)
        self._keys_min = len(self.keys)
        self._many = False
        for read in reads[READS_ANSWERED_MIN:]:
            self._add(read)
        self.fence = 0, 0
        """The weight and version of the fence that was read instead of the catalog's row."""
        self.placed = 0
        """The number of the expected shards that were at the node at the moment of the answer."""
        self.rows: list[tuple[int, bytes | None] | None] = []
        """The version and value of the row of each key; None if the row is absent. If the value is
        None, it was left out, and reads of this row are not answered."""
        self.totals: list[int] = []
        self.now = 0

    def _add(self, read: Read) -> None:
        match read:
            case Get():
                self.bytes_max = read.bytes_max
                if not self.compared and (read.weight_max is not None or self.bounds):
                    self._bound(read, read.weight_max)
                for key in read.keys:
                    self.keys.setdefault(key, len(self.keys))
                    if self._locks_system and key[0] == SYSTEM_SPACE and key != CATALOG:
                        self.bounds.setdefault(key, (self.keys[key], None))
            case Head():
                self.keys.setdefault(read.key, len(self.keys))
                self._add_name(read.name)
            case Counters():
                for name in read.names:
                    self._add_name(name)
            case Range():
                self.ranges.append(Asked(read))
            case Dropped():
                self.lists_dropped = True

    def _bound(self, read: Get, weight_max: int | None) -> None:
        number = len(self.keys)
        for key in dict.fromkeys(read.keys):
            if key in self.keys:
                if weight_max is not None or key in self.bounds:
                    self.bounds[key] = number, None
            elif weight_max is not None:
                self.bounds[key] = number, weight_max

    def _add_name(self, name: bytes) -> None:
        if name == CLOCK:
            self.time = True
        else:
            self.names.setdefault(name, len(self.names))

    @cached_property
    def slots(self) -> set[int]:
        """The slots of the rows that are read by key, and the slots in which ranges begin. Without
        any, the slot of the catalog's row."""
        slots = {slot_of(key) for space, key in self.keys if (space, key) != CATALOG}
        for asked in self.ranges:
            place = asked.arguments()
            slots.add(min(place[3], SLOTS - 1) if asked.read.reverse else place[1])
        return slots or {slot_of(CATALOG[1])}

    def single_slots(self) -> set[int] | None:
        """The slots of everything that the question requests. None if the question requests a
        counter, or a range that may be in several slots."""
        if self.names or not all(asked.is_in_one_slot for asked in self.ranges):
            return None
        return self.slots

    def slots_of_rows(self) -> set[int]:
        """The slots of the rows by key that need not be as of one moment. Without any, one of
        `slots`."""
        keys = self.keys.keys() - self.bounds.keys() - {CATALOG}
        return {slot_of(key) for _, key in keys} or {min(self.slots)}

    def part(self, slots: Container[int]) -> "Question":
        """The part of the question for some of `slots_of_rows`: their rows by key, and the time."""
        part = Question((), self.compared)
        keys = [
            key
            for key in self.keys
            if key == CATALOG or (key not in self.bounds and slot_of(key[1]) in slots)
        ]
        part.keys = {key: place for place, key in enumerate(keys)}
        part._keys_min = sum(self.keys[key] < self._keys_min for key in keys)
        part.bytes_max, part.time = self.bytes_max, self.time
        part.lists_dropped = self.lists_dropped
        return part

    def take_parts(self, parts: "Sequence[Question]") -> None:
        """Take the answers to parts of the question that `part` has made."""
        self.rows = [None] * len(self.keys)
        for part in parts:
            for key, place in part.keys.items():
                self.rows[self.keys[key]] = part.rows[place]
        self._many = any(part._many for part in parts)
        self.dropped.update(*(part.dropped for part in parts))
        self.now = max(part.now for part in parts)

    def fence_row(self) -> tuple[int, int, bytes | None]:
        """The version, the weight and the value of the fence that was read."""
        weight, version = self.fence
        row = self.rows[self.keys[CATALOG]]
        return version, weight, row[1] if row else None

    def sees_spaces(self, fenced: bool) -> bool:
        """Whether the answers may depend on the list of dropped spaces. The system space is never
        dropped, so reads of it do not. Neither do reads of rows by key if the question is `fenced`,
        because then the reader knows that their spaces exist."""
        keys = () if fenced else self.keys
        spaces = {space for space, _ in keys} | {asked.read.space for asked in self.ranges}
        return bool(spaces - {SYSTEM_SPACE})

    def parts(
        self, values: bool = True, catalog: bool = True, dropped: bool = True
    ) -> tuple[list[int], list[Any]]:
        """The parts of the question's statement, and the arguments of these parts. `values`,
        `catalog` and `dropped` tell whether to read the values of rows, the catalog's row and the
        dropped spaces."""
        parts = [DROPPED] if dropped else []
        arguments: list[Any] = []
        if self.time:
            parts.append(TIME)
        if self.keys:
            places = [
                stored(key)[:3] if catalog or key != CATALOG else NOWHERE for key in self.keys
            ]
            arguments += columns(places)
            self._many = values and len(self.keys) > self._keys_min
            if values and self.bounds:
                parts.append(BOUNDED_GETS)
                arguments += columns([self.bounds.get(key, (None, None)) for key in self.keys])
                arguments.append(self._keys_min)
            elif self._many:
                parts.append(MANY_GETS)
                arguments.append(self._keys_min)
            else:
                parts.append(GETS)
        if self.names:
            parts.append(COUNTERS)
            arguments.append(list(self.names))
        for part, reverse in (FORWARD, False), (BACKWARD, True):
            asked = [each.arguments() for each in self.ranges if each.read.reverse == reverse]
            if asked:
                parts.append(part)
                arguments += columns(asked)
        return parts, arguments

    def take(self, rows: Sequence[Any]) -> bool:
        """Take the rows that a statement has returned. Returns False if a page needs more rows."""
        self.dropped.clear()
        self.rows = [None] * len(self.keys)
        self.totals = [0] * len(self.names)
        ranges = {
            FORWARD: [asked for asked in self.ranges if not asked.read.reverse],
            BACKWARD: [asked for asked in self.ranges if asked.read.reverse],
        }
        for asked in self.ranges:
            asked.records = []
        for part, group in groupby(rows, key=_part_of):
            if part in (GETS, MANY_GETS, BOUNDED_GETS):
                for row in group:
                    self.rows[row[1] - 1] = row[4], row[5]
            elif part == COUNTERS:
                for row in group:
                    self.totals[row[1] - 1] = row[4]
            elif part == FENCE:
                _, weight, _, _, version, value = next(group)
                self.fence = weight, version
                if value:
                    self.rows[self.keys[CATALOG]] = version, value
            elif part == PLACED:
                self.placed = next(group)[1]
            elif part == TIME:
                self.now = next(group)[4]
            elif part == DROPPED:
                self.dropped.update(row[1] for row in group)
            else:
                for row in group:
                    ranges[part][row[1] - 1].records.append(row)
        short = [asked for asked in self.ranges if not asked.is_answered(self.dropped)]
        return not short

    def row(self, key: Key) -> tuple[int, bytes | None] | None:
        return None if key[0] in self.dropped else self.rows[self.keys[key]]

    def answers(self, reads: Sequence[Read], now: Callable[[int], int]) -> list[Answer]:
        """The answers to `reads`, up to the first read that cannot be answered yet.

        `now` turns the database's time into a time that never decreases.
        """
        time = now(self.now) if self.time else 0
        ranges = iter(self.ranges)
        answered = takewhile(self._is_answered, reads) if self._many else reads
        return [self._answer(read, ranges, time) for read in answered]

    def _is_answered(self, read: Read) -> bool:
        if type(read) is not Get:
            return True
        rows = [self.row(key) for key in read.keys]
        return all(row is None or row[1] is not None for row in rows)

    def _answer(self, read: Read, ranges: Any, time: int) -> Answer:
        match read:
            case Get():
                return [self._value(key) for key in read.keys]
            case Head():
                return self._value(read.key), self._total(read.name, time)
            case Counters():
                return [self._total(name, time) for name in read.names]
            case Range():
                page: Page = next(ranges).page
                return page
            case Dropped():
                return list(self.dropped)

    def _value(self, key: Key) -> bytes | None:
        row = self.row(key)
        return row[1] if row else None

    def _total(self, name: bytes, time: int) -> int:
        return time if name == CLOCK else self.totals[self.names[name]]


async def ask(connection: Any, question: Question, values: bool = True) -> None:
    """Answer a question. The statement is repeated with more rows until each page is full or its
    range ends. Without `values`, only the keys and versions of rows are read."""
    while True:
        parts, arguments = question.parts(values)
        text = statement(tuple(parts), values, question.bytes_max)
        if question.take(await connection.fetch(text, *arguments)):
            return


class Asked:
    """A range, the number of rows to request, and the returned rows."""

    def __init__(self, read: Range) -> None:
        self.read = read
        self.whole = max(len(read.start), len(read.end or b"")) > KEY_BYTES_MAX
        """Whether the range is read as a whole, because some keys are too long for the index."""
        self.records: list[Any] = []
        self.page = Page([], True)
        self.versions: list[tuple[bytes, int]] = []
        """Key and version of each row of the page."""
        self._rows = read.rows_max
        if read.weight_max is not None:
            self._rows = min(read.rows_max or ROWS_AT_FIRST, ROWS_AT_FIRST)

    def arguments(self) -> tuple[Any, ...]:
        """The statement's arguments for the range: the space, the slot and key of the start and of
        the end, the largest number of rows, and the largest sum of weights."""
        read = self.read
        start, end = first_from(read.start), first_after(read.end)
        if self.whole:
            return read.space, *start, *end, None, None
        return read.space, *start, *end, self._rows, read.weight_max

    @property
    def is_in_one_slot(self) -> bool:
        _, slot, _, last, end, *_ = self.arguments()
        return last == slot or (last == slot + 1 and not end)

    def is_answered(self, dropped: set[int]) -> bool:
        """Make the page from the returned rows. Returns False if the page needs more rows. A range
        in one of the `dropped` spaces has no rows."""
        read = self.read
        if read.space in dropped:
            self.records = []
        if not self.whole and any(row[3] is not None for row in self.records):
            self.whole = True
            return False
        rows = [(original(row[2], row[3]), row[5], row[4]) for row in self.records]
        if self.whole:
            rows = [row for row in rows if _is_in(row[0], read)]
            rows.sort(reverse=read.reverse)
        self.page = page_of([row[:2] for row in rows], read)
        self.versions = [(key, version) for key, _, version in rows[: len(self.page.rows)]]
        full = not self.whole and self._rows is not None and len(rows) == self._rows
        if self.page.exhausted and full:
            self._rows = self._more(rows)
            return False
        return True

    def _more(self, rows: list[tuple[bytes, bytes, int]]) -> int:
        """The number of rows that will probably fill the page."""
        weight: int = sum(unpack_weight(value)[0] for _, value, _ in rows)
        assert self.read.weight_max is not None
        expected = ceil(1.25 * len(rows) * self.read.weight_max / max(weight, 1))
        more: int = max(2 * len(rows), min(expected, 16 * len(rows)))
        return min(more, self.read.rows_max or more)


def _is_in(key: bytes, read: Range) -> bool:
    return key >= read.start and (read.end is None or key < read.end)


def _part_of(row: Any) -> int:
    part: int = row[0]
    return part


def columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """The rows as one list for each column."""
    return [list(column) for column in zip(*rows, strict=True)]
