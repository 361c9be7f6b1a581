"""PartiQL terms -> attribute values: literals, parameters, and lists, maps and sets of terms."""

from collections.abc import Iterator, Sequence

from hashrange.expressions.partiql.tokens import check_components
from hashrange.expressions.partiql.tree import Term
from hashrange.model import numbers
from hashrange.model.errors import ValidationException
from hashrange.model.limits import NESTING_LEVELS_MAX
from hashrange.model.values import INVALID, NESTED_TOO_DEEP, AttributeValue, Item, normalize

Parameters = Sequence[AttributeValue]

ROOT = "root"
"""In messages, the name of the value at which a path begins."""
_SETS = {"S": "SS", "N": "NS", "B": "BS"}
_TERM_NAMES = {"path": "VariableReference", "parameter": "Parameter", "literal": "Literal"}

_OPERATORS = {"+": "plus", "-": "minus", "||": "concat"}
"""The names of operators in the service's messages about values."""


def value_of(
    term: Term, parameters: Parameters, under: str = ROOT, level: int = 1
) -> AttributeValue:
    """The canonical value of a term. Raises ValidationException if the term is not a value.

    `under` is the term's path inside the whole value, for messages; `level` is its nesting level.
    """
    match term.kind:
        case "literal":
            return _literal(term.content, under)
        case "parameter":
            return _parameter(term.content, parameters)
        case "list" | "struct" | "set" if level > NESTING_LEVELS_MAX:
            raise ValidationException(NESTED_TOO_DEEP)
        case "list":
            elements = [
                value_of(element, parameters, f"{under}[{position}]", level + 1)
                for position, element in enumerate(term.terms)
            ]
            return {"L": elements}
        case "struct":
            members = {
                name: value_of(member, parameters, f"{under}.{name}", level + 1)
                for name, member in _members(term, under)
            }
            return {"M": members}
        case "set":
            return _set(term, parameters, under, level)
    name = "MISSING" if term.kind == "missing" else _written(term)
    name = _OPERATORS.get(name, name)
    raise ValidationException(f"Unsupported data type: {name} under key {under} {term.at.place}")


def item_of(term: Term, parameters: Parameters) -> Item:
    """The item that a map describes. Messages give paths within an attribute, without its name."""
    return {name: value_of(member, parameters) for name, member in _members(term, ROOT)}


def _members(term: Term, under: str) -> Iterator[tuple[str, Term]]:
    """The names and terms of a map. Raises ValidationException if a name is invalid or repeated."""
    seen = set()
    for name, member in zip(term.terms[::2], term.terms[1::2], strict=True):
        if name.kind != "literal" or "S" not in name.content:
            kind = _TERM_NAMES.get(name.kind, name.kind)
            raise ValidationException(
                f"Tuple keys must be of type String. Actual type: {kind} "
                f"under {under} {name.at.place}"
            )
        key = name.content["S"]
        check_components([key])
        if key in seen:
            raise ValidationException(
                f"Duplicate keys in tuple. Key: {key} under {under} {name.at.place}"
            )
        seen.add(key)
        yield key, member


def _literal(written: AttributeValue, under: str) -> AttributeValue:
    if "N" not in written:
        return dict(written)
    try:
        return {"N": numbers.canonical(written["N"])}
    except ValidationException as fault:
        raise ValidationException(f"{fault.message} under {under}") from None


def _parameter(position: int, parameters: Parameters) -> AttributeValue:
    if position >= len(parameters):
        raise ValidationException("Number of parameters in request and statement don't match.")
    return parameters[position]


def _set(term: Term, parameters: Parameters, under: str, level: int) -> AttributeValue:
    if not term.terms:
        raise ValidationException("Empty bags are not supported")
    members = [value_of(member, parameters, under, level + 1) for member in term.terms]
    [kind] = members[0]
    for member, written in zip(members, term.terms, strict=True):
        if kind not in member or kind not in _SETS:
            place = "" if kind == "N" else f" {written.at.place}"
            raise ValidationException(
                "Unsupported data type in Bag. DynamoDB only supports either numbers or strings "
                f"in bags{place}"
            )
    value = {_SETS[kind]: [member[kind] for member in members]}
    if kind == "N" and len(set(value["NS"])) < len(members):
        listed = ", ".join(
            each.content["N"] if each.kind == "literal" else member["N"]
            for each, member in zip(term.terms, members, strict=True)
        )
        raise ValidationException(
            f"{INVALID}Input collection [{listed}] contains duplicates! under {under}"
        )
    normalize(value)
    return value


def _written(term: Term) -> str:
    return str(term.content[0]) if term.kind == "path" else str(term.content)
