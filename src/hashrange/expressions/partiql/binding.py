"""PartiQL terms and parameters -> bound tree, of the same kind as the bound tree of an expression.

This module has the rules that only PartiQL has: IS; function names in upper or lower case; a
condition or a function that is compared with a boolean; SET_ADD and SET_DELETE in SET.
"""

from collections.abc import Iterable
from typing import TypeAlias

from hashrange.expressions import trampoline
from hashrange.expressions.operators import (
    CONDITION_FUNCTIONS,
    LOGICAL,
    UPDATE_FUNCTIONS,
    check_operands,
    operators_in,
)
from hashrange.expressions.partiql.tree import Assignment, Term
from hashrange.expressions.partiql.values import Parameters, value_of
from hashrange.expressions.paths import check_disjoint
from hashrange.expressions.tree import (
    NO_VALUES,
    Node,
    Operation,
    Path,
    Section,
    Value,
    attributes_of,
    invalid,
    walk,
)
from hashrange.expressions.updates import Update, change_of
from hashrange.model.errors import ValidationException
from hashrange.model.limits import EXPRESSION_OPERATORS_MAX, NESTING_LEVELS_MAX
from hashrange.model.values import normalize

Rule: TypeAlias = trampoline.Rule[Node]

_COMPARATORS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TYPES = {
    "NULL": "NULL",
    "BOOL": "BOOL",
    "BOOLEAN": "BOOL",
    "BLOB": "B",
    "STRING": "S",
    "NUMERIC": "N",
    "STRUCT": "M",
    "TUPLE": "M",
    "LIST": "L",
}
"""Maps each type name that IS accepts, except MISSING, to DynamoDB's name of the type."""
_SET_FUNCTIONS: dict[str, Section] = {"set_add": "ADD", "set_delete": "DELETE"}
FUNCTIONS = (*CONDITION_FUNCTIONS, *UPDATE_FUNCTIONS, *_SET_FUNCTIONS)
"""All functions that a statement may call."""
_NOT_BOOLEAN = "WHERE clause must contain an expression that resolves to a boolean"
_BAD_IN = (
    "IN operator must have a left hand argument of type Variable Reference and right hand "
    "argument of type Seq with at least one member"
)


def path_of(term: Term) -> Path:
    """A term as a document path. Raises ValidationException if it is not a path."""
    if term.kind != "path":
        raise ValidationException(f"Unexpected path component {term.at.place}")
    if len(term.content) > NESTING_LEVELS_MAX:
        raise ValidationException(
            f"The document path has too many nesting levels; nesting levels: {len(term.content)}"
        )
    return Path(term.content)


def condition_of(term: Term, parameters: Parameters) -> Node:
    """The bound condition of a WHERE clause. Raises ValidationException."""
    root = trampoline.run(_Binding(parameters).condition(term))
    _check_count([root])
    return root


def update_of(assignments: Iterable[Assignment], parameters: Parameters) -> Update:
    """The bound update of SET and REMOVE clauses. Raises ValidationException."""
    binding = _Binding(parameters)
    bound = [binding.assignment(each) for each in assignments]
    # Of two paths, the service's messages name the later one first.
    check_disjoint("Statement", [target for _, target, _ in reversed(bound)])
    operands = [operand for *_, operand in bound if operand is not None]
    _check_count(operands)
    read = frozenset().union(*map(attributes_of, operands))
    return Update.of([change_of(*each) for each in bound], values_may_be_too_deep=True, read=read)


def _check_count(roots: Iterable[Node]) -> None:
    if sum(operators_in(walk(root)) for root in roots) > EXPRESSION_OPERATORS_MAX:
        raise ValidationException(
            "The expression contains too many operators; "
            f"operator count: {EXPRESSION_OPERATORS_MAX + 1}"
        )


class _Binding:
    """The rules for binding terms. They raise ValidationException."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    # ---- conditions ----

    def condition(self, term: Term) -> Rule:
        if term.kind == "is":
            return _type_test(term)
        if term.kind == "call":
            if term.content == "size":
                raise ValidationException(_NOT_BOOLEAN)
            return (yield self._function(term))
        if term.kind != "operator":
            raise ValidationException(_NOT_BOOLEAN)
        if term.content in LOGICAL:
            operands = []
            for each in term.terms:
                operands.append((yield self.condition(each)))
            return Operation(term.content, tuple(operands))
        if term.content in _COMPARATORS:
            return (yield self._comparison(term))
        if term.content == "IN":
            return (yield self._membership(term))
        if term.content == "BETWEEN":
            return (yield self._operation("BETWEEN", term.terms))
        raise ValidationException(
            f"Unsupported operator in Condition Expression. Operator: {term.content.lower()}"
        )

    def _comparison(self, term: Term) -> Rule:
        operator = _COMPARATORS[term.content]
        truths = [each for each in term.terms if each.kind == "literal" and "BOOL" in each.content]
        tests = [each for each in term.terms if each.kind in ("operator", "is")]
        if operator in ("=", "<>") and len(truths) == len(tests) == 1:
            test = yield self.condition(tests[0])
            holds = truths[0].content["BOOL"] == (operator == "=")
            return test if holds else Operation("NOT", (test,))
        return (yield self._operation(operator, term.terms))

    def _membership(self, term: Term) -> Rule:
        left, right = term.terms
        if right.kind not in ("list", "set") or not right.terms:
            raise ValidationException(_BAD_IN)
        return (yield self._operation("IN", (left, *right.terms)))

    def _function(self, term: Term) -> Rule:
        if term.content not in CONDITION_FUNCTIONS:
            raise ValidationException(f"Unrecognized function: {term.content} {term.at.place}")
        for each in term.terms:
            if each.kind == "call" and each.content in CONDITION_FUNCTIONS.keys() - {"size"}:
                raise _misplaced(each)
        return (yield self._operation(term.content, term.terms))

    def _operation(self, operator: str, terms: Iterable[Term]) -> Rule:
        operands = []
        for term in terms:
            operands.append((yield self._operand(term)))
        operation = Operation(operator, tuple(operands))
        check_operands("Statement", operation, NO_VALUES)
        return operation

    def _operand(self, term: Term) -> Rule:
        if term.kind == "call":
            return (yield self._function(term))
        if term.kind in ("operator", "is"):
            name = "is" if term.kind == "is" else term.content.lower()
            raise ValidationException(
                f"Unsupported operator in Condition Expression. Operator: {name}"
            )
        return self._leaf(term)

    def _leaf(self, term: Term) -> Node:
        """A term as a path or value. Raises ValidationException if it is neither."""
        if term.kind == "path":
            return path_of(term)
        if term.kind == "missing":
            raise ValidationException("MISSING must be compared using IS operator")
        value = value_of(term, self._parameters)
        if term.kind != "parameter":
            normalize(value)  # checks the nesting of parameters inside literals
        return Value(value)

    # ---- updates ----

    def assignment(self, assignment: Assignment) -> tuple[Section, Path, Node | None]:
        target, value = path_of(assignment.target), assignment.value
        if value is None:
            return "REMOVE", target, None
        if value.kind == "call" and value.content in _SET_FUNCTIONS:
            return _SET_FUNCTIONS[value.content], target, self._members(target, value)
        return "SET", target, trampoline.run(self._assigned(value))

    def _members(self, target: Path, term: Term) -> Value:
        """The set that `set_add` adds to the target, or that `set_delete` removes from it."""
        name = term.content.upper()
        if len(term.terms) != 2:
            raise ValidationException(f"{name} must have exactly two arguments {term.at.place}")
        first, second = term.terms
        if first.kind != "path" or first.content != target.parts:
            raise ValidationException(
                f"The first argument to {name} must equal the assignment value {term.at.place}"
            )
        operand = self._leaf(second)
        if not isinstance(operand, Value) or not operand.value.keys() & {"SS", "NS", "BS"}:
            raise ValidationException(
                f"The second argument to {name} must be a value with type SET {first.at.place}"
            )
        return operand

    def _assigned(self, term: Term) -> Rule:
        """The bound value of a SET: an operand, arithmetic, or a function that only SET has."""
        if term.kind == "call":
            _check_update_function(term)
        elif term.kind in ("operator", "is"):
            _check_arithmetic(term)
        else:
            return self._leaf(term)
        operands = []
        for each in term.terms:
            operands.append((yield self._assigned(each)))
        operation = Operation(term.content, tuple(operands))
        check_operands("Statement", operation, NO_VALUES)
        return operation


def _type_test(term: Term) -> Operation:
    [operand] = term.terms
    if operand.kind != "path":
        raise ValidationException(
            "The left hand side argument to IS must be a Variable Reference, Literal, or Path"
        )
    path = path_of(operand)
    if term.content == "MISSING":
        return Operation("attribute_not_exists", (path,))
    if term.content not in _TYPES:
        raise ValidationException(
            f"Unsupported data type for IS operator: {term.content}. Supported data types are "
            f"[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] {term.at.place}"
        )
    return Operation("attribute_type", (path, Value({"S": _TYPES[term.content]})))


def _check_update_function(term: Term) -> None:
    if term.content in CONDITION_FUNCTIONS:
        raise invalid(
            "Statement",
            f"The function is not allowed in an update expression; function: {term.content}",
        )
    if term.content not in UPDATE_FUNCTIONS:
        raise ValidationException(f"Unrecognized function: {term.content} {term.at.place}")


def _check_arithmetic(term: Term) -> None:
    operator = "IS" if term.kind == "is" else term.content
    if operator not in ("+", "-"):
        raise ValidationException(
            f"Unsupported operator in Update Expression. Operator: {operator}"
        )
    if len(term.terms) != 2:
        raise ValidationException(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {operator}, number of operands: {len(term.terms)}"
        )


def _misplaced(term: Term) -> ValidationException:
    return ValidationException(
        "The function is not allowed to be used this way in an expression; "
        f"function: {term.content}"
    )
