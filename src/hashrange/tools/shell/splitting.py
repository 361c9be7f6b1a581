"""Text -> statements and dot commands.

A statement ends with a semicolon, as in psql and sqlite3; semicolons in quotes and comments do not
count. At a prompt, an empty line also ends it. A line that begins with a dot is a command, unless
it is inside a statement.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

STATEMENT_CHARACTERS_MAX = 65_536
"""The largest length of a statement. DynamoDB accepts only 8,192 characters, so a longer text lacks
a semicolon or has no statements at all."""

_PIECE = re.compile(
    r"""'[^']*('|\Z)|"[^"]*("|\Z)|--[^\n]*|/\*.*?(\*/|\Z)|;|[^'"\-/;]+|.""", re.DOTALL
)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'?|\"[^\"]*\"?|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


_WORDS = {"exit": ".quit", "quit": ".quit", "help": ".help"}
"""Maps words of other shells to commands. Without this, the shell would take the words for
statements and wait for a semicolon."""


class TooLong(Exception):
    """A statement is longer than the limit; the message is for the user."""


class Entry(NamedTuple):
    """A statement without its semicolon, or a dot command. `line` is its first line's number."""

    text: str
    line: int


def entries(lines: Iterable[str]) -> Iterator[Entry]:
    """The statements and commands in the lines of a file. Raises `TooLong`."""
    waiting, begins, blank = "", 1, True
    for number, line in enumerate(lines, 1):
        if blank:
            waiting, begins = "", number
            if line.lstrip().startswith("."):
                yield Entry(_command(line), number)
                continue
        waiting += line
        if len(waiting) > STATEMENT_CHARACTERS_MAX:
            raise TooLong(
                f"line {begins}: a statement of more than {STATEMENT_CHARACTERS_MAX:,} characters; "
                "is a semicolon missing?"
            )
        if ";" in line:
            *statements, rest = split(waiting)
            for text in statements:
                if not is_blank(text):
                    margin = text[: len(text) - len(text.lstrip())]
                    yield Entry(text.strip(), begins + margin.count("\n"))
                begins += text.count("\n")
            waiting = rest
        if blank or ";" in line or "*/" in line:  # otherwise `blank` stays False
            blank = is_blank(waiting)
    if not is_blank(waiting):
        yield Entry(waiting.strip(), begins)


def _command(line: str) -> str:
    return line.strip().removesuffix(";").rstrip()


def as_command(text: str) -> str:
    """The dot command for a word of other shells, such as `exit`. Other text stays unchanged."""
    return _WORDS.get(_command(text).lower(), text)


def split(text: str) -> list[str]:
    """The statements in a text, and the text after the last semicolon."""
    entries, start = [], 0
    for piece in _PIECE.finditer(text):
        if piece.group() == ";":
            entries.append(text[start : piece.start()])
            start = piece.end()
    return [*entries, text[start:]]


def is_complete(text: str) -> bool:
    """Whether to run this text, typed at a prompt, when the user presses Enter at its end."""
    if as_command(text).lstrip().startswith(".") or is_blank(text):
        return True
    if is_blank(split(text)[-1]):
        return True
    return text.endswith("\n") or text.rpartition("\n")[2].strip() == ""


def is_blank(text: str) -> bool:
    """Whether a text has nothing but blanks and comments."""
    return not _COMMENT.sub("", text).strip()


def is_select(statement: str) -> bool:
    return _COMMENT.sub(" ", statement).lstrip()[:6].upper() == "SELECT"


def blanked(statement: str) -> str:
    """The statement with comments replaced by blanks, and quoted text by quote characters.

    The length stays the same, so offsets in the result are also offsets in the statement.
    """
    return _QUOTED.sub(_blank, statement)


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return (text[0] if text[0] in "'\"" else " ") * len(text)
