"""Reads the fixture files of this folder: input, item and expected result.

    // a comment
    given item {"a": {"S": "x"}}         applies to the following cases, until the next one
    given values {":v": {"S": "x"}}      a case gets those that its text uses
    given names {"#a": "a"}

    a = :v                               a case: a text (quoted as JSON where blanks matter),
        true                             and its outcome; further outcomes have a name first

An outcome is JSON, or `invalid: reason` for "Invalid {parameter}: reason", or `error: message`.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hashrange.model.errors import ValidationException

FOLDER = Path(__file__).parent


class Case(NamedTuple):
    text: str
    given: dict[str, Any]
    outcomes: dict[str, str]

    def used(self, kind: str) -> dict[str, Any] | None:
        """The given names or values that the text names; None if it names none."""
        tokens = _words(self.text)
        used = {key: value for key, value in self.given.get(kind, {}).items() if key in tokens}
        return json.loads(json.dumps(used)) or None

    def item(self) -> Any:
        return json.loads(json.dumps(self.given.get("item", {})))


def cases(file: str) -> list[Case]:
    """The cases of a file, each text once."""
    found = list(_read((FOLDER / file).read_text().splitlines()))
    texts = [(case.text, str(case.given)) for case in found]
    assert len(set(texts)) == len(texts), f"{file} says a case twice"
    return found


def names(found: list[Case]) -> list[str]:
    """Test ids."""
    return [case.text[:60] for case in found]


def outcome_of(parameter: str, error: ValidationException) -> str:
    """An error in the notation of fixture files."""
    prefix = f"Invalid {parameter}: "
    if error.message.startswith(prefix):
        return f"invalid: {error.message.removeprefix(prefix)}"
    return f"error: {error.message}"


def same(outcome: str, result: object) -> bool:
    """Whether an outcome is the JSON of this result, or this text of an error."""
    if isinstance(result, str):
        return outcome == result
    return not outcome.startswith(("invalid:", "error:")) and json.loads(outcome) == result


def _read(lines: list[str]) -> Iterator[Case]:
    given: dict[str, Any] = {}
    text, outcomes = "", dict[str, str]()
    for line in [*lines, "end"]:
        if line.startswith(" "):
            name, _, rest = line.strip().partition(" ")
            plain = name in ("true", "false") or not name.isalpha()
            outcomes["" if plain else name] = line.strip() if plain else rest
        elif line.strip() and not line.startswith("//"):
            if outcomes:
                yield Case(text, dict(given), outcomes)
                outcomes = {}
            if line.startswith("given "):
                _, kind, value = line.split(" ", 2)
                given[kind] = json.loads(value)
            else:
                text = json.loads(line) if line.startswith('"') else line


def _words(text: str) -> set[str]:
    """Everything in the text that could be an alias or placeholder."""
    for symbol in "()[],.=<>+-":
        text = text.replace(symbol, " ")
    return set(text.split())


def attempt(act: Callable[[], Any]) -> tuple[Any, str]:
    """The result, or the message of the refusal."""
    try:
        return act(), ""
    except ValidationException as error:
        return None, error.message
