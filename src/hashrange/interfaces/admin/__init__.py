"""The admin port: health checks, and whatever else operators look at, apart from the API's port.

A part of the program that has something to show adds one entry to the routes that
`interfaces/service/alone` passes to `AdminPort`.
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
