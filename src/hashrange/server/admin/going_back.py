"""Reset and snapshots for tests: a database in memory goes back to an earlier state.

POST /reset                   go back to the state at the start
POST /snapshots/keep?name=N   take a snapshot
POST /snapshots/load?name=N   go back to a snapshot
"""

import re
from typing import TYPE_CHECKING

from hashrange.server.admin.routes import Answer, Query, Route, Routes, text_answer

if TYPE_CHECKING:
    from hashrange.database.states import States

SNAPSHOTS_MAX = 100
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_NO_NAME = "?name= must be 1 to 100 letters, digits, dots, dashes and underscores"


class GoingBack:
    def __init__(self, states: "States") -> None:
        self._states = states

    def routes(self) -> Routes:
        return {
            "/reset": Route(self._reset, changes=True),
            "/snapshots/keep": Route(self._keep, changes=True),
            "/snapshots/load": Route(self._load, changes=True),
        }

    def _reset(self, query: Query) -> Answer:
        self._states.go_back()
        return text_answer("the database is as it was at the start")

    def _keep(self, query: Query) -> Answer:
        name = query.get("name", "")
        if not _NAME.fullmatch(name):
            return text_answer(_NO_NAME, 400)
        if name not in self._states.names and len(self._states.names) >= SNAPSHOTS_MAX:
            return text_answer(
                f"there are {SNAPSHOTS_MAX} snapshots already; replace one by using its name", 409
            )
        self._states.keep(name)
        return text_answer(f"kept {name}")

    def _load(self, query: Query) -> Answer:
        name = query.get("name", "")
        if name not in self._states.names:
            kept = ", ".join(self._states.names) or "none"
            return text_answer(f"no snapshot of that name; the snapshots are: {kept}", 404)
        self._states.go_back(name)
        return text_answer(f"the database is as it was in the snapshot {name}")
