"""A table of the operators and functions, with the rules for their operands.

Source: developer guide, "Expressions.OperatorsAndFunctions". The messages were observed on the
service.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hashrange.expressions.tree import (
    Argument,
    Node,
    Operation,
    Parameter,
    Path,
    Section,
    Value,
    Values,
    invalid,
)
from hashrange.model.errors import ValidationException
from hashrange.model.limits import IN_OPERANDS_MAX
from hashrange.model.values import AttributeValue, compare

LOGICAL = frozenset(("AND", "OR", "NOT"))
"""The operators whose operands are conditions."""

TYPES = frozenset(("S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"))
_ORDERED = frozenset("SNB")
_TYPE_NAMES = "{S,SS,N,NS,B,BS,BOOL,NULL,L,M}"
_TYPE_NAMES_OF_LEGACY = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
_PATH_TYPES = (
    "{S,SS,N,NS,B,BS,BOOL,NULL,L,M,HD,DOUBLE,FLOAT,HDS,FS,DOUBLESET,DICT,DECIMAL,INT,DECIMALSET,"
    "INTSET}"
)
_PATH_TYPES_OF_LEGACY = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
"""The types that messages about legacy conditions name for a path. The type of its value is not
known before the item is read."""

Check = Callable[[Parameter, Operation, Values], None]


class Operator(NamedTuple):
    """The rules for an operator or function, in the order in which they are checked.

    `operands`: the number of operands of a function; the grammar checks that of an operator.
    `needs_path`: the first operand must be a document path. `distinct`: the first operand, if it is
    a path, must differ from all others. `types`: the types that an operand may have, unless its
    type depends on the item. `further`: a further check.
    """

    operands: int | None = None
    needs_path: bool = False
    distinct: bool = False
    types: frozenset[str] | None = None
    further: Check | None = None


def _check_membership(parameter: Parameter, operation: Operation, values: Values) -> None:
    count = len(operation.operands) - 1
    if count > IN_OPERANDS_MAX:
        raise invalid(
            parameter,
            f"The IN operator is provided with too many operands; number of operands: {count}",
        )


def _check_bounds(parameter: Parameter, operation: Operation, values: Values) -> None:
    lower, upper = (value_of(operand, values) for operand in operation.operands[1:])
    if lower is None or upper is None:
        return
    order = compare(lower, upper)
    if order is not None and order <= 0:
        return
    rule = (
        "same data type for lower and upper bounds"
        if order is None
        else "upper bound to be greater than or equal to lower bound"
    )
    raise invalid(
        parameter,
        f"The BETWEEN operator requires {rule}; "
        f"lower bound operand: {_show(lower)}, upper bound operand: {_show(upper)}",
    )


def _check_type_name(parameter: Parameter, operation: Operation, values: Values) -> None:
    operand = operation.operands[1]
    name = value_of(operand, values)
    if name is None or "S" not in name:
        kind = static_type(operand)
        if kind is not None:
            raise _wrong_type(parameter, operation, kind)
        legacy = _wrong_type(parameter, operation, _PATH_TYPES_OF_LEGACY).message
        told = _wrong_type(parameter, operation, _PATH_TYPES).message
        raise ValidationException(told, legacy)
    if name["S"] not in TYPES:
        fault = f"Invalid attribute type name found; type: {name['S']}, valid types: "
        legacy = invalid(parameter, fault + _TYPE_NAMES_OF_LEGACY).message
        raise ValidationException(invalid(parameter, fault + _TYPE_NAMES).message, legacy)


_equality = Operator(distinct=True)
_ordering = Operator(distinct=True, types=_ORDERED)
_existence = Operator(operands=1, needs_path=True)
_arithmetic = Operator(types=frozenset("N"))

OPERATORS = {
    "AND": Operator(),
    "OR": Operator(),
    "NOT": Operator(),
    "=": _equality,
    "<>": _equality,
    "<": _ordering,
    "<=": _ordering,
    ">": _ordering,
    ">=": _ordering,
    "BETWEEN": _ordering._replace(further=_check_bounds),
    "IN": Operator(distinct=True, further=_check_membership),
    "+": _arithmetic,
    "-": _arithmetic,
}
CONDITION_FUNCTIONS = {
    "attribute_exists": _existence,
    "attribute_not_exists": _existence,
    "attribute_type": Operator(operands=2, distinct=True, further=_check_type_name),
    "begins_with": Operator(operands=2, distinct=True, types=frozenset("SB")),
    "contains": Operator(operands=2, distinct=True),
    "size": Operator(operands=1, types=TYPES - {"N", "BOOL", "NULL"}),
}
UPDATE_FUNCTIONS = {
    "if_not_exists": Operator(operands=2, needs_path=True, distinct=True),
    "list_append": Operator(operands=2, types=frozenset("L")),
}
_ALL = OPERATORS | CONDITION_FUNCTIONS | UPDATE_FUNCTIONS

_ACTION_TYPES: dict[Section, frozenset[str]] = {
    "ADD": frozenset(("N", "SS", "NS", "BS")),
    "DELETE": frozenset(("SS", "NS", "BS")),
}
_LONG_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "Binary",
    "BOOL": "BOOL",
    "NULL": "NULL",
    "M": "MAP",
    "L": "LIST",
}
"""The names of types in the message about ADD and DELETE. No other message uses them."""

_RESULT_TYPES = {
    **dict.fromkeys(CONDITION_FUNCTIONS, "BOOL"),
    "size": "N",
    "+": "N",
    "-": "N",
    "list_append": "L",
}
"""Maps operators to the types of their results, if these do not depend on the item."""

VALUES_MATTER = frozenset(("BETWEEN", "attribute_type"))
"""The operators for which not only the types, but also the values of the operands are checked."""


def check_operands(parameter: Parameter, operation: Operation, values: Values) -> None:
    """Raises ValidationException if the bound operation cannot have its operands."""
    operator, operands, rules = operation.operator, operation.operands, _ALL[operation.operator]
    if rules.operands is not None and len(operands) != rules.operands:
        raise invalid(
            parameter,
            "Incorrect number of operands for operator or function; "
            f"operator or function: {operator}, number of operands: {len(operands)}",
        )
    first = operands[0]
    if rules.needs_path and not isinstance(first, Path):
        raise invalid(
            parameter,
            f"Operator or function requires a document path; operator or function: {operator}",
        )
    if rules.distinct and isinstance(first, Path) and first in operands[1:]:
        raise invalid(
            parameter,
            "The first operand must be distinct from the remaining operands for this operator "
            f"or function; operator: {operator}, first operand: {first}",
        )
    if rules.types:
        for kind in filter(None, map(static_type, operands)):
            if kind not in rules.types:
                raise _wrong_type(parameter, operation, kind)
    if rules.further:
        rules.further(parameter, operation, values)


def check_action(section: Section, operand: Node) -> None:
    """Raises ValidationException if ADD or DELETE cannot have this operand."""
    kind = str(static_type(operand))
    if kind not in _ACTION_TYPES[section]:
        raise invalid(
            "UpdateExpression",
            "Incorrect operand type for operator or function; "
            f"operator: {section}, operand type: {_LONG_NAMES[kind]}, "
            "typeSet: ALLOWED_FOR_ADD_OPERAND",  # the service uses this name for DELETE as well
        )


def operators_in(nodes: Iterable[Node]) -> int:
    """The number of operators, as the limit counts them: `a AND b AND c` has two."""
    return sum(
        len(node.operands) - 1 if node.operator in ("AND", "OR") else 1
        for node in nodes
        if isinstance(node, Operation)
    )


def static_type(node: Node) -> str | None:
    """The type of an operand, or None if it depends on the item."""
    if isinstance(node, Argument):
        return node.type
    if isinstance(node, Value):
        return next(iter(node.value))
    if isinstance(node, Operation):
        return _RESULT_TYPES.get(node.operator)
    return None


def value_of(node: Node, values: Values) -> AttributeValue | None:
    """The value of an operand that is a literal value or an argument; None for any other
    operand."""
    if isinstance(node, Argument):
        return values[node.name]
    return node.value if isinstance(node, Value) else None


def _wrong_type(parameter: Parameter, operation: Operation, kind: str) -> ValidationException:
    return invalid(
        parameter,
        "Incorrect operand type for operator or function; "
        f"operator or function: {operation.operator}, operand type: {kind}",
    )


def _show(value: AttributeValue) -> str:
    """A value as the messages about bounds write it."""
    [(kind, content)] = value.items()
    return f"AttributeValue: {{{kind}:{content}}}"
