"""Asking a console by plain HTTP, and windows of a browser."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from waiting import SECONDS_MAX

NO_HEADERS: Mapping[str, str] = {}


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str


class Browserless:
    """Plain HTTP to a console: what a program could send that is no browser."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.parts = urlsplit(url)
        [self.token] = parse_qs(self.parts.query)["token"]
        self.cookie = ""
        self.csrf = ""

    def ask(
        self,
        path: str,
        form: dict[str, str] | list[tuple[str, str]] | None = None,
        method: str | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Answer:
        sent = {"Cookie": self.cookie} if self.cookie else {}
        body = None
        if form is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(form)
        sent |= headers
        connection = HTTPConnection("127.0.0.1", self.parts.port, timeout=SECONDS_MAX)
        try:
            connection.putrequest(
                method or ("GET" if form is None else "POST"), path, skip_host="Host" in sent
            )
            for name, value in sent.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body.encode() if body is not None else None)
            response = connection.getresponse()
            return Answer(
                response.status,
                {name.lower(): value for name, value in response.headers.items()},
                response.read().decode(),
            )
        finally:
            connection.close()

    def enter(self) -> "Browserless":
        """Exchange the token for the cookie, and find the secret of the forms."""
        answer = self.ask(f"/?token={self.token}")
        assert answer.status == 303
        self.cookie = answer.headers["set-cookie"].split(";")[0]
        found = re.search(r"hx-headers='{\"X-CSRF-Token\": \"([^\"]+)\"}'", self.ask("/").text)
        assert found
        self.csrf = found[1]
        return self

    def post(self, path: str, *form: tuple[str, str], **fields: str) -> Answer:
        return self.ask(path, [*form, *fields.items(), ("csrf", self.csrf)])


Open = Callable[..., Browserless]


class Window:
    """A window of a browser that shows pages of a console. What they report as errors is kept."""

    # htmx reports requests that end because the page is left.
    EXPECTED = re.compile("status of (400|404|409)|^htmx:")

    def __init__(self, page: Any, console: Browserless) -> None:
        self.page = page
        self._base = f"http://{console.parts.netloc}"
        self._reported: list[str] = []
        page.on("pageerror", lambda error: self._reported.append(str(error)))
        page.on("console", self._said)

    def _said(self, said: Any) -> None:
        if said.type == "error" and not self.EXPECTED.search(said.text):
            self._reported.append(said.text)

    def reported(self) -> list[str]:
        """The errors since the last call."""
        found, self._reported = self._reported, []
        return found

    def visit(self, path: str) -> Any:
        """The page at a path of the console, as playwright has it."""
        self.page.goto(f"{self._base}{path}")
        self.page.locator("[aria-busy]").first.wait_for(state="hidden")
        return self.page

    def path(self) -> str:
        """The address of the page, without the console's."""
        address: str = self.page.url
        return address.removeprefix(self._base)
