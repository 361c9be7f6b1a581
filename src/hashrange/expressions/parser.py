"""Tokens -> tree, by recursive descent on a trampoline.

Methods that may nest are rules for `trampoline`. Source of the grammar: developer guide, pages
"Expressions.*"; the rest was observed on the service.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, get_args

from hashrange.expressions import trampoline
from hashrange.expressions.tokens import END, syntax_error, tokenize
from hashrange.expressions.tree import (
    AliasedPath,
    Node,
    Operation,
    Parameter,
    ParsedAction,
    Path,
    Placeholder,
    Section,
    invalid,
)

COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-")
_LOGICAL = ("AND", "OR", "NOT", "BETWEEN", "IN")
_SECTIONS: tuple[Section, ...] = get_args(Section)
_CONDITIONS = frozenset({*_LOGICAL, *COMPARATORS})

Rule: TypeAlias = trampoline.Rule[Node]


class ParsedUpdate(NamedTuple):
    """A parsed UpdateExpression. `sections` are in the order of the text, including repeated
    ones."""

    sections: tuple[Section, ...]
    actions: tuple[ParsedAction, ...]

    def roots(self) -> list[Node]:
        """All targets and operands, in the order of the text."""
        return [node for action in self.actions for node in action[1:] if node is not None]


def parse_condition(parameter: Parameter, text: str) -> Node:
    """The tree of a condition, filter or key condition. Raises ValidationException."""
    parser = _Parser(parameter, text, _LOGICAL)
    root = trampoline.run(parser.condition())
    parser.expect(END)
    return root


def parse_projection(text: str) -> tuple[Path | AliasedPath, ...]:
    """The paths of a projection. Raises ValidationException."""
    parser = _Parser("ProjectionExpression", text, ())
    paths = [parser.path()]
    while parser.accept(","):
        paths.append(parser.path())
    parser.expect(END)
    return tuple(paths)


def parse_update(text: str) -> ParsedUpdate:
    """The actions of an update. Raises ValidationException."""
    parser = _Parser("UpdateExpression", text, _SECTIONS)
    sections: list[Section] = []
    actions: list[ParsedAction] = []
    while not sections or parser.word != END:
        section = parser.section()
        sections.append(section)
        actions.append(parser.action(section))
        while parser.accept(","):
            actions.append(parser.action(section))
    return ParsedUpdate(tuple(sections), tuple(actions))


class _Parser:
    """A text and a position in it, with the rules of the grammar. `keywords` are its reserved
    names."""

    def __init__(self, parameter: Parameter, text: str, keywords: tuple[str, ...]) -> None:
        self._parameter = parameter
        self._text = text
        self._keywords = keywords
        self._tokens = tokenize(text)
        self._position = 0
        self._groups: set[tuple[int, int]] = set()

    # ---- tokens ----

    @property
    def word(self) -> str:
        """The text of the next token. A keyword is in capitals."""
        token = self._tokens[self._position]
        keyword = token.text.upper() if token.kind == "name" else ""
        return keyword if keyword in self._keywords else token.text

    def fail(self) -> Exception:
        return syntax_error(self._parameter, self._text, self._tokens, self._position)

    def accept(self, word: str) -> bool:
        taken = self.word == word
        self._position += taken
        return taken

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.fail()

    def _take(self, *kinds: str) -> str:
        """Take the next token, which must be of one of these kinds, and return its text."""
        token = self._tokens[self._position]
        if token.kind not in kinds or self.word in self._keywords:
            raise self.fail()
        self._position += 1
        return token.text

    # ---- rules of all expressions ----

    def path(self) -> Path | AliasedPath:
        start = self._position
        parts: list[str | int] = [self._take("name", "alias")]
        while self.word in (".", "["):
            if self.accept("."):
                parts.append(self._take("name", "alias"))
            else:
                self.expect("[")
                parts.append(int(self._take("index")))
                self.expect("]")
        aliased = any(token.kind == "alias" for token in self._tokens[start : self._position])
        return AliasedPath(tuple(parts)) if aliased else Path(tuple(parts))

    def placeholder(self) -> Placeholder:
        return Placeholder(self._take("placeholder"))

    def operand(self) -> Rule:
        """A path, placeholder or function, which may be in parentheses."""
        if self.word == "(":
            return (yield self._group(self.operand()))
        token = self._tokens[self._position]
        if token.kind == "placeholder":
            return self.placeholder()
        if token.kind == "name" and self._tokens[self._position + 1].text == "(":
            return (yield self._function())
        return self.path()

    def _function(self) -> Rule:
        name = self._take("name")
        self.expect("(")
        operands = [(yield self.operand())]
        while self.accept(","):
            operands.append((yield self.operand()))
        self.expect(")")
        return Operation(name, tuple(operands))

    def _group(self, content: Rule) -> Rule:
        start = self._position
        self.expect("(")
        node = yield content
        end = self._position
        self.expect(")")
        self._groups.add((start, end))
        if (start + 1, end - 1) in self._groups:
            raise invalid(self._parameter, "The expression has redundant parentheses;")
        return node

    # ---- rules of conditions ----

    def condition(self) -> Rule:
        return (yield self._joined("OR", lambda: self._joined("AND", self._negation)))

    def _joined(self, operator: str, rule: Callable[[], Rule]) -> Rule:
        operands = [(yield rule())]
        while self.accept(operator):
            operands.append((yield rule()))
        return operands[0] if len(operands) == 1 else Operation(operator, tuple(operands))

    def _negation(self) -> Rule:
        if self.accept("NOT"):
            return Operation("NOT", ((yield self._negation()),))
        return (yield self._comparison())

    def _comparison(self) -> Rule:
        start = self._position
        left = yield self._group(self.condition()) if self.word == "(" else self.operand()
        if isinstance(left, Operation) and left.operator in _CONDITIONS:
            return left
        operator = self.word
        if operator in COMPARATORS:
            self.expect(operator)
            return Operation(operator, (left, (yield self.operand())))
        if self.accept("BETWEEN"):
            lower = yield self.operand()
            self.expect("AND")
            return Operation("BETWEEN", (left, lower, (yield self.operand())))
        if self.accept("IN"):
            return (yield self._membership(left))
        if isinstance(left, Operation) or self._is_group_content(start):
            return left
        raise self.fail()

    def _is_group_content(self, start: int) -> bool:
        """Whether the operand that began at `start` is alone in parentheses, as `a` in `(a) = :v`.

        Such an operand may end the group. After any other operand, a condition needs a comparison.
        """
        return self._tokens[start - 1].text == "(" and self.word == ")"

    def _membership(self, left: Node) -> Rule:
        self.expect("(")
        operands = [left, (yield self.operand())]
        while self.accept(","):
            operands.append((yield self.operand()))
        self.expect(")")
        return Operation("IN", tuple(operands))

    # ---- rules of updates ----

    def section(self) -> Section:
        for section in _SECTIONS:
            if self.accept(section):
                return section
        raise self.fail()

    def action(self, section: Section) -> ParsedAction:
        target = self.path()
        if section == "REMOVE":
            return ParsedAction(section, target, None)
        if section == "SET":
            self.expect("=")
            return ParsedAction(section, target, trampoline.run(self._value()))
        return ParsedAction(section, target, self.placeholder())

    def _value(self) -> Rule:
        left = yield self._group(self._value()) if self.word == "(" else self.operand()
        operator = self.word
        if operator not in ARITHMETIC or _is_arithmetic(left):
            return left
        self.expect(operator)
        return Operation(operator, (left, (yield self.operand())))


def _is_arithmetic(node: Node) -> bool:
    return isinstance(node, Operation) and node.operator in ARITHMETIC
