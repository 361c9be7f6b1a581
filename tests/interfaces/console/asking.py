"""Asking a console by plain HTTP."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
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
