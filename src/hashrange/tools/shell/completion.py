"""Text before the cursor -> completions: tables, indexes, attributes, keywords, commands."""

import re
from collections.abc import Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hashrange.expressions.partiql.binding import FUNCTIONS
from hashrange.expressions.partiql.tokens import KEYWORDS
from hashrange.tools.shell.catalog import Catalog
from hashrange.tools.shell.output import MODES
from hashrange.tools.shell.splitting import split
from hashrange.tools.shell.values import printable

WORDS = (
    *("SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "MISSING", "NULL"),
    *("ORDER BY", "ASC", "DESC", "INSERT INTO", "VALUE", "UPDATE", "SET", "REMOVE", "DELETE FROM"),
    *("RETURNING", "ALL OLD *", "ALL NEW *", "MODIFIED OLD *", "MODIFIED NEW *", "TRUE", "FALSE"),
    *(f"{function}(" for function in FUNCTIONS),
)
_ARGUMENTS = {
    ".mode": MODES,
    ".capacity": ("on", "off"),
    ".history": ("on", "off", "clear"),
    ".limit": ("off",),
}
_WORD = re.compile(r'("[^"]*|[\w$-]*)$')
_TABLE_NEXT = re.compile(r'\b(FROM|INTO|UPDATE)\s+("?[\w.-]*)$', re.IGNORECASE)
_INDEX_NEXT = re.compile(r'\bFROM\s+("[^"]+"|[\w-]+)\.("?[\w.-]*)$', re.IGNORECASE)
_TABLE_NAMED = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+("[^"]+"|[\w$]+)', re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def complete(text: str, catalog: Catalog, commands: Sequence[str] = ()) -> tuple[str, list[str]]:
    """The word at the end of `text`, and the words that may stand in its place."""
    if text.lstrip().startswith(".") and not text.lower().lstrip().startswith(".explain "):
        return _of_command(text.lstrip(), catalog, commands)
    statement = split(text)[-1]
    if _in_string(statement):
        return "", []
    if index := _INDEX_NEXT.search(statement):
        names = catalog.indexes(_bare(index[1]))
        return index[2], _matching(index[2], map(quoted, names))
    if table := _TABLE_NEXT.search(statement):
        return table[2], _matching(table[2], map(quoted, _tables(catalog)))
    match = _WORD.search(statement)
    word = match[1] if match else ""
    names = []
    for named in dict.fromkeys(_TABLE_NAMED.findall(statement)):
        names += catalog.attributes(_bare(named))
    lower = word.islower()
    words = [each.lower() if lower else each for each in WORDS]
    matching = _matching(word, map(quoted, names))
    return word, matching + (_matching(word, words) if word and word[0] != '"' else [])


def quoted(name: str) -> str:
    """The name as it is written in a statement: in double quotes if it needs them."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def _of_command(text: str, catalog: Catalog, commands: Sequence[str]) -> tuple[str, list[str]]:
    name, blank, rest = text.partition(" ")
    if not blank:
        return text, _matching(text, commands)
    rest = rest.lstrip()
    if name in (".schema", ".indexes"):
        return rest, _matching(rest, _tables(catalog))
    return rest, _matching(rest, _ARGUMENTS.get(name, ()))


def _tables(catalog: Catalog) -> list[str]:
    try:
        return catalog.tables()
    except Exception:  # a completion that fails completes nothing
        return []


def _matching(word: str, names: Iterable[str]) -> list[str]:
    start = word.lstrip('"').lower()
    return [
        name
        for name in dict.fromkeys(names)
        if name.lstrip('"').lower().startswith(start) and name != word and name.isprintable()
    ]


def _in_string(statement: str) -> bool:
    """Whether a text ends within single quotes."""
    return re.sub(r"\"[^\"]*\"|--[^\n]*|/\*.*?\*/", "", statement).count("'") % 2 == 1


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


class ShellCompleter(Completer):
    """The completer that prompt_toolkit calls."""

    def __init__(self, catalog: Catalog, commands: Sequence[str]) -> None:
        self._catalog = catalog
        self._commands = commands

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        word, completions = complete(document.text_before_cursor, self._catalog, self._commands)
        for text in completions:
            yield Completion(text, start_position=-len(word), display=printable(text))
