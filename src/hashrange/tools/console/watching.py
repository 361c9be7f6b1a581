"""Inspecting a hashrange server through its admin port."""

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from hashrange.tools.console.visits import Mistake

SECONDS_MAX = 5.0
ANSWER_BYTES_MAX = 16 * 2**20


class AdminClient:
    """The admin port at `url`, e.g. http://127.0.0.1:9000.

    Raises ValueError if `url` is not a URL. Proxies are not used and redirects are not followed,
    because they would see the token.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address of an admin port must be like http://127.0.0.1:9000")
        self._connection = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port = parts.hostname, parts.port
        self._token = token

    def inspect(self, table: str) -> list[dict[str, Any]]:
        """The result of `Database.inspect` on the server. Raises `Mistake` if the port does not
        answer."""
        try:
            status, body = self._ask(f"/inspect?{urlencode({'table': table})}")
            if status == 404:
                return []
            if status == 401:
                raise Mistake("The admin port refuses the token.", 502)
            if status != 200:
                raise Mistake(f"The admin port answers with status {status}.", 502)
            tables: list[dict[str, Any]] = json.loads(body)["tables"]
        except (OSError, HTTPException, ValueError, KeyError) as error:
            text = f"The admin port does not answer ({type(error).__name__})."
            raise Mistake(text, 502) from None
        return tables

    def _ask(self, path: str) -> tuple[int, bytes]:
        connection = self._connection(self._host, self._port, timeout=SECONDS_MAX)
        try:
            headers = {"Authorization": f"Bearer {self._token}"}
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read(ANSWER_BYTES_MAX)
        finally:
            connection.close()
