"""What is read at one moment of the store."""

from hashrange import kv
from hashrange.engine.fetch import Moment
from hashrange.engine.keyspace import system
from hashrange.model.settings import Settings
from hashrange.runtime.catalog import Catalog
from hashrange.runtime.clock import Clock
from hashrange.runtime.source import counters


class View:
    """A snapshot with its tables, and a time that is not before anything in it."""

    __slots__ = ("_settings", "now", "snapshot", "tables")

    def __init__(
        self, snapshot: kv.Snapshot, catalog: Catalog, clock: Clock, settings: Settings
    ) -> None:
        version, stored = counters(snapshot, system.CATALOG_VERSION, system.CLOCK)
        clock.observe(stored)
        self.snapshot = snapshot
        self.now = clock.now()
        self.tables = catalog.at(version)
        self._settings = settings

    def moment(self, region: str) -> Moment:
        return Moment(self.now, b"", region, self._settings)
