"""The guided tour: ten steps, each with a thing to do and its result."""

from collections.abc import Iterable

from starlette.responses import Response

from hashrange.tools.console.console import Console
from hashrange.tools.console.pages.learn import (
    behind,
    burst,
    collection,
    ending,
    hot,
    indexes,
    reads,
    ring,
    split,
    stale,
    writes,
)
from hashrange.tools.console.pages.learn.steps import PATH, STEPS
from hashrange.tools.console.visits import Page, Route, Visit

LESSONS = (ring, reads, writes, indexes, hot, burst, split, behind, stale, collection)


def show(visit: Visit) -> Response:
    return visit.page("learn/contents.html", steps=STEPS)


def _shown(console: Console) -> bool:
    return console.tour


def _routes() -> Iterable[Route]:
    yield Route(PATH, show)
    for lesson in LESSONS:
        yield from lesson.ROUTES
    yield from ending.ROUTES


PAGE = Page("Tour", PATH, tuple(_routes()), _shown)
