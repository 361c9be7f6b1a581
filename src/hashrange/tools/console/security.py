"""The guard in front of all pages, which also adds the headers that restrict browsers.

A request is answered if it passes all of these checks:

- `Host` is the console's own, so that other names that resolve to 127.0.0.1 are refused;
- `Origin`, if there is one, is the console's own, and `Sec-Fetch-Site` does not name another site;
- a cookie has the session's secret; a browser gets the cookie for the token in the printed URL.

A posted form needs another secret, which only the console's pages contain. `app` checks it when it
reads the form. Secrets are compared in constant time. A page may load scripts and styles only from
the console, and none that are inline.
"""

import hmac
import logging
import secrets
import traceback
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # With no-referrer, browsers would send `Origin: null` with forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf"

_log = logging.getLogger("hashrange")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
</head><body><main><h1>{title}</h1><p>{text}</p></main></body></html>
"""
NO_TOKEN = (
    "This console opens only with the token in the address that the command printed. Copy the "
    "whole address, with <code>?token=&hellip;</code>, from the terminal into this window."
)
OTHER_SITE = (
    "Another web page requested this page. Copy the address that the command printed into the "
    "address bar."
)
OTHER_HOST = "The console answers only at the address that the command printed."


def log_mistake(error: Exception) -> None:
    """Log the kind and the place of an error, but not its message, which may contain values of
    items."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    name = Path(place.filename).name
    _log.error("console: %s at %s:%s", type(error).__name__, name, place.lineno)


def same(token: str, secret: str) -> bool:
    """Whether a token equals the secret. The comparison takes constant time."""
    return hmac.compare_digest(token.encode(errors="replace"), secret.encode())


class Guard:
    """An ASGI application that wraps another one, and does not pass refused requests on to it."""

    def __init__(self, app: Starlette, port: int, token: str) -> None:
        self.app = app
        self._token = token
        self._session = secrets.token_urlsafe(32)
        self.csrf = secrets.token_urlsafe(32)
        # Cookies do not belong to a port, so the name keeps two consoles apart.
        self.cookie = f"hashrange_console_{port}"
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                # Pages have values of items in them; static files are requested by their ETag.
                static = scope["path"].startswith("/static/")
                headers["Cache-Control"] = "no-cache" if static else "no-store"
            await send(message)

        answer = self._check(scope) or self.app
        try:
            await answer(scope, receive, send_with_headers)
        except Exception as error:
            log_mistake(error)
            if not started:
                refusal = _refusal(500, "Internal error", "The console has a bug here.")
                await refusal(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> Response | None:
        """The response that refuses the request, or None if the request passes."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            return _refusal(421, "Not this address", OTHER_HOST)
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return _refusal(403, "Requested by another page", OTHER_SITE)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refusal(403, "Requested by another page", OTHER_SITE)
        if scope["method"] in ("GET", "HEAD") and (entered := self._enter(scope)):
            return entered
        cookies = cookie_parser(headers.get("cookie", ""))
        if not same(cookies.get(self.cookie, ""), self._session):
            return _refusal(401, "A token is needed", NO_TOKEN)
        return None

    def _enter(self, scope: Scope) -> Response | None:
        """Exchange the token for a cookie, and remove the token from the URL."""
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [text for name, text in asked if name == "token"]
        if not tokens or not same(tokens[0], self._token):
            return None
        kept = urlencode([(name, text) for name, text in asked if name != "token"])
        # A path that begins with two slashes would name another host.
        path = "/" + scope["path"].lstrip("/")
        answer = RedirectResponse(f"{path}?{kept}" if kept else path, 303)
        answer.set_cookie(self.cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer


def _refusal(status: int, title: str, text: str) -> Response:
    return HTMLResponse(_PAGE.format(title=title, text=text), status)
