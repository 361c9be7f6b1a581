"""Patterns: texts of policies with wildcards and policy variables.

`*` stands for any characters and `?` for one character. `${aws:username}` stands for the value of a
condition key, and `${*}`, `${?}` and `${$}` for the characters `*`, `?` and `$` themselves. The
value of a variable is never read as a wildcard. Source: IAM user guide, "IAM policy elements:
Variables and tags".
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_DEFAULT = re.compile(r"""\s*([^,'"\s]+)\s*,\s*'([^']*)'\s*""")
_LITERALS = frozenset("*?$")


class PatternError(Exception):
    """The text is not a valid pattern."""


class MissingVariable(Exception):
    """The request has no single value for a variable, and the variable has no default."""


Known = bool | None
"""A truth value; None if it depends on a policy variable without a value."""


def any_of(each: Iterable[Known]) -> Known:
    """Whether one of the truth values is true; None if none is true, but one is unknown."""
    unknown = False
    for one in each:
        if one:
            return True
        unknown = unknown or one is None
    return None if unknown else False


class Context(Protocol):
    """The condition keys of a request."""

    def values(self, key: str, /) -> tuple[str, ...]:
        """The values of a key, given in lower case; empty if the request does not have the key."""
        ...


class _Nothing:
    def values(self, key: str, /) -> tuple[str, ...]:
        return ()


NOTHING: Context = _Nothing()
"""The context of a request without condition keys."""


class Variable(Struct, frozen=True):
    """A policy variable. Its `key` is a condition key in lower case."""

    key: str
    default: str | None = None

    def bound(self, known: Context) -> "Part":
        values = known.values(self.key)
        return values[0] if len(values) == 1 else self

    def text(self, context: Context) -> str:
        """The value of the variable in a request. Raises MissingVariable."""
        values = context.values(self.key)
        if len(values) == 1:
            return values[0]
        if values or self.default is None:
            raise MissingVariable(self.key)
        return self.default


class Wildcard(Struct, frozen=True):
    """`*` or `?`."""

    letter: str


Part = str | Variable | Wildcard


class Pattern:
    """A text of a policy, in parts. In an `arn`, no wildcard matches a colon between segments."""

    __slots__ = ("_plain", "_regex", "arn", "parts", "text")

    def __init__(self, text: str, parts: tuple[Part, ...], arn: bool = False) -> None:
        self.text = text
        self.parts = parts
        self.arn = arn
        literal = all(isinstance(part, str) for part in parts)
        self._plain = "".join(map(str, parts)) if literal else None
        self._regex = None if literal or self.varies else _compiled(parts, arn)

    @property
    def variables(self) -> list[str]:
        """The condition keys of the variables in the text."""
        return [part.key for part in self.parts if isinstance(part, Variable)]

    @property
    def varies(self) -> bool:
        return bool(self.variables)

    @property
    def prefix(self) -> str | None:
        """The text before the star of a pattern like `text*`; None for other patterns and for
        ARNs."""
        match self.parts:
            case (str(text), Wildcard("*")) if not self.arn:
                return text
        return None

    def bound(self, known: Context) -> "Pattern":
        """The same pattern, with the `known` values in place of policy variables."""
        if not self.varies:
            return self
        filled = [part.bound(known) if isinstance(part, Variable) else part for part in self.parts]
        return Pattern(self.text, tuple(_joined(filled)), self.arn)

    def matches(self, text: str, context: Context) -> Known:
        """Whether the whole text matches; None if a variable has no value."""
        if self._plain is not None:
            return text == self._plain
        try:
            regex = self._regex or _compiled(self._filled(context), self.arn)
        except MissingVariable:
            return None
        return regex.fullmatch(text) is not None

    def value(self, context: Context) -> str:
        """The text with the values of its variables. Wildcards are ordinary characters.

        Raises MissingVariable.
        """
        if self._plain is not None:
            return self._plain
        filled = self._filled(context)
        return "".join(part.letter if isinstance(part, Wildcard) else part for part in filled)

    def _filled(self, context: Context) -> tuple[str | Wildcard, ...]:
        return tuple(
            part.text(context) if isinstance(part, Variable) else part for part in self.parts
        )


COLONS = 5
"""The number of colons that separate the segments of an ARN. The last segment may contain colons,
for example in the label of a stream."""


@lru_cache(maxsize=4096)
def _compiled(parts: tuple[str | Wildcard, ...], arn: bool) -> re.Pattern[str]:
    """A regular expression that needs no long backtracking for any text.

    Before the fifth colon of an ARN, a star matches only within its segment. But a star at the end
    of a segment may match colons too.

    The part between two stars that match anything has a fixed number of colons, so its first match
    is also the match that ends first. Such a part becomes an atomic group, which is matched only
    once. So does a part between two stars of one segment. Only the last star needs backtracking.
    """
    groups, colons = [[""]], 0
    for at, part in enumerate(parts):
        free = not arn or colons >= COLONS
        if isinstance(part, str):
            colons += part.count(":")
            groups[-1][-1] += re.escape(part)
        elif part.letter == "?":
            groups[-1][-1] += "." if free else "[^:]"
        elif free or _ends_segment(parts, at):
            groups.append([""])
        else:
            groups[-1].append("")
    first, *others = groups
    if not others:
        return re.compile(_within(first, ends=True), re.DOTALL)
    between = "".join(f"(?>.*?{_within(each)})" for each in others[:-1] if each != [""])
    end = f".*{_within(others[-1], ends=True)}"
    return re.compile(_within(first) + between + end, re.DOTALL)


def _ends_segment(parts: tuple[str | Wildcard, ...], at: int) -> bool:
    following = parts[at + 1] if at + 1 < len(parts) else ":"
    return isinstance(following, str) and following.startswith(":")


def _within(pieces: list[str], ends: bool = False) -> str:
    """A regular expression for pieces of a text, separated by stars that do not match colons.

    If `ends`, nothing follows the last piece.
    """
    first, *others = pieces
    if others and ends:
        others, last = others[:-1], f"[^:]*{others[-1]}"
    else:
        last = ""
    return first + "".join(f"(?>[^:]*?{each})" for each in others if each) + last


def parse(text: str, variables: bool = True, arn: bool = False) -> Pattern:
    """A pattern from the text of a policy. Raises PatternError.

    `variables` is false for a policy whose Version is older than 2012-10-17.
    """
    parts: list[Part] = []
    end = 0
    for match in _VARIABLE.finditer(text) if variables else ():
        parts += _wild(text[end : match.start()])
        end = match.end()
        inside = match[1]
        parts.append(inside if inside in _LITERALS else _variable(inside))
    parts += _wild(text[end:])
    return Pattern(text, tuple(_joined(parts)), arn)


def literal(text: str) -> Pattern:
    """A pattern that matches only this text."""
    return Pattern(text, (text,))


def _variable(inside: str) -> Variable:
    defaulted = _DEFAULT.fullmatch(inside)
    key, default = (defaulted[1], defaulted[2]) if defaulted else (inside.strip(), None)
    if ":" not in key or "," in key:
        raise PatternError(f"${{{inside}}} is not a policy variable")
    return Variable(key.lower(), default)


def _wild(text: str) -> list[Part]:
    pieces = re.split(r"([*?])", text)
    return [Wildcard(each) if each in ("*", "?") else each for each in pieces if each]


def _joined(parts: list[Part]) -> list[Part]:
    """The parts, with adjacent texts joined."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined
