"""Whether plain values satisfy a condition such as `status = :s AND NOT contains(tags, :t)`.

This is a second and simpler evaluation of DynamoDB's conditions, which shares no code with
`hashrange.expressions`.
"""

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Protocol

from hashrange.design.declare.types import encode

_TOKEN = re.compile(r":\w+|[\w.\[\]]+|<>|<=|>=|\S")
_COMPARES: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
Stored = dict[str, Any]
"""A value with its DynamoDB type, or {} if there is none."""


class Values(Protocol):
    """An item whose fields can be read by their names."""

    def __getitem__(self, name: str, /) -> Any: ...


def passes(text: str, values: Values, parameters: Mapping[str, Any]) -> bool:
    """Whether an item with these field values satisfies the condition."""
    return _Reader(_TOKEN.findall(text), values, parameters).disjunction()


def compared_field(text: str, parameter: str) -> str | None:
    """The field that a condition compares with a parameter: the last field before the parameter."""
    tokens = _TOKEN.findall(text)
    at = tokens.index(f":{parameter}")
    names = [t for t in reversed(tokens[:at]) if re.match(r"[A-Za-z_]", t)]
    names = [n for n in names if n.upper() not in ("AND", "OR", "NOT", "BETWEEN", "IN")]
    return names[0].split(".")[0].split("[")[0] if names else None


class _Reader:
    """Evaluates a condition while parsing it.

    AND and OR evaluate their right side even if the left side decides, because it must be parsed.
    """

    def __init__(self, tokens: list[str], values: Values, parameters: Mapping[str, Any]) -> None:
        self.tokens = [*tokens, ""]
        self.values = values
        self.parameters = parameters

    def disjunction(self) -> bool:
        result = self.conjunction()
        while self._took("OR"):
            result = self.conjunction() or result
        return result

    def conjunction(self) -> bool:
        result = self.negation()
        while self._took("AND"):
            result = self.negation() and result
        return result

    def negation(self) -> bool:
        if self._took("NOT"):
            return not self.negation()
        if self._took("("):
            result = self.disjunction()
            self._took(")")
            return result
        return self.test()

    def test(self) -> bool:
        name = self.tokens[0].lower()
        if self.tokens[1] == "(" and name != "size":
            return self.function(name)
        left = self.operand()
        if self._took("BETWEEN"):
            low = self.operand()
            self._took("AND")
            high = self.operand()
            return _compare(">=", left, low) and _compare("<=", left, high)
        if self._took("IN"):
            self._took("(")
            options = [self.operand()]
            while self._took(","):
                options.append(self.operand())
            self._took(")")
            return any(_compare("=", left, option) for option in options)
        sign = self.tokens.pop(0)
        return _compare(sign, left, self.operand())

    def function(self, name: str) -> bool:
        del self.tokens[:2]
        operands = [self.operand()]
        while self._took(","):
            operands.append(self.operand())
        self._took(")")
        if name == "attribute_exists":
            return bool(operands[0])
        if name == "attribute_not_exists":
            return not operands[0]
        if not all(operands):
            return False
        [(tag, content)], [(kind, wanted)] = operands[0].items(), operands[1].items()
        if name == "attribute_type":
            return bool(tag == wanted)
        if name == "begins_with":
            return tag == kind and bool(content.startswith(wanted))
        if tag in ("SS", "NS", "BS"):
            return tag[0] == kind and wanted in content
        if tag == "L":
            return operands[1] in content
        return tag == kind and wanted in content

    def operand(self) -> Stored:
        token = self.tokens.pop(0)
        if token == "(":
            inner = self.operand()
            self._took(")")
            return inner
        if token.lower() == "size" and self.tokens[0] == "(":
            del self.tokens[0]
            inner = self.operand()
            self._took(")")
            return {"N": str(len(next(iter(inner.values()))))} if inner else {}
        if token[0] == ":":
            return dict(encode(self.parameters[token[1:]]))
        return self._path(token)

    def _path(self, path: str) -> Stored:
        name, *steps = re.findall(r"\w+", path)
        value = self.values[name]
        empty = value is None or (isinstance(value, (set, frozenset)) and not value)
        stored: Any = {} if empty else encode(value)
        for step in steps:
            if "M" in stored:
                stored = stored["M"].get(step, {})
            elif "L" in stored and step.isdigit() and int(step) < len(stored["L"]):
                stored = stored["L"][int(step)]
            else:
                return {}
        return dict(stored)

    def _took(self, word: str) -> bool:
        if self.tokens[0].upper() != word:
            return False
        del self.tokens[0]
        return True


def _compare(sign: str, left: Stored, right: Stored) -> bool:
    if not left or not right or left.keys() != right.keys():
        return sign == "<>"
    [(tag, one)], other = left.items(), right[next(iter(left))]
    if tag == "N":
        one, other = Decimal(one), Decimal(other)
    elif tag == "S":
        one, other = one.encode(), other.encode()
    return bool(_COMPARES[sign](one, other))
