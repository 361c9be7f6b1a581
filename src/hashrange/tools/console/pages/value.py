"""One value of an item, however long: on a page, and as a file."""

import json
import re
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import Response

from hashrange.amounts import size
from hashrange.tools.console.hexdump import hexdump
from hashrange.tools.console.outline import value_at
from hashrange.tools.console.pages.item import found_item
from hashrange.tools.console.shapes import TableShape
from hashrange.tools.console.values import TYPES, Value, pretty, shown, unseen_count, vector_text
from hashrange.tools.console.visits import Mistake, Page, Route, Visit

UNSEEN_MAX = 5_000
"""The number of invisible characters above which a text is shown as bytes."""


def show(visit: Visit) -> Response:
    """The whole value."""
    shape, at, value = _found(visit)
    [(kind, content)] = value.items()
    return visit.page(
        "value.html",
        shape=shape,
        at=at,
        key=visit.parameters.get("key", ""),
        type=TYPES[kind],
        size=size(len(_bytes(kind, content))),
        texts=_texts(kind, content),
    )


def file(visit: Visit) -> Response:
    """The bytes of a binary value, the text of a string, or any other value in DynamoDB JSON."""
    _, at, value = _found(visit)
    [(kind, content)] = value.items()
    media, suffix = {
        "B": ("application/octet-stream", "bin"),
        "S": ("text/plain; charset=utf-8", "txt"),
        "N": ("text/plain; charset=utf-8", "txt"),
    }.get(kind, ("application/json", "json"))
    name = re.sub(r"[^\w.-]+", "-", "-".join(map(str, at)))[:100].strip("-.") or "value"
    return Response(
        _bytes(kind, content),
        media_type=media,
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}.{suffix}"},
    )


def _found(visit: Visit) -> tuple[TableShape, list[str | int], Value]:
    shape, item = found_item(visit)
    try:
        at = json.loads(visit.parameters.get("at", ""))
    except (ValueError, RecursionError):
        at = None
    value = value_at(item, at) if isinstance(at, list) and at else None
    if value is None:
        raise Mistake("The item does not have this value, or no longer has it.", 404)
    return shape, at, value


def _bytes(kind: str, content: Any) -> bytes:
    if kind == "B":
        return bytes(content)
    text = content if kind in ("S", "N") else pretty(content)
    return text.encode(errors="replace")


def _texts(kind: str, content: Any) -> list[tuple[str, Markup | str]]:
    """The value as one or more titled texts, such as the text and the bytes of a binary value."""
    if kind == "B":
        text = _as_text(bytes(content))
        written: list[tuple[str, Markup | str]] = [("Text", _lines(text))] if text else []
        return [*written, ("Bytes", hexdump(bytes(content)))]
    if kind == "L" and vector_text(content):
        return [("Numbers", f"[{', '.join(each['N'] for each in content)}]")]
    text = _bytes(kind, content).decode()
    if unseen_count(text) > UNSEEN_MAX:
        return [("Bytes", hexdump(text.encode()))]
    return [("Text", _lines(text))]


def _as_text(content: bytes) -> str:
    """Bytes as text, if they are UTF-8 and most of their characters are visible; otherwise ""."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    return "" if unseen_count(text) > min(UNSEEN_MAX, len(text) // 4) else text


def _lines(text: str) -> Markup:
    """The text with the marks of `shown`, except that line breaks stay line breaks."""
    return Markup("\n").join(map(shown, text.split("\n")))


PATH = "/table/{table}/item/value"
PAGE = Page("", PATH, (Route(PATH, show), Route(PATH + "/file", file)))
