"""PartiQL terms: the grammar of conditions, values and paths (see `parser`)."""

from collections.abc import Callable
from typing import TypeAlias

from hashrange.expressions import trampoline
from hashrange.expressions.partiql.tokens import END, Token, check_components, malformed, tokenize
from hashrange.expressions.partiql.tree import Kind, Term
from hashrange.model.errors import ValidationException
from hashrange.model.limits import LIST_INDEX_MAX

Rule: TypeAlias = trampoline.Rule[Term]

ARITHMETIC = ("+", "-", "*", "/", "%", "||")
_COMPARATORS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_WORDS_BETWEEN_TERMS = ("AND", "OR", "IS", "IN", "BETWEEN", "LIKE")
_FUNCTIONS = ("SIZE", "EXISTS", "COUNT", "SUM", "AVG", "MIN", "MAX")
"""Keywords that are also names of functions."""
_CONSTANTS = {"TRUE": {"BOOL": True}, "FALSE": {"BOOL": False}, "NULL": {"NULL": True}}
# fmt: off
_TYPES = frozenset({
    "ANY", "BAG", "BIGINT", "BLOB", "BOOL", "BOOLEAN", "CHAR", "CHARACTER", "CLOB", "DATE",
    "DECIMAL", "DOUBLE", "FLOAT", "INT", "INT2", "INT4", "INT8", "INTEGER", "INTEGER2",
    "INTEGER4", "INTEGER8", "LIST", "MISSING", "NULL", "NUMERIC", "REAL", "SEXP", "SMALLINT",
    "STRING", "STRUCT", "SYMBOL", "TIME", "TIMESTAMP", "TUPLE", "VARCHAR",
})
# fmt: on
_SECOND_WORDS = {"DOUBLE": "PRECISION", "CHARACTER": "VARYING"}
_INDEX_DIGITS_MAX = len(str(LIST_INDEX_MAX))


class TermParser:
    """A text and a position in it, with the rules of terms. A rule that may nest is a `Rule`."""

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self._position = 0
        self._parameters = 0

    # ---- tokens ----

    @property
    def token(self) -> Token:
        return self._tokens[self._position]

    @property
    def word(self) -> str:
        """The text of the next token if it is a keyword, a symbol or END; otherwise empty."""
        token = self.token
        return token.text if token.kind in ("keyword", "symbol", END) else ""

    def accept(self, *words: str) -> bool:
        """Take these words if they are the next tokens. Returns whether they were taken."""
        if self.word != words[0]:
            return False
        ahead = self._tokens[self._position : self._position + len(words)]
        taken = len(ahead) == len(words) and all(
            token.kind in ("keyword", "symbol") and token.text == word
            for token, word in zip(ahead, words, strict=True)
        )
        self._position += len(words) * taken
        return taken

    def expect(self, word: str, fault: str) -> None:
        if not self.accept(word):
            raise malformed(fault)

    def take(self) -> Token:
        """Take the next token. END can be taken repeatedly."""
        token = self.token
        self._position += token.kind != END
        return token

    def name(self, fault: str) -> str:
        if self.token.kind not in ("name", "quoted"):
            raise malformed(fault)
        return self.take().text

    # ---- conditions, from the loosest operator to the tightest ----

    def condition(self) -> Rule:
        return (yield self._joined("OR", lambda: self._joined("AND", self._negation)))

    def _joined(self, operator: str, rule: Callable[[], Rule]) -> Rule:
        terms = [(yield rule())]
        at = self.token
        while self.accept(operator):
            self._check_more()
            terms.append((yield rule()))
        return terms[0] if len(terms) == 1 else Term("operator", operator, tuple(terms), at)

    def _negation(self) -> Rule:
        at = self.token
        if self.accept("NOT"):
            return Term("operator", "NOT", ((yield self._negation()),), at)
        return (yield self._comparison())

    def _comparison(self) -> Rule:
        left = yield self._sum()
        while True:
            at, negated = self.token, False
            if self.word == "NOT":
                negated = self.accept("NOT")
                if self.word not in ("IN", "BETWEEN", "LIKE"):
                    raise malformed("Unexpected keyword")
            if self.accept("IN", "("):
                choices = yield self._sequence("list", ")")
                left = Term("operator", "IN", (left, choices), at)
            elif self.word in _COMPARATORS or self.word in ("LIKE", "IN"):
                operator = self.take().text
                self._check_more()
                left = Term("operator", operator, (left, (yield self._sum())), at)
            elif self.accept("BETWEEN"):
                lower = yield self._sum()
                self.expect("AND", "Expected AND after BETWEEN")
                left = Term("operator", "BETWEEN", (left, lower, (yield self._sum())), at)
            elif self.accept("IS"):
                negated = self.accept("NOT")
                left = Term("is", self._type(), (left,), at)
            else:
                return left
            if negated:
                left = Term("operator", "NOT", (left,), at)

    def _type(self) -> str:
        name = self.take().text.upper()
        if name not in _TYPES:
            raise malformed("Expected type name")
        if self.token.text.upper() == _SECOND_WORDS.get(name):
            self.take()
        return name

    def _check_more(self) -> None:
        if self.word == END:
            raise malformed("Missing right-hand side expression of infix operator")

    # ---- arithmetic, of which binding refuses all but + and - ----

    def _sum(self) -> Rule:
        left = yield self._sign()
        while self.word in ARITHMETIC:
            at = self.take()
            self._check_more()
            left = Term("operator", at.text, (left, (yield self._sign())), at)
        return left

    def _sign(self) -> Rule:
        at = self.token
        if not (self.accept("-") or self.accept("+")):
            return (yield self._term())
        if self.token.kind == "number":
            sign = "-" if at.text == "-" else ""
            return Term("literal", {"N": sign + self.take().text}, (), at)
        return Term("operator", at.text, ((yield self._sign()),), at)

    # ---- terms ----

    def _term(self) -> Rule:
        token = self.token
        if token.kind in ("name", "quoted"):
            if token.kind == "name" and self._tokens[self._position + 1].text == "(":
                return (yield self._call())
            return self.path()
        if token.kind == "string":
            return Term("literal", {"S": self.take().text}, (), token)
        if token.kind == "number":
            return Term("literal", {"N": self.take().text}, (), token)
        if token.kind == "keyword":
            return (yield self._keyword())
        return (yield self._symbol())

    def _keyword(self) -> Rule:
        token, word = self.token, self.word
        if word in _FUNCTIONS and self._tokens[self._position + 1].text == "(":
            return (yield self._call())
        if word in _WORDS_BETWEEN_TERMS:
            raise malformed("Unexpected operator")
        if word not in (*_CONSTANTS, "MISSING", "FROM", "SELECT", "CASE", "CAST"):
            raise malformed("Unexpected keyword")
        self.take()
        if word in _CONSTANTS:
            return Term("literal", _CONSTANTS[word], (), token)
        if word == "MISSING":
            return Term("missing", None, (), token)
        if word == "FROM":
            ended = self.token.kind == END
            raise malformed("Unexpected term" if ended else "Expected data manipulation")
        raise ValidationException(f"Unsupported token in expression: {word} {token.place}")

    def _symbol(self) -> Rule:
        token = self.token
        if self.accept("?"):
            self._parameters += 1
            return Term("parameter", self._parameters - 1, (), token)
        if self.accept("("):
            inner = yield self._sequence("list", ")")
            if not inner.terms:
                raise malformed("Unexpected term")
            return inner.terms[0] if len(inner.terms) == 1 else inner
        if self.accept("["):
            return (yield self._sequence("list", "]"))
        if self.accept("<<"):
            return (yield self._sequence("set", ">>"))
        if self.accept("{"):
            return (yield self._struct(token))
        if self.word in _COMPARATORS:
            raise malformed("Unexpected operator")
        raise malformed("Unexpected term")

    def _sequence(self, kind: Kind, end: str) -> Rule:
        """Terms separated by commas, from after an opening bracket up to the symbol `end`."""
        at = self._tokens[self._position - 1]
        terms: list[Term] = []
        while not self.accept(end):
            if terms:
                self.expect(",", "Unexpected token in list")
            terms.append((yield self.condition()))
        return Term(kind, None, tuple(terms), at)

    def _struct(self, at: Token) -> Rule:
        terms: list[Term] = []
        while not self.accept("}"):
            if terms:
                self.expect(",", "Expected COMMA")
            terms.append((yield self._term()))
            self.expect(":", "Expected COLON")
            terms.append((yield self.condition()))
        return Term("struct", None, tuple(terms), at)

    def _call(self) -> Rule:
        at = self.take()
        self.take()
        if self.accept("*", ")"):
            return Term("call", at.text.lower(), (Term("star", None, (), at),), at)
        inner = yield self._sequence("list", ")")
        return Term("call", at.text.lower(), inner.terms, at)

    def path(self) -> Term:
        at = self.take()
        parts: list[str | int] = [at.text]
        while self.word in (".", "["):
            if self.accept(".", "*"):
                return Term("star", None, (), at)
            if self.accept("."):
                parts.append(self.name("Invalid path dot component"))
            else:
                self.accept("[")
                parts.append(self._bracketed())
                self.expect("]", "Expected RIGHT_BRACKET")
        check_components(parts)
        return Term("path", tuple(parts), (), at)

    def _bracketed(self) -> str | int:
        """The part of a path in brackets: a list index, or an attribute's name in single quotes."""
        negative = self.accept("-")
        token = self.take()
        if token.kind == "string" and not negative:
            return token.text
        if token.kind != "number" or not token.text.isdecimal():
            raise malformed("Invalid path component")
        if negative or len(token.text) > _INDEX_DIGITS_MAX or int(token.text) > LIST_INDEX_MAX:
            sign = "-" if negative else ""
            raise ValidationException(
                "List index is not within the allowable range; "
                f"index: [{sign}{token.text}] {token.place}"
            )
        return int(token.text)
