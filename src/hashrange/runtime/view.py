"""What is read at one moment of the store."""

from typing import Any

from hashrange import kv
from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.engine.keyspace import system
from hashrange.model.caller import Caller
from hashrange.model.settings import Settings
from hashrange.operations.operation import Operation
from hashrange.runtime.catalog import Catalog
from hashrange.runtime.clock import Clock
from hashrange.runtime.drive import begin
from hashrange.runtime.source import counters


class View:
    """A snapshot with its tables, and a time that is not before anything in it."""

    __slots__ = ("_moment", "_settings", "snapshot", "tables")

    def __init__(
        self, snapshot: kv.Snapshot, catalog: Catalog, clock: Clock, settings: Settings
    ) -> None:
        version, stored = counters(snapshot, system.CATALOG_VERSION, system.CLOCK)
        clock.observe(stored)
        self.snapshot = snapshot
        self.tables = catalog.at(version)
        self._settings = settings
        self._moment = Moment(clock.now(), settings=settings)

    def begin(self, operation: Operation, request: Any, caller: Caller) -> Decide:
        """The decision of a request, about to make its first read."""
        if caller is not self._moment.caller:
            self._moment = Moment(self._moment.now, b"", caller, self._settings)
        return begin(operation, request, self._moment, self.snapshot, self.tables)

    def close(self) -> None:
        self.snapshot.close()
