"""The columns of a table that a user has chosen. The browser keeps them in a cookie.

The path of the cookie is that of the table's pages, and its name depends on the database. So each
table of each database has its own columns, even if consoles use the same port.
"""

import json
from collections.abc import Iterable
from urllib.parse import quote, unquote
from zlib import crc32

from starlette.requests import cookie_parser
from starlette.responses import Response

from hashrange.tools.console.visits import Mistake, Visit, table_path

COOKIE_CHARS_MAX = 3_800
"""The largest size of the cookie. Browsers keep cookies of up to 4 KB."""

KEPT_SECONDS = 400 * 24 * 60 * 60
"""The lifetime of the cookie, the longest that browsers allow: 400 days."""


def chosen(visit: Visit) -> list[str]:
    """The columns to show in addition to the keys. Empty if all columns are shown."""
    text = cookie_parser(visit.headers.get("cookie", "")).get(_cookie(visit), "")
    try:
        names = json.loads(unquote(text))
    except (ValueError, RecursionError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def keep(visit: Visit, answer: Response, table: str, names: Iterable[str]) -> None:
    """Let the browser keep `names` as the columns of `table`, in a cookie of the answer. Raises
    `Mistake` if there are too many names."""
    text = quote(json.dumps(list(dict.fromkeys(filter(None, names)))))
    if len(text) > COOKIE_CHARS_MAX:
        raise Mistake("Too many columns: choose fewer.")
    answer.set_cookie(
        _cookie(visit),
        text,
        max_age=KEPT_SECONDS,
        path=table_path(table),
        httponly=True,
        samesite="strict",
    )


def _cookie(visit: Visit) -> str:
    return f"hashrange_columns_{crc32(visit.console.target.name.encode()):08x}"
