"""PartiQL text -> statement, by recursive descent on a trampoline.

Source of the grammar: developer guide, "PartiQL - a SQL-compatible query language for Amazon
DynamoDB". The messages about syntax errors were observed on the service.
"""

from functools import lru_cache

from hashrange.expressions import trampoline
from hashrange.expressions.partiql.terms import ARITHMETIC, TermParser
from hashrange.expressions.partiql.tokens import (
    END,
    Token,
    check_components,
    malformed,
    unreadable,
)
from hashrange.expressions.partiql.tree import (
    Assignment,
    Delete,
    Exists,
    Insert,
    Order,
    Returning,
    Select,
    Source,
    Statement,
    Term,
    Update,
)
from hashrange.model.errors import ValidationException

EXISTS_MISPLACED = "EXISTS can only be used in ExecuteTransaction write requests."
CACHED_TEXTS = 100
"""The largest number of statements whose trees are cached. The tree of a text of 8 KB may take 1
MB."""


@lru_cache(CACHED_TEXTS)
def parse(text: str) -> Statement:
    """Parse a statement. Raises ValidationException for a syntax error."""
    return _Parser(text).statement()


def place_of_fault(text: str) -> Token | None:
    """The token at which parsing a text fails. None if the text is a statement."""
    parser = None
    try:
        parser = _Parser(text)
        parser.statement()
    except ValidationException:
        return parser.token if parser else unreadable(text)
    return None


_NO_STATEMENTS = {
    "is": "IsType",
    "list": "List",
    "literal": "Lit",
    "missing": "Missing",
    "parameter": "Parameter",
    "path": "Path",
    "set": "Bag",
    "star": "Path",
    "struct": "Struct",
}
"""Maps each kind of term to its name in the error message for a text that is a term instead of a
statement."""


class _Parser(TermParser):
    """A text and a position in it, with the rules of statements."""

    # ---- statements ----

    def statement(self) -> Statement:
        statement = self._statement() or trampoline.run(self.condition())
        ended = self.accept(";")
        if self.word != END:
            raise malformed(
                "Unexpected token after semicolon. (Only one query is allowed.)"
                if ended
                else "Unexpected token after expression"
            )
        if isinstance(statement, Term):
            raise _no_statement(statement)
        return statement

    def _statement(self) -> Statement | None:
        if self.accept("SELECT"):
            return self._select()
        if self.accept("INSERT"):
            return self._insert()
        if self.accept("UPDATE"):
            return self._update()
        if self.accept("DELETE"):
            return self._delete()
        if self.accept("FROM"):
            return self._from_first()
        if self.accept("EXISTS", "(", "SELECT"):
            select = self._select()
            self.expect(")", "Expected RIGHT_PAREN")
            return Exists(select)
        return None

    def _select(self) -> Select:
        columns: list[Term] | None = None
        if not self.accept("*"):
            columns = [self._column()]
            while self.accept(","):
                columns.append(self._column())
        self.expect("FROM", "Expected FROM")
        source = self._source("Unexpected term", "Unexpected keyword")
        self._check_no_alias()
        if self.word == ",":
            raise ValidationException("Only select from a single table or index is supported.")
        where = self._where()
        return Select(source, tuple(columns) if columns else None, where, self._order())

    def _column(self) -> Term:
        column = trampoline.run(self.condition())
        self._check_no_alias()
        return column

    def _order(self) -> tuple[Order, ...]:
        members: list[Order] = []
        if self.accept("ORDER"):
            self.expect("BY", "Expected BY")
            members.append(self._ordered())
            while self.accept(","):
                members.append(self._ordered())
        self._check_last_clause()
        return tuple(members)

    def _check_last_clause(self) -> None:
        """Refuse clauses that the service parses but does not support."""
        if self.accept("GROUP"):
            raise ValidationException("Unsupported clause: GROUP BY")
        if self.word in ("LIMIT", "HAVING"):
            clause, asked = self.take().text, trampoline.run(self.condition())
            raise ValidationException(f"Unsupported clause: {clause} {asked.at.place}")

    def _ordered(self) -> Order:
        name = self.name("Expected identifier in ORDER BY")
        descending = self.accept("DESC")
        if not descending:
            self.accept("ASC")
        return Order(name, descending)

    def _insert(self) -> Insert:
        self.expect("INTO", "Expected INTO")
        source = self._source("Expected identifier for simple path")
        if not self.accept("VALUE"):
            raise malformed("Unexpected token after expression")
        value = trampoline.run(self.condition())
        if self.word == "RETURNING":
            raise ValidationException("RETURNING is not supported in INSERT")
        return Insert(source, value)

    def _update(self) -> Update:
        source = self._source("Expected identifier for simple path")
        self._check_no_alias()
        assignments = self._assignments()
        return Update(source, assignments, self._where(), self._returning())

    def _from_first(self) -> Update:
        """An UPDATE in the form that begins with FROM. Its WHERE clause comes before SET and
        REMOVE."""
        source = self._source("Unexpected term", "Unexpected keyword")
        self._check_no_alias()
        where = self._where()
        return Update(source, self._assignments(), where, self._returning())

    def _delete(self) -> Delete:
        self.expect("FROM", "Expected FROM")
        source = self._source("Expected identifier for simple path")
        self._check_no_alias()
        return Delete(source, self._where(), self._returning())

    # ---- clauses ----

    def _source(self, missing: str, keyword: str | None = None) -> Source:
        """The names in FROM: a table, or a table and an index.

        `missing` is the message if there is no name, `keyword` the message if it is a keyword.
        """
        if keyword and (self.token.kind in ("string", "number") or self.word == "?"):
            raise ValidationException("Unexpected from source")
        fault = keyword if keyword and self.token.kind == "keyword" else missing
        parts = [self.name(fault)]
        while self.accept("."):
            parts.append(self.name("Invalid path dot component"))
        check_components(parts)
        if len(parts) > 2:
            raise ValidationException("A path may contain at most 2 components in the FROM clause")
        if keyword and self.word in ARITHMETIC:  # such as the hyphen of a name without quotes
            raise ValidationException("Unexpected from source")
        return tuple(parts)

    def _check_no_alias(self) -> None:
        if self.word in ("AS", "AT", "BY") or self.token.kind in ("name", "quoted"):
            raise ValidationException("Aliasing is not supported")

    def _where(self) -> Term | None:
        return trampoline.run(self.condition()) if self.accept("WHERE") else None

    def _assignments(self) -> tuple[Assignment, ...]:
        assignments: list[Assignment] = []
        while self.word in ("SET", "REMOVE"):
            if self.accept("REMOVE"):
                assignments.append(Assignment(self._simple_path(), None))
                continue
            self.expect("SET", "Expected SET")
            assignments.append(self._assignment())
            while self.accept(","):
                assignments.append(self._assignment())
        if not assignments:
            raise malformed("Expected data manipulation")
        return tuple(assignments)

    def _assignment(self) -> Assignment:
        target = self._simple_path()
        self.expect("=", "Expected '=' after target")
        return Assignment(target, trampoline.run(self.condition()))

    def _simple_path(self) -> Term:
        if self.token.kind not in ("name", "quoted"):
            raise malformed("Expected identifier for simple path")
        return self.path()

    def _returning(self) -> Returning | None:
        if not self.accept("RETURNING"):
            return None
        which, image = self.take(), self.token
        if which.text not in ("ALL", "MODIFIED") or image.text not in ("OLD", "NEW"):
            raise malformed("Expected ALL or MODIFIED, OLD or NEW in RETURNING clause")
        self.take()
        if not self.accept("*"):
            raise ValidationException(
                "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause"
            )
        if self.accept(","):
            raise ValidationException(
                "Invalid syntax with multiple returning elements in RETURNING clause"
            )
        return Returning(which.text, image.text)


def _no_statement(term: Term) -> ValidationException:
    """The error for a term in the place of a statement.

    For an operator or a call, the service gives the error for a misplaced EXISTS.
    """
    if term.kind in ("operator", "call"):
        return ValidationException(EXISTS_MISPLACED)
    name = term.kind == "path" and len(term.content) == 1
    kind = "Id" if name else _NO_STATEMENTS[term.kind]
    return ValidationException(f"Unsupported operation: {kind}")
