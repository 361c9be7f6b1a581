"""The context in which requests are decided: the tables, the time and the settings."""

from typing import NamedTuple

from hashrange import kv
from hashrange.engine.fetch import NO_VIEWS, Moment, Views
from hashrange.engine.keyspace import system
from hashrange.metering.meter import Meter
from hashrange.model.caller import Caller
from hashrange.model.settings import Settings
from hashrange.runtime.back_pressure import BackPressure
from hashrange.runtime.catalog import Catalog, Tables
from hashrange.runtime.clock import Clock
from hashrange.runtime.consistency.lagging import Lagging

HEAD = kv.Head(system.CATALOG_VERSION, system.CLOCK)
"""The first read of every transaction and snapshot; its answer is passed to `Environment.at`."""


class Environment(NamedTuple):
    catalog: Catalog
    clock: Clock
    settings: Settings
    meter: Meter | None = None
    lagging: Lagging | None = None
    commit_seconds: float = 0.0
    """The longest delay, in seconds, between a decision's `now` and its commit. Decisions with a
    later `now` may be committed first."""
    awaited: kv.AsyncStore | None = None
    """The store, if it is asynchronous."""
    back_pressure: BackPressure | None = None
    """Throttles writes to tables whose indexes lag too far behind."""
    views: Views = NO_VIEWS
    """The vector views that searches keep in memory."""

    @property
    def indexes_follow(self) -> bool:
        """Whether the global indexes of new tables are updated from a log. This changes from False
        to True when the tables of a running server are distributed."""
        return self.awaited is not None and self.awaited.indexes_follow

    def at(self, head: tuple[bytes | None, int]) -> tuple[Tables, float]:
        """The tables as of `head`, and a time that is not earlier than any time stored up to
        `head`."""
        version, stored = head
        return self.catalog.at(version), self.clock.not_before(stored)

    def pressure(self) -> BackPressure | None:
        """The back-pressure if it throttles any writes now, otherwise None."""
        pressure = self.back_pressure
        return pressure if pressure is not None and pressure.throttled_tables() else None

    def moment(
        self, now: float, caller: Caller, entropy: bytes = b"", asks_admission: bool = False
    ) -> Moment:
        """The Moment of a request."""
        return Moment(
            *(now, entropy, caller, self.settings, self.commit_seconds, self.indexes_follow),
            asks_admission,
            views=self.views,
        )
