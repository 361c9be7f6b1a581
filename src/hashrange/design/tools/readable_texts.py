"""Generated texts for pictures and documents: `b-1` for a building_id, `Ann` for a name."""

from collections.abc import Callable

NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn")
FEW = 3
_WORDS: dict[str, Callable[[str], str]] = {
    "email": lambda name: f"{name.lower()}@example.com",
    "mail": lambda name: f"{name.lower()}@example.com",
    "handle": str.lower,
    "owner": str.lower,
    "login": str.lower,
    "user": str.lower,
    "username": lambda name: name,
    "author": lambda name: name,
}
DISTINCT = ("email", "handle", "name", "text", "title", "username")
"""The names of fields that have a different text in each item, as key fields have, too. Any other
field has one of a few texts."""
PEOPLE = ("Account", "Author", "Customer", "Employee", "Member", "Person", "User")
"""The names of entities whose field `name` contains the name of a person."""


def readable_text(entity: str, field: str, number: int, key: bool) -> str:
    """The `number`-th text of a field. `key` says whether the field is part of the primary key."""
    if field not in DISTINCT and not key:
        number = (number - 1) % FEW + 1
    stem = field.removesuffix("_id") if field != "id" else entity
    if field == "id" or field.endswith("_id"):
        return f"{stem[0].lower()}-{number}"
    if field == "name" and entity not in PEOPLE:
        return f"{entity} {number}"
    written = str if field == "name" else _WORDS.get(field)
    if written is not None:
        round = (number - 1) // len(NAMES)
        return written(NAMES[(number - 1) % len(NAMES)] + (str(round + 1) if round else ""))
    return f"{field.replace('_', '-')}-{number}"
