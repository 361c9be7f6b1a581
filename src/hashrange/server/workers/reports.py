"""The admin port of several workers: the supervisor asks each worker and combines the answers."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol, TypeVar

from hashrange.server.admin import Answer, Route, Routes, text_answer
from hashrange.server.admin.health import readiness
from hashrange.server.admin.inspection import shown
from hashrange.server.admin.metrics import Counts, rendered
from hashrange.server.admin.port import HEALTH_PATH
from hashrange.server.admin.routes import Query
from hashrange.server.workers import totals, worker

LIFE_SECONDS_MAX = 5.0
"""The time within which a worker's event loop must answer."""

ANSWER_SECONDS_MAX = 20.0

T = TypeVar("T")


class Workers(Protocol):
    """The part of the supervisor that `Reports` uses. Its methods run on the supervisor's event
    loop."""

    async def ask_all(self, question: str, argument: Any, seconds: float, /) -> list[Any]: ...
    async def counts(self) -> Counts: ...
    def pids(self) -> Iterable[int]: ...


class Reports:
    """Answers the requests of the admin port, in threads of the port."""

    def __init__(self, loop: asyncio.AbstractEventLoop, workers: Workers) -> None:
        self._loop = loop
        self._workers = workers

    def routes(self) -> Routes:
        return {
            HEALTH_PATH: Route(self.alive, open=True),
            "/readyz": Route(self.ready, open=True),
            "/metrics": Route(self.metrics),
            "/inspect": Route(self.inspect),
        }

    def alive(self, query: Query) -> Answer:
        """200 if the event loop of every worker is running, otherwise 503 and the problem."""
        problem = self._problem(worker.LIFE, LIFE_SECONDS_MAX)
        return text_answer(problem, 503) if problem else text_answer("alive")

    def ready(self, query: Query) -> Answer:
        return readiness(self._problem(worker.READINESS, ANSWER_SECONDS_MAX))

    def metrics(self, query: Query) -> Answer:
        return rendered(
            lambda: self._done(self._workers.counts()),
            lambda: totals.processes(self._workers.pids()),
        )

    def inspect(self, query: Query) -> Answer:
        name = query.get("table")
        answers = self._ask(worker.INSPECTION, name, ANSWER_SECONDS_MAX)
        for answer in answers:
            if isinstance(answer, BaseException):
                return text_answer(str(answer), 503)
        return shown(name, totals.inspected(answers))

    def _problem(self, question: str, seconds: float) -> str:
        """The first problem that a worker reports, or "". It is also a problem if a worker does not
        answer in time, or if no worker serves."""
        answers = self._ask(question, None, seconds)
        problems = [str(answer) for answer in answers if answer]
        return problems[0] if problems else "" if answers else "no worker serves"

    def _ask(self, question: str, argument: Any, seconds: float) -> list[Any]:
        return self._done(self._workers.ask_all(question, argument, seconds))

    def _done(self, asking: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(asking, self._loop).result()
