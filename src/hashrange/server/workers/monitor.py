"""The figures of one process that serves. Loaded only if there is an admin port."""

from typing import TYPE_CHECKING, NamedTuple

from hashrange.server.admin import Health, Inspection, Metrics, Routes
from hashrange.server.admin.routes import Figures

if TYPE_CHECKING:
    from hashrange.database.database import Database


class Monitor(NamedTuple):
    health: Health
    metrics: Metrics
    inspection: Inspection

    @classmethod
    def of(
        cls,
        database: "Database",
        server_figures: Figures,
        archive_lag_max: float | None = None,
    ) -> "Monitor":
        health = Health(database.runtime, database.figures, archive_lag_max=archive_lag_max)
        metrics = Metrics(
            lambda: {**database.figures(), **server_figures(), **health.figures()},
            health.note,
            database.runtime.usage,
            database.runtime.capacities,
            database.expired_items,
        )
        database.runtime.tell_units()
        return cls(health, metrics, Inspection(database))

    def routes(self) -> Routes:
        return {**self.health.routes(), **self.metrics.routes(), **self.inspection.routes()}
