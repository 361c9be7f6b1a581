"""The admin port: health checks, metrics and inspections for operators, apart from the API's port.

To add a page, add an entry to the routes that `server/workers/alone` passes to `AdminPort`.
"""

from hashrange.server.admin.health import Health
from hashrange.server.admin.inspection import Inspection
from hashrange.server.admin.metrics import Metrics
from hashrange.server.admin.port import AdminPort
from hashrange.server.admin.routes import Answer, Route, Routes, json_answer, text_answer

__all__ = [
    "AdminPort",
    "Answer",
    "Health",
    "Inspection",
    "Metrics",
    "Route",
    "Routes",
    "json_answer",
    "text_answer",
]
