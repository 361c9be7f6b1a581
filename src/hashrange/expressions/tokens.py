"""Text -> tokens, and the syntax error for a token.

The error names the unexpected token, and quotes the text from the token before to the token after
it, as on the service.
"""

import re
from typing import NamedTuple

from hashrange.expressions.tree import Parameter, invalid

END = "<EOF>"

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    | (?P<name>[A-Za-z][A-Za-z0-9_]*)
    | (?P<alias>\#[A-Za-z0-9_]+)
    | (?P<placeholder>:[A-Za-z0-9_]+)
    | (?P<index>0|[1-9][0-9]*)
    | (?P<symbol><>|<=|>=|[=<>+\-(),.\[\]])
    | (?P<unknown>.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token of an expression. `kind` is a group of the pattern `_TOKEN`, or END."""

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """All tokens of the text, END last. Unknown characters are tokens too, which the parser
    refuses."""
    tokens = [
        Token(str(match.lastgroup), match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"
    ]
    return [*tokens, Token(END, END, len(text), len(text))]


def syntax_error(parameter: Parameter, text: str, tokens: list[Token], position: int) -> Exception:
    """The error for the token at `position`."""
    start = tokens[position - 1].start if position else 0
    end = tokens[min(position + 1, len(tokens) - 1)].end
    token = tokens[position].text
    return invalid(parameter, f'Syntax error; token: "{token}", near: "{text[start:end]}"')
