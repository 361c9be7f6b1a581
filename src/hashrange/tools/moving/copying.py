"""Copies tables with their settings and items from one database to another.

A progress file records the state of the copy. It is beside the target if that is a file, otherwise
in the current folder. With `--follow` the file is kept, so that a later run can continue.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hashrange.clients.connection import Refused
from hashrange.declared import tables
from hashrange.declared.tables import TableInfo
from hashrange.formats.items import DataError, Record, encode
from hashrange.kv import StoreError
from hashrange.tools.moving.pace import Pace
from hashrange.tools.moving.presence import Presence
from hashrange.tools.moving.progress import Bookmark, Progress
from hashrange.tools.moving.scan import Position, Scan, TableState
from hashrange.tools.moving.sink import Sink

if TYPE_CHECKING:
    from hashrange.tools.target import Target

AGAIN = "run the same command again to continue"

_IDLE_SECONDS = 0.25
"""The pause between two reads of a shard, because a shard may be read five times per second."""


class Copy:
    """The copy of some tables. `states` has the progress of each table, by name."""

    def __init__(self, source: "Target", target: "Target", names: Sequence[str]) -> None:
        places = _place(source), _place(target)
        if places[0] == places[1]:
            raise DataError(f"{source.name}: the source and the target are the same")
        self.source = source
        self.target = target
        self.names = list(names) or tables.names(source.client, source.name)
        beside = Path(f"{target.name}.progress")
        self.bookmark = Bookmark(
            beside if target.kind == "file" else Path("hashrange-copy.progress"),
            {"copy": source.name, "to": target.name, "tables": self.names} | _postgres(places),
        )
        self.states = msgspec.convert(self.bookmark.load() or {}, dict[str, TableState])

    def save(self) -> None:
        self.bookmark.save(msgspec.to_builtins(self.states))

    def described(self) -> list[TableInfo]:
        """The source's descriptions of the tables to copy. Raises DataError if a table is
        missing."""
        return [tables.describe(self.source.client, self.source.name, name) for name in self.names]

    def run(self, segments: int, threads: int, rate: float) -> Progress:
        """Create the missing tables and copy all items. Raises DataError."""
        described = self.described()
        total = max(1, sum(table.items for table in described))
        there = [_prepare(self.source, self.target, table) for table in described]
        changed = [each for each in zip(described, there, strict=True) if self._has_changed(*each)]
        for table, _ in changed:
            del self.states[table.name]
        resumed = sum(state.items for state in self.states.values())
        try:
            with Progress(lambda items: items / total, resumed) as progress:
                for table, _ in changed:
                    progress.say(
                        f"{self.bookmark.path}: {table.name} is not the table of the interrupted "
                        "copy; copying it from the beginning"
                    )
                for table, copied in zip(described, there, strict=True):
                    fresh = TableState([Position() for _ in range(segments)], time.time())
                    fresh.source, fresh.target = table.id, copied.id
                    state = self.states.setdefault(table.name, fresh)
                    if not state.ended:
                        self._copy(table, state, threads, rate, progress)
                        state.ended = time.time()
            self.save()
        except (DataError, StoreError) as error:
            self.save()
            raise DataError(f"{error}; {AGAIN}") from error
        except BaseException:
            with suppress(OSError):
                self.save()
            raise
        return progress

    def _has_changed(self, table: TableInfo, copied: TableInfo) -> bool:
        """Whether a table has been recreated or emptied since its copy was interrupted.

        The last item of each segment was written to the target, so the target must still have it,
        unless it was deleted from the source too.
        """
        state = self.states.get(table.name)
        if state is None:
            return False
        if (state.source, state.target) != (table.id, copied.id):
            return True
        if state.items and not self._first_items(self.target, table):
            return bool(self._first_items(self.source, table))
        last = [Record(encode(each.after), 0) for each in state.positions if each.after]
        still = [record for record in last if self._has(self.source, table, record)]
        return not all(self._has(self.target, table, record) for record in still)

    def _first_items(self, place: "Target", table: TableInfo) -> list[bytes]:
        with closing(place.connection(1)) as reading:
            return next(Scan(reading, table.name, [Position()], Pace()).pages(), [])

    def _has(self, place: "Target", table: TableInfo, record: Record) -> bool:
        with closing(place.connection(1)) as asking:
            return Presence(asking, table, Pace()).has_all([record])

    def _copy(
        self, table: TableInfo, state: TableState, threads: int, rate: float, progress: Progress
    ) -> None:
        reading = self.source.connection(len(state.positions))
        writing = self.target.connection(threads)
        scan = Scan(reading, table.name, list(state.positions), Pace(rate))
        sink = Sink(writing, table, "", Pace(rate))
        try:
            for page in scan.pages():
                state.positions = list(scan.positions)  # the previous pages have been written
                if self.bookmark.due():
                    self.save()
                for group in sink.groups(Record(item, 0) for item in page):
                    progress.advance(len(group))
                state.items += len(page)
        finally:
            reading.close()
            writing.close()

    def follow(self, behind: Callable[[float, int], None]) -> None:
        """Apply the changes of the source, until an interruption.

        After each round, `behind` is called with the number of seconds that the target lags behind
        the source, and the total number of applied records.
        """
        from hashrange.tools.moving.replicating import Replicator, stream_of

        writing = self.target.connection(1)
        replicators = [
            Replicator(
                self.source,
                stream_of(table, self.source.name),
                self.states[table.name],
                Sink(writing, table, "", Pace()),
            )
            for table in self.described()
        ]
        applied = 0
        try:
            while True:
                rounds = [replicator.round() for replicator in replicators]
                came = sum(each.records for each in rounds)
                applied += came
                behind(max(each.behind for each in rounds), applied)
                if self.bookmark.due() and came:
                    self.save()
                if not came:
                    time.sleep(_IDLE_SECONDS)
        finally:
            writing.close()
            with suppress(OSError):
                self.save()


def _place(target: "Target") -> tuple[str, str]:
    """The kind of a database, and its identity, which does not depend on how a user writes the
    address: `app.db`, `./app.db` and a link to it are the same file."""
    if target.kind == "postgresql":
        assert target.database is not None
        return target.kind, target.database.place()
    return target.kind, os.path.realpath(target.name) if target.kind == "file" else target.name


def _postgres(places: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """The identities of those `places` that are in PostgreSQL, as a part of a bookmark's `what`.
    The names of the databases are in other parts."""
    addresses = [place for kind, place in places if kind == "postgresql"]
    return {"postgresql": addresses} if addresses else {}


def _prepare(source: "Target", target: "Target", table: TableInfo) -> TableInfo:
    """Create a table in the target, or check that an existing table has the same key."""
    try:
        there = tables.describe(target.client, target.name, table.name)
    except Refused as refusal:
        if refusal.code != "ResourceNotFoundException":
            raise
        description = tables.description(source.client, source.name, table.name)
        with closing(target.connection(1)) as asking:
            tables.create(asking, target.name, description, table.name)
        return tables.describe(target.client, target.name, table.name)
    if there.key != table.key or any(there.types[name] != table.types[name] for name in table.key):
        raise DataError(f"{target.name}: {table.name} exists already, with another key")
    return there
