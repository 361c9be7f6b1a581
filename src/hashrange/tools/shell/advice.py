"""Advice for users of SQL: DynamoDB's equivalents of what SQL offers.

Each entry of `BY_TEXT` has a pattern of SQL that no statement of DynamoDB has. It is searched only
in statements that were refused. The entries of `BY_MESSAGE` have patterns of error messages.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hashrange.expressions.operators import CONDITION_FUNCTIONS


class Advice(NamedTuple):
    text: str
    start: int = 0
    length: int = 0
    """The length of the part of the statement that the advice is about. The part begins at `start`;
    its length is 0 if the advice is not about one part."""


def _entries(*pairs: tuple[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.IGNORECASE), text) for pattern, text in pairs]


_TABLES = (
    "PartiQL has no such statement in DynamoDB: tables are made, changed and dropped by API calls, "
    "such as `aws dynamodb create-table` or `hashrange design create`. .tables and .schema "
    "show the tables that exist."
)
_KEYS = (
    "A write names one item by its whole key, each part with `=`{key}. To write several items, "
    "SELECT their keys first, then run a statement for each."
)

BY_TEXT = _entries(
    (
        r"\bCOUNT(?=\s*\()",
        "DynamoDB computes no aggregates. .schema shows the number of items of a table; the "
        "Query and Scan APIs count with Select=COUNT. If a count is read often, keep it in an "
        "item.",
    ),
    (
        r"\b(SUM|AVG|MIN|MAX)(?=\s*\()",
        "DynamoDB computes no aggregates: select the items and compute in your program, or "
        "keep the result in an item that each write updates. The least or greatest sort key is "
        "the first item of an ORDER BY, with .limit 1.",
    ),
    (
        r"\b((LEFT|RIGHT|FULL|INNER|OUTER|CROSS)\s+)*JOIN\b",
        "A statement reads one table or index. Items that are read together share a partition key: "
        "SELECT ... WHERE pk = '...' reads them all; or run one statement for each table.",
    ),
    (
        r"\b(UNION|INTERSECT|EXCEPT)\b",
        "A statement is one SELECT. To select several values of an attribute, use IN: "
        "WHERE pk IN ['a', 'b'].",
    ),
    (
        r"\bGROUP\s+BY\b|\bHAVING\b",
        "DynamoDB does not group. Items with the same partition key are already a group, which "
        "you select by its key; an index can group by another attribute.",
    ),
    (
        r"\bOFFSET\s+[0-9?]+",
        "There are no offsets: results are read page by page, and each page starts where the "
        "previous one ended. To start elsewhere, give a condition of the sort key: AND sk > "
        "'...'.",
    ),
    (
        r"\bLIMIT\s+\S+",
        "A statement does not limit the number of items: use .limit N here, and --limit N with "
        "`hashrange query`.",
    ),
    (
        r"\b(NOT\s+)?I?LIKE\b",
        "There is no LIKE: begins_with(name, 'a') stands for 'a%', and contains(name, 'a') for "
        "'%a%'.",
    ),
    (
        r"\bDISTINCT\b",
        "There is no DISTINCT: remove duplicates in your program, or keep an item for each value.",
    ),
    (r"\bAS\b(?=\s+[\w\"])", "There are no aliases: a column has the name of its attribute."),
    (
        r"(?<!EXISTS)\(\s*SELECT\b",
        "There are no subqueries: run the inner statement first, and list what "
        "it found: IN ['a', 'b'].",
    ),
    (
        r"\bINSERT\s+INTO\s+\S+\s*\(.*?\bVALUES?\b|\bVALUES\b",
        "An item is written as a map: INSERT INTO table VALUE {'pk': 'a', 'number': 1}",
    ),
    (
        r"^\s*(CREATE|DROP|ALTER|TRUNCATE)\b",
        _TABLES,
    ),
    (
        r"^\s*(SHOW|DESCRIBE|DESC)\b",
        "Use commands of the shell: .tables, .schema TABLE, .indexes TABLE.",
    ),
    (r"^\s*EXPLAIN\b", "Use a command of the shell: .explain STATEMENT."),
    (
        r"^\s*(BEGIN|COMMIT|ROLLBACK|START)\b",
        "Each statement is committed by itself. To make several writes in one transaction, call "
        "ExecuteTransaction or TransactWriteItems.",
    ),
    (
        r"(?<=DELETE)\s+\*",
        "DELETE removes whole items: DELETE FROM table WHERE ...; REMOVE removes attributes: "
        "UPDATE table REMOVE a WHERE ...",
    ),
    (r"\bSET\s+\*", "SET needs the name of each attribute: SET a = 1, b = 'x'."),
    (r"\bCASE\b|\bCAST\b", "There is no CASE and no CAST: values are returned as they are stored."),
    (r"`+", "Names are enclosed in double quotes, and strings in single quotes."),
    (r"==", "Equality is one `=`."),
    (
        r"(?:(?<=FROM )|(?<=INTO )|(?<=UPDATE ))\w+-[\w-]+",
        'A name with such characters needs double quotes: "my-table".',
    ),
    (
        r"^\s*(?!(SELECT|INSERT|UPDATE|DELETE|FROM|EXISTS)\b)\S+",
        "A statement begins with SELECT, INSERT, UPDATE or DELETE. .help lists the commands.",
    ),
)

BY_MESSAGE = _entries(
    (r"mandatory equality on all key attributes", _KEYS),
    (
        r"ORDER BY",
        "Items are in the order of the sort key within a partition: ORDER BY the sort key, with an "
        "equality on the partition key. Another order needs an index with that sort key.",
    ),
    (r"Tuple keys must be of type String", "Names in a map are strings: {'pk': 'a'}."),
    (r"single table or index", BY_TEXT[2][1]),
    (
        r"Aliasing is not supported",
        "There are no aliases and no joins: FROM is followed by one table, or by one index of a "
        "table, and by no other name.",
    ),
    (
        r"^The conditional request failed",
        "No item with this key fulfils the condition. An UPDATE changes only an item that exists.",
    ),
    (
        r"Duplicate primary key",
        "INSERT adds only new items. UPDATE changes an existing item.",
    ),
    (
        r"data type should match",
        "The value does not have the type of the key attribute: 'a' is a string, 1 a number.",
    ),
    (
        r"Unrecognized function",
        f"Conditions can use {', '.join(CONDITION_FUNCTIONS)} and IS [NOT] MISSING.",
    ),
    (r"does not have the specified index", "The shell command .indexes lists the indexes."),
    (
        r"Requested resource not found|Cannot do operations on a non-existent",
        "The shell command .tables lists the tables.",
    ),
)


def advise(statement: str, code: str, message: str, key: Sequence[str]) -> Advice | None:
    """Advice for a refused statement, of which `blanked` has removed the quoted parts."""
    named = f": WHERE {' AND '.join(f'{name} = ...' for name in key)}" if key else ""
    if code == "ValidationException":
        for pattern, text in BY_MESSAGE[:1]:
            if pattern.search(message):
                return Advice(text.format(key=named))
        for pattern, text in BY_TEXT:
            if match := pattern.search(statement):
                start = match.end() - len(match.group().lstrip())
                return Advice(text, start, match.end() - start)
    for pattern, text in BY_MESSAGE[1:]:
        if pattern.search(message):
            return Advice(text)
    return None


_BARE = re.compile(
    r"(?:=|<>|<=?|>=?)\s*(?!(?:TRUE|FALSE|NULL|MISSING)\b)([A-Z_]\w*)\b(?!\s*\()", re.IGNORECASE
)


def of_nothing(statement: str) -> str | None:
    """Advice for a SELECT that found no item. The quoted parts of `statement` have been removed."""
    where = re.split(r"\bWHERE\b", statement, maxsplit=1, flags=re.IGNORECASE)[1:]
    if not where:
        return None
    if '"' in where[0]:
        return "Double quotes enclose names of attributes (\"a\"), single quotes strings ('a')."
    if name := _BARE.search(where[0]):
        return f"{name[1]} is the name of an attribute here; single quotes enclose strings ('a')."
    return None
