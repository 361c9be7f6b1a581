"""PartiQL: terms in place of a statement, and what counts as a blank. Captured in October 2026."""

from .partiql import ILL, rejected
from .support import Table, cases

EXISTS_MISPLACED = "EXISTS can only be used in ExecuteTransaction write requests."
NO_STATEMENTS = [
    *(
        (text, f"Unsupported operation: {kind}")
        for kind, texts in {
            "Bag": ["<<1>>"],
            "Id": ["FOO", "FOO;", "(FOO)", '"FOO"', "INSRT"],
            "IsType": ["x IS INT4", "x IS DOUBLE PRECISION", "x IS MISSING"],
            "List": ["[1]"],
            "Lit": ["1", "-1", "'x'", "TRUE", "NULL"],
            "Missing": ["MISSING"],
            "Parameter": ["?"],
            "Path": ["x.y", "x[0]", "x.y.z", "x.*", '"x".y'],
            "Struct": ["{'x': 1}"],
        }.items()
        for text in texts
    ),
    *(
        (text, EXISTS_MISPLACED)
        for text in ("x AND y", "1 + 1", "NOT x", "x IS NOT MISSING", "x LIKE 'y'", "SLECT * 1")
    ),
]


@cases("text, message", NO_STATEMENTS)
def test_a_term_is_not_a_statement(table: Table, text: str, message: str) -> None:
    values = ["x"] if text == "?" else []
    rejected(table, f"ValidationException: {message}", text, *values)


TEXTS = (
    "_SELECT * FROM T",
    "SELECT *_FROM T",
    "SELECT * FROM T WHERE pk = 'x'_",
    "SELECT a_ FROM T",
)


@cases("space", [(space,) for space in ("\u00a0", "\u2003", "\u3000", "\x1f")])
def test_only_ascii_has_blanks(table: Table, space: str) -> None:
    for text in TEXTS:
        rejected(table, ILL, text.replace("_", space))
