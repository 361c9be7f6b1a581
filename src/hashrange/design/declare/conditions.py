"""Conditions on fields, written in a model or by a caller, e.g. `status = :s`.

Names are replaced by placeholders, so that DynamoDB's reserved words are allowed.
`hashrange.expressions` parses the result, so a mistake is found where the condition is written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hashrange.design.declare.types import FieldType, encode
from hashrange.design.errors import BadValue, DeclarationError, suggest
from hashrange.model.errors import ApiError
from hashrange.model.values import AttributeValue, Item

_TOKEN = re.compile(r":\w+|#\w+|\w+|<>|<=|>=|[^\s\w]")
_WORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
_COMPARES = frozenset({"=", "<>", "<", "<=", ">", ">="})
_FUNCTIONS = {"begins_with": ("S", "B"), "contains": ("S", "B", "SS", "NS", "BS", "L")}
"""Maps each function to the DynamoDB types that its first operand, a field, can have."""
_SAMPLES: dict[str, AttributeValue] = {
    "S": {"S": "x"}, "N": {"N": "1"}, "B": {"B": "eA=="}, "BOOL": {"BOOL": True},
    "L": {"L": []}, "M": {"M": {}}, "SS": {"SS": ["x"]}, "NS": {"NS": ["1"]},
    "BS": {"BS": ["eA=="]},
}  # fmt: skip


@dataclass(frozen=True)
class FieldCondition:
    """A parsed condition. `text` is in DynamoDB's syntax, with the placeholders in `names`.

    `pairs` has a (field, parameter) pair for each comparison. `equalities` maps a field to a
    parameter if the field equals the parameter in every item that satisfies the condition.
    """

    text: str
    names: dict[str, str]
    fields: frozenset[str]
    parameters: frozenset[str]
    pairs: tuple[tuple[str, str], ...]
    equalities: Mapping[str, str]
    types: Mapping[str, FieldType]

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The values of the expression's placeholders, e.g. `:s`. Raises BadValue."""
        fields = {parameter: field for field, parameter in self.pairs}
        values = {}
        for name in self.parameters:
            field, value = fields.get(name, ""), arguments[name]
            encoder = self.types[field].encode if field else encode
            try:
                values[f":{name}"] = encoder(value)
            except BadValue as error:
                raise error.of(field=field or name, value=value) from None
        return values


@dataclass(frozen=True)
class BoundCondition:
    """A condition with its values, e.g. an index's `when`. `matches` evaluates it for an item."""

    condition: FieldCondition
    values: dict[str, AttributeValue]

    def matches(self, image: Item) -> bool:
        return bool(self._compiled.matches(image))

    @property
    def fields(self) -> frozenset[str]:
        return self.condition.fields

    @cached_property
    def _compiled(self) -> Any:
        return _expression(self.condition, self.values)


def parse(
    text: str,
    types: Mapping[str, FieldType],
    attributes: Mapping[str, str],
    at: object,
    prefix: str = "#c",
) -> FieldCondition:
    """Read a condition. Raises DeclarationError for an unknown field or wrong syntax."""
    tokens = _TOKEN.findall(text)
    _check_functions(text, tokens, types, at)
    names: dict[str, str] = {}
    fields: set[str] = set()
    rewritten = []
    for number, token in enumerate(tokens):
        follows = tokens[number + 1] if number + 1 < len(tokens) else ""
        if not _is_name(token, follows):
            rewritten.append(token)
            continue
        member = number > 0 and tokens[number - 1] == "."
        if not member:
            if token not in types:
                raise DeclarationError(
                    f"{text!r}: {token!r} is not a field{suggest(token, types)}", at=at
                )
            fields.add(token)
        name = token if member else attributes[token]
        placeholder = next((p for p, n in names.items() if n == name), f"{prefix}{len(names)}")
        names[placeholder] = name
        rewritten.append(placeholder)
    parameters = frozenset(token[1:] for token in tokens if token[0] == ":")
    condition = FieldCondition(
        _join(rewritten),
        names,
        frozenset(fields),
        parameters,
        _pairs(tokens, types),
        _equalities(tokens, types),
        types,
    )
    _check_syntax(text, condition, at)
    return condition


def _check_functions(
    text: str, tokens: list[str], types: Mapping[str, FieldType], at: object
) -> None:
    """Raise DeclarationError if a function such as `contains` cannot take a field of that type."""
    for function, bracket, field in zip(tokens, tokens[1:], tokens[2:], strict=False):
        allowed = _FUNCTIONS.get(function.lower()) if bracket == "(" else None
        tag = types[field].tag if field in types else ""
        if allowed and tag and tag not in allowed:
            raise DeclarationError(
                f"{text!r}: {field} is stored as {tag}, but {function} takes only "
                f"{' or '.join(allowed)}",
                at=at,
            )


def check_values(text: str, condition: FieldCondition, tags: Mapping[str, str], at: object) -> None:
    """Raise DeclarationError for a parameter that is missing or of another type than its field.

    `tags` maps each parameter to its DynamoDB type, or to "" if the type is unknown.
    """
    for name in condition.parameters:
        if name not in tags:
            raise DeclarationError(f"{text!r}: no value for :{name}{suggest(name, tags)}", at=at)
    for field, parameter in condition.pairs:
        expected, tag = condition.types[field].tag, tags[parameter]
        if expected and tag and expected != tag:
            raise DeclarationError(
                f"{text!r}: {field} is stored as {expected}, but :{parameter} as {tag}", at=at
            )


def bound(
    text: str, condition: FieldCondition, values: Mapping[str, Any], at: object
) -> BoundCondition:
    """The condition with its values. Raises DeclarationError if the values do not fit."""
    unused = [name for name in values if name not in condition.parameters]
    if unused:
        hint = suggest(unused[0], condition.parameters)
        raise DeclarationError(f"{text!r} does not use {unused[0]!r}{hint}", at=at)
    try:
        encoded = {name: encode(value) for name, value in values.items()}
        check_values(text, condition, {n: next(iter(v)) for n, v in encoded.items()}, at)
        return BoundCondition(condition, condition.bind(values))
    except BadValue as error:
        raise DeclarationError(f"{text!r}: {error}", at=at) from error


def _is_name(token: str, follows: str) -> bool:
    if not (token[0].isalpha() or token[0] == "_") or token.upper() in _WORDS:
        return False
    return follows != "("


def _join(tokens: list[str]) -> str:
    """The tokens as one text, with a space between two tokens, but none inside a path."""
    return re.sub(r" ?([.\[\]]) ?", lambda m: "] " if m[1] == "]" else m[1], " ".join(tokens))


def _pairs(tokens: list[str], types: Mapping[str, FieldType]) -> tuple[tuple[str, str], ...]:
    """A (field, parameter) pair for each comparison of a field with one parameter."""
    pairs = []
    for n, token in enumerate(tokens):
        rest = [*tokens[n + 1 : n + 5], "", "", "", ""]
        if token in types and (n == 0 or tokens[n - 1] != "."):
            if rest[0] in _COMPARES and rest[1][:1] == ":":
                pairs.append((token, rest[1][1:]))
            elif rest[0].upper() == "BETWEEN":
                pairs += [(token, r[1:]) for r in (rest[1], rest[3]) if r[:1] == ":"]
            elif n > 1 and tokens[n - 2].lower() == "begins_with" and rest[1][:1] == ":":
                pairs.append((token, rest[1][1:]))
        elif token[0] == ":" and rest[0] in _COMPARES and rest[1] in types and rest[2] != ".":
            pairs.append((rest[1], token[1:]))
    return tuple(pairs)


def _equalities(tokens: list[str], types: Mapping[str, FieldType]) -> dict[str, str]:
    """Map each field that must equal a parameter to this parameter.

    These are the comparisons `field = :parameter` that AND joins to the rest of the condition. For
    a condition with OR or NOT, the result is empty.
    """
    if {"OR", "NOT"} & {token.upper() for token in tokens}:
        return {}
    equalities = {}
    for before, field, sign, parameter, after in zip(
        ["AND", *tokens], tokens, tokens[1:], tokens[2:], [*tokens[3:], "AND"], strict=False
    ):
        alone = before.upper() == "AND" and after.upper() == "AND"
        if alone and field in types and sign == "=" and parameter[0] == ":":
            equalities[field] = parameter[1:]
    return equalities


def _expression(condition: FieldCondition, values: Item) -> Any:
    from hashrange.expressions import Expressions  # imported only if a model has conditions

    return Expressions(condition.names or None, values or None).condition(condition.text)


def _check_syntax(text: str, condition: FieldCondition, at: object) -> None:
    tags = {parameter: condition.types[field].tag for field, parameter in condition.pairs}
    values = {f":{p}": _SAMPLES.get(tags.get(p, ""), {"S": "x"}) for p in condition.parameters}
    try:
        _expression(condition, values)
    except ApiError as error:
        raise DeclarationError(f"{text!r}: {error.message}", at=at) from error
