"""An error -> the text for the user: its message, the statement with a caret, and advice."""

import re
import shutil
from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple
from unicodedata import east_asian_width

from botocore.exceptions import BotoCoreError, ClientError

from hashrange.expressions.partiql.parser import place_of_fault
from hashrange.kv import StoreError
from hashrange.model.errors import ApiError
from hashrange.tools.shell.advice import advise
from hashrange.tools.shell.splitting import blanked
from hashrange.tools.shell.values import printable, shortened

ERRORS = (ClientError, BotoCoreError, StoreError, ApiError)
"""The exceptions of failed requests, e.g. of a refusal, a closed port or an unreadable file."""

LINE_CHARACTERS_MAX = 100
MESSAGE_CHARACTERS_MAX = 1_000
"""The largest number of characters of a message. Servers other than DynamoDB may send longer texts,
such as an HTML page."""
_INDENT = "  "
_PLACE = re.compile(r"at (\d+):(\d+):(\d+)")
_NAMED = re.compile(
    r"Key (?:name: )?(\w+)$|Variable reference (\S+) in|clause: (GROUP)|Operator: (\S+)"
    r"|in select clause: (\S+)|Table: (?:\S*/)?(\S+) not found"
)
"""Matches messages that name a word of the statement. One of the groups contains the word."""


class Failed(Exception):
    """A statement or command failed; the message is for the user, and may have several lines."""


class Span(NamedTuple):
    """A part of the statement: offset and length in characters."""

    start: int
    length: int


def failure(error: Exception, statement: str = "", key: Sequence[str] = ()) -> Failed:
    """The message for one of `ERRORS`. `key` has the key attributes of the statement's table, if
    known."""
    if isinstance(error, ApiError):
        code, message = error.code, error.message
    elif isinstance(error, ClientError):
        fault = error.response.get("Error", {})
        code, message = fault.get("Code", ""), fault.get("Message", "")
    else:
        return Failed(printable(" ".join(str(error).split())))
    advice = advise(blanked(statement), code, message, key)
    span = None
    if advice and advice.length:
        span = Span(advice.start, advice.length)
    elif statement and code == "ValidationException":
        span = span_of(message, statement)
    text = " ".join(f"{code}: {message}".split()).rstrip(": ")
    lines = [shortened(printable(text), MESSAGE_CHARACTERS_MAX)]
    if span:
        lines += pointed(statement, span)
    if advice:
        lines += wrap(advice.text, min(LINE_CHARACTERS_MAX, shutil.get_terminal_size().columns))
    elif span and (word := _keyword_at(statement, span, message)):
        lines.append(f'{word} is a keyword. As a name it needs double quotes: "{word}"')
    return Failed("\n".join(lines))


def span_of(message: str, statement: str) -> Span | None:
    """The place of an error in the statement. It is found in the message, by our own parser, or by
    searching a word that the message names. None if it is not found."""
    if match := _PLACE.search(message):
        line, column, length = map(int, match.groups())
        return Span(_offset(statement, line, column), length)
    if token := place_of_fault(statement):
        return Span(_offset(statement, token.line, token.column), token.length)
    if match := _NAMED.search(message):
        word = next(group for group in match.groups() if group)
        seen = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", statement, re.IGNORECASE)
        return Span(seen.start(), len(word)) if seen else None
    return None


def _offset(statement: str, line: int, column: int) -> int:
    return sum(len(each) + 1 for each in statement.split("\n")[: line - 1]) + column - 1


def pointed(statement: str, span: Span) -> list[str]:
    """The line of the statement that contains the span, and a line with carets under the span."""
    start = min(span.start, len(statement))
    begin = statement.rfind("\n", 0, start) + 1
    end = statement.find("\n", start)
    line = statement[begin : len(statement) if end < 0 else end]
    at = start - begin
    cut = max(0, min(at - LINE_CHARACTERS_MAX // 2, len(line) - LINE_CHARACTERS_MAX))
    line, at = line[cut : cut + LINE_CHARACTERS_MAX], at - cut
    before, marked = line[:at], line[at : at + span.length]
    before, marked, after = _plain(before), _plain(marked), _plain(line[at + span.length :])
    return [
        f"{_INDENT}{before}{marked}{after}".rstrip(),
        f"{_INDENT}{' ' * _width(before)}{'^' * max(1, _width(marked))}",
    ]


def _plain(text: str) -> str:
    return printable(text.replace("\t", " ").replace("\r", " "))


def _width(text: str) -> int:
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def _keyword_at(statement: str, span: Span, message: str) -> str:
    if "keyword" not in message and "identifier" not in message:
        return ""
    word = statement[span.start : span.start + span.length]
    return word if word.isidentifier() else ""
