"""Finding the template of a key attribute: constant text, and attributes that its text contains.

A key that was written by a template contains the texts of other attributes. The candidates are all
ways to read the keys of some items as constants and attributes. The template that reproduces the
most keys, byte for byte, is chosen.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hashrange.design.declare.keys.templates import parse
from hashrange.design.errors import DeclarationError
from hashrange.design.inference.field_guesses import FieldGuess, Piece
from hashrange.design.source.model_source import field_name
from hashrange.model.values import Item

SEEDS = 6
"""The number of items from whose keys templates are proposed."""
CANDIDATES_MAX = 300
QUICK = 40
"""The number of items on which each template is tried before it is tried on all items."""
FIT_LEAST = 0.95
"""The least share of a group's keys that a template must produce."""
SHARDS_MAX = 128
USUAL_SHARDS = (10, 16, 20, 32, 50, 64, 100)
"""Numbers of shards that are preferred if several numbers explain the sampled keys."""
FEW = 5

Parts = tuple[str | Piece, ...]


@dataclass(frozen=True)
class FoundTemplate:
    """A template, and how many of the keys it makes."""

    parts: Parts
    made: int

    @property
    def pieces(self) -> list[Piece]:
        return [part for part in self.parts if isinstance(part, Piece)]

    def render(self, raw: Item) -> str | None:
        return render(self.parts, raw)


def render(parts: Parts, raw: Item) -> str | None:
    text = ""
    for part in parts:
        piece = part if isinstance(part, str) else part.render(raw)
        if piece is None:
            return None
        text += piece
    return text


def find_template(
    attribute: str, items: Sequence[Item], guesses: Sequence[FieldGuess]
) -> FoundTemplate | None:
    """The template that fits the values of `attribute` best; None if none fits enough of them.

    The attribute is a key attribute of type S, and all of the items have it.
    """
    usable = [guess for guess in guesses if guess.kind is not None]
    step = max(1, len(items) // SEEDS)
    seeds = items[::step][:SEEDS]
    candidates: dict[Parts, None] = {}
    for seed in seeds:
        for parts in _readings(seed[attribute]["S"], seed, usable):
            candidates[parts] = None
            if len(candidates) >= CANDIDATES_MAX:
                break
    for parts in _sharded(attribute, items, [*candidates], usable):
        candidates[parts] = None
    quick = items[:: max(1, len(items) // QUICK)][:QUICK]
    likely = [p for p in candidates if _made(p, attribute, quick) >= FIT_LEAST * len(quick)]
    templates = [FoundTemplate(parts, _made(parts, attribute, items)) for parts in likely]
    fitting = [one for one in templates if one.made >= FIT_LEAST * len(items)]
    return min(fitting, key=lambda one: _badness(one, len(items)), default=None)


def known_template(
    text: str, attribute: str, items: Sequence[Item], guesses: Sequence[FieldGuess]
) -> FoundTemplate | None:
    """A proposed template, if it reproduces every key of the items."""
    parts = parts_of(text, guesses)
    if parts is None or _made(parts, attribute, items) < len(items):
        return None
    return FoundTemplate(parts, len(items))


def parts_of(text: str, guesses: Sequence[FieldGuess]) -> Parts | None:
    """The parts of a template's text; None if it has a placeholder that is not in `guesses`."""
    names = {field_name(g.attribute): g for g in guesses} | {g.attribute: g for g in guesses}
    try:
        return tuple(
            part if isinstance(part, str) else Piece(names[part.field], part.spec, part.shards)
            for part in parse(text, "")
        )
    except (DeclarationError, KeyError):
        return None


def _made(parts: Parts, attribute: str, items: Sequence[Item]) -> int:
    return sum(render(parts, item) == item[attribute]["S"] for item in items)


# ---- proposals ----


@dataclass(frozen=True)
class _Match:
    start: int
    end: int
    piece: Piece


def _readings(text: str, item: Item, guesses: Sequence[FieldGuess]) -> Iterator[Parts]:
    """The ways to read the text as constants and attributes.

    From left to right, attributes with longer texts are tried before those with shorter texts, and
    a constant is tried last.
    """
    matches: dict[int, list[_Match]] = {}
    for guess in guesses:
        value = guess.value(item)
        for spec, piece in guess.formats(text, value) if value is not None else ():
            for start in _places(text, piece):
                one = _Match(start, start + len(piece), Piece(guess, spec))
                matches.setdefault(start, []).append(one)
    for here in matches.values():
        here.sort(key=lambda match: (-match.end, match.piece.text))
    yield from _continue(text, 0, "", (), matches)


def _continue(
    text: str, at: int, constant: str, before: Parts, matches: dict[int, list[_Match]]
) -> Iterator[Parts]:
    if at == len(text):
        yield (*before, constant) if constant else before
        return
    for match in matches.get(at, ()):
        done: Parts = (*before, constant, match.piece) if constant else (*before, match.piece)
        yield from _continue(text, match.end, "", done, matches)
    following = min((start for start in matches if start > at), default=len(text))
    yield from _continue(text, following, constant + text[at:following], before, matches)


def _places(text: str, piece: str) -> Iterator[int]:
    """Where the piece stands in the text on its own, not inside a longer word or number."""
    start = text.find(piece) if piece else -1
    while start >= 0:
        end = start + len(piece)
        before, after = text[start - 1 : start], text[end : end + 1]
        if _kind(before) != _kind(piece[0]) and _kind(after) != _kind(piece[-1]):
            yield start
        start = text.find(piece, start + 1)


def _kind(character: str) -> str:
    """The kind of a character. A word or a number has characters of one kind."""
    if not character or not character.isalnum():
        return character or "end"
    return "digit" if character.isdigit() else "letter"


def _sharded(
    attribute: str, items: Sequence[Item], proposals: Sequence[Parts], guesses: Sequence[FieldGuess]
) -> Iterator[Parts]:
    """The proposals, each with a number in one constant replaced by the shard number of a field."""
    for parts in proposals:
        for number, part in enumerate(parts):
            numbered = (
                re.fullmatch(r"(\D*?)(\d{1,3})(\D*)", part) if isinstance(part, str) else None
            )
            if numbered is None:
                continue
            before, after = parts[:number], parts[number + 1 :]
            pattern = _shard_pattern(before, numbered[1], numbered[3], after, items, attribute)
            if not pattern:
                continue
            for guess in guesses:
                shards = _shards(pattern, guess)
                if shards:
                    piece = Piece(guess, "", shards)
                    middle = [p for p in (numbered[1], piece, numbered[3]) if p]
                    yield (*before, *middle, *after)


def _shard_pattern(
    before: Parts, head: str, tail: str, after: Parts, items: Sequence[Item], attribute: str
) -> list[tuple[Item, int]]:
    """(item, number) for each key that consists of `before`, `head`, a number, `tail` and `after`.

    The result is empty if any key has another form, or if there are few keys.
    """
    numbers = []
    for item in items[:200]:
        left, right = render((*before, head), item), render((tail, *after), item)
        text = item[attribute]["S"]
        if left is None or right is None or not (text.startswith(left) and text.endswith(right)):
            return []
        number = text[len(left) : len(text) - len(right)]
        if not number.isdecimal() or len(number) > 3:
            return []
        numbers.append((item, int(number)))
    return numbers if len(numbers) >= FEW else []


def _shards(numbers: Sequence[tuple[Item, int]], guess: FieldGuess) -> int:
    """The number of shards with which `guess` gives each item the number that `numbers` has for it.

    0 if there is no such number.
    """
    most = max(number for _, number in numbers)
    fitting = [
        shards
        for shards in range(max(2, most + 1), SHARDS_MAX)
        if all(Piece(guess, "", shards).render(i) == str(number) for i, number in numbers)
    ]
    return next((n for n in USUAL_SHARDS if n in fitting), fitting[0] if fitting else 0)


# ---- preferences ----


def _badness(template: FoundTemplate, count: int) -> tuple[float, ...]:
    """A value by which templates are compared: the best template has the least value.

    A template is better if it makes more keys or, for the same number of keys, has less constant
    text. If `count`, the number of keys, is at least FEW, and a field has the same value in all
    items, constant text is preferred to the field. But a field whose name ends in `id` is preferred
    to constant text, because it probably identifies something.
    """
    constant, guessed, unrelated, plain = 0, 0, 0, 0
    previous = ""
    for part in template.parts:
        if isinstance(part, str):
            constant += sum(c.isalnum() for c in part)
            previous = part
            continue
        guess = part.guess
        if guess.distinct == 1 and count >= FEW and not _identity(guess):
            guessed += 1
        words = re.findall(r"[a-z]+", previous.lower())
        name = guess.attribute.lower()
        unrelated += not any(word in name or name.startswith(word) for word in words[-1:])
        plain += part.spec == "" and guess.annotation in ("datetime",)
        previous = ""
    return (-template.made, guessed, constant, len(template.parts), unrelated, plain)


def _identity(guess: FieldGuess) -> bool:
    return guess.attribute.lower().endswith("id")
