"""A visit to a page: the request of the browser, and methods to answer it."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from jinja2 import Environment
from starlette.datastructures import URL, Headers, ImmutableMultiDict
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hashrange.tools.console.console import Console, ReadOnly

FIELDS_MAX = 20_000
"""The largest number of fields in a form."""


class Mistake(Exception):
    """The user's request cannot be carried out. The message is shown on a page."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Visit:
    """One request. `parameters` are the fields of its form, or the parameters of its URL."""

    console: Console
    environment: Environment
    url: URL
    path: Mapping[str, str]
    parameters: "ImmutableMultiDict[str, str]"
    csrf: str
    headers: Headers = field(default_factory=Headers)

    @property
    def partial(self) -> bool:
        """Whether htmx sent the request. Then the answer is only a part of a page."""
        return "HX-Request" in self.headers

    @property
    def shown_path(self) -> str:
        """The URL that the browser shows, without the host."""
        address = urlsplit(self.headers.get("HX-Current-URL", "") or str(self.url))
        return f"{address.path}?{address.query}" if address.query else address.path

    def page(self, template: str, status: int = 200, **context: Any) -> Response:
        """A page from a template. `templates/base.html` has its blocks."""
        layout = "partial.html" if self.partial else "base.html"
        loaded = self.environment.get_template(template)
        return HTMLResponse(loaded.render(visit=self, layout=layout, **context), status)

    def go(self, path: str, **parameters: str) -> Response:
        """Send the browser to another page after a write."""
        to = address(path, **parameters)
        if self.partial:  # htmx would show the page within this one
            return Response(headers={"HX-Redirect": to})
        return RedirectResponse(to, 303)

    def go_back(self, otherwise: str) -> Response:
        """Send the browser to the console's page that the form names, or else to `otherwise`."""
        back = self.parameters.get("back", "")
        local = re.match(r"/(?![/\\])[\x21-\x7e]*\Z", back)
        return self.go(back if local else otherwise)

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """The number in a field, or `default` if the field is empty. A number outside `least` to
        `most` becomes the nearer of the two. Raises `Mistake`."""
        text = self.parameters.get(name) or str(default)
        if not text.isascii() or not text.isdecimal():
            raise Mistake(f"{name}: {text!r} is not a number")
        return max(least, min(most, int(text[:18])))

    PLACE: ClassVar = frozenset(
        (
            "after",
            "before",
            "found",
            "limit",
            "read",
            "round",
            "run",
            "start",
            "step",
            "units",
            "view",
        )
    )
    """The parameters for the position of a page in a search, and for its form."""

    def asked(self, without: Collection[str]) -> str:
        """The parameters of this page, except those in `without`, as a query string."""
        return urlencode([pair for pair in self.parameters.multi_items() if pair[0] not in without])

    def with_(self, **changed: str | None) -> str:
        """The URL of this page with some parameters changed. A parameter that is None is left
        out."""
        kept = [(name, text) for name, text in self.parameters.multi_items() if name not in changed]
        added = [(name, text) for name, text in changed.items() if text is not None]
        return f"{self.url.path}?{urlencode(kept + added)}"


Show = Callable[[Visit], Response]


@dataclass(frozen=True)
class Route:
    """A URL path of a page, and the function that answers its requests. `path` is in Starlette's
    form, such as `/table/{table}`."""

    path: str
    show: Show
    method: Literal["GET", "POST"] = "GET"


def writes(path: str, show: Show) -> Route:
    """A route that writes. A read-only console refuses its requests."""

    def guarded(visit: Visit) -> Response:
        if not visit.console.write:
            raise ReadOnly
        return show(visit)

    return Route(path, guarded, "POST")


@dataclass(frozen=True)
class Page:
    """A page of the console. A page with `{table}` in its path is a tab of each table.

    A page without a title is not in a navigation. `shown` tells whether this console has the page.
    """

    title: str
    path: str
    routes: tuple[Route, ...]
    shown: Callable[[Console], bool] = field(default=lambda console: True)

    @property
    def of_table(self) -> bool:
        return "{table}" in self.path


def address(path: str, **parameters: str) -> str:
    """A URL path with parameters. Empty parameters are left out."""
    asked = urlencode({name: text for name, text in parameters.items() if text})
    return f"{path}?{asked}" if asked else path


def table_path(table: str, page: str = "") -> str:
    return f"/table/{quote(table, safe='')}{f'/{page}' if page else ''}"


def fields(body: bytes) -> "ImmutableMultiDict[str, str]":
    """The fields of a form that a browser sent. Raises `Mistake`."""
    try:
        text = body.decode()
        return ImmutableMultiDict(
            parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
        )
    except ValueError:
        raise Mistake("the form cannot be read") from None
