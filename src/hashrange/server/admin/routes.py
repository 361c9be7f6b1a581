"""The paths of the admin port, and the functions that answer them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

Query = Mapping[str, str]
"""The parameters of a query string. If a parameter is repeated, the last value counts."""


Figures = Callable[[], Mapping[str, int]]
"""A function that returns numbers for monitoring, by name. Any thread may call it."""


class Answer(NamedTuple):
    """A response of the admin port."""

    status: int
    body: bytes
    content_type: str


class Route(NamedTuple):
    """The function that answers a path, and the callers that may use it.

    `answer` is called in a thread of the admin port, and several calls may run at once. So it may
    wait for a disk, but it must not touch objects of the event loop. An `open` route needs no
    token. A route that `changes` something takes POST, other routes take GET and HEAD.
    """

    answer: Callable[[Query], Answer]
    open: bool = False
    changes: bool = False


Routes = Mapping[str, Route]
"""Maps paths, such as `/metrics`, to routes."""


def text_answer(text: str, status: int = 200) -> Answer:
    """One line of plain text."""
    return Answer(status, f"{text}\n".encode(), "text/plain; charset=utf-8")


def json_answer(value: Any) -> Answer:
    return Answer(200, msgspec.json.encode(value), "application/json")
