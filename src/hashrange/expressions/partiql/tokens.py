"""PartiQL text -> tokens. Each token has its place in the text, for messages.

Source of the lexical rules: the PartiQL specification. The messages were observed on the service.
"""

import re
from collections.abc import Collection
from pkgutil import get_data
from typing import NamedTuple

from hashrange.model.errors import ValidationException

KEYWORDS = frozenset(
    (get_data("hashrange.expressions", "partiql_keywords.txt") or b"").decode("ascii").split()
)
"""Words that cannot be names of attributes unless quoted. Source: observed."""

END = "<end>"
_EXPONENT_MAX = 2**31 - 1
"""The largest absolute value of a number's exponent and scale, which are checked before the number
itself."""
_EXPONENT_DIGITS_MAX = 10

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\n\r\f\v]+|--[^\n]*|/\*.*?\*/)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
    | (?P<quoted>"(?:[^"]|"")*+")
    | (?P<string>'(?:[^']|'')*+')
    | (?P<unknown>/\*)
    | (?P<symbol><<|>>|<>|!=|<=|>=|\|\||[-=<>+*/%()\[\]{},.:;?])""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token of a statement. `kind` is a group of the pattern `_TOKEN`, or "keyword", or END.

    `text` has no quotes; keywords are in capitals. `place` is the token's place, as messages give
    it.
    """

    kind: str
    text: str
    line: int
    column: int
    length: int

    @property
    def place(self) -> str:
        return f"at {self.line}:{self.column}:{self.length}"


def malformed(detail: str = "") -> ValidationException:
    """The error for a text that is not a well-formed statement."""
    return ValidationException(f"Statement wasn't well formed, can't be processed: {detail}")


def check_components(parts: Collection[str | int]) -> None:
    """Raises ValidationException if a part of a path, or a name in a map, is empty."""
    if "" in parts:
        raise ValidationException("Path component cannot be an empty string")


def tokenize(text: str) -> list[Token]:
    """All tokens of the text, END last. Raises ValidationException if the text cannot be split into
    tokens."""
    tokens = []
    position, line, line_start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup == "unknown":
            raise malformed()
        kind, token_text = str(match.lastgroup), match.group()
        if kind != "blank":
            place = (line, position - line_start + 1, len(token_text))
            tokens.append(Token(*_read(kind, token_text), *place))
        if "\n" in token_text:
            line += token_text.count("\n")
            line_start = position + token_text.rindex("\n") + 1
        position = match.end()
    return [*tokens, Token(END, END, line, position - line_start + 1, 0)]


def unreadable(text: str) -> Token | None:
    """The first character that begins no token, as a token. None if there is no such character."""
    position = 0
    while (match := _TOKEN.match(text, position)) and match.lastgroup != "unknown":
        position = match.end()
    if position == len(text):
        return None
    line_start = text.rfind("\n", 0, position) + 1
    line = text.count("\n", 0, position) + 1
    return Token("unknown", text[position], line, position - line_start + 1, 1)


def _read(kind: str, text: str) -> tuple[str, str]:
    if kind == "name" and text.upper() in KEYWORDS:
        return "keyword", text.upper()
    if kind in ("quoted", "string"):
        quote = text[0]
        return kind, text[1:-1].replace(quote * 2, quote)
    if kind == "number":
        _check_scale(text)
    return kind, text


def _check_scale(number: str) -> None:
    """Check that a number's exponent and the resulting scale fit into 32 bits."""
    mantissa, _, written = number.lower().partition("e")
    digits = written.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _EXPONENT_DIGITS_MAX:
        raise malformed()
    exponent = -int(digits) if written.startswith("-") else int(digits)
    scale = len(mantissa.partition(".")[2]) - exponent
    if max(abs(exponent), abs(scale)) > _EXPONENT_MAX:
        raise malformed()
