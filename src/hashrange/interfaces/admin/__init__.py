"""The admin port: health checks, metrics and inspections for operators, apart from the API's port.

To add a page, add an entry to the routes that `interfaces/service/alone` passes to `AdminPort`.
"""

from hashrange.interfaces.admin.health import Health
from hashrange.interfaces.admin.inspection import Inspection
from hashrange.interfaces.admin.metrics import Metrics
from hashrange.interfaces.admin.port import AdminPort
from hashrange.interfaces.admin.routes import Answer, Route, Routes, json_answer, text_answer

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
