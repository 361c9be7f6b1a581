"""Text -> checked tree: finds the errors that do not depend on names and values, one rule per pass.

The passes run in DynamoDB's order of precedence, as observed. Binding checks names and values
later. Checked trees are cached by their text, because programs send the same few texts over and
over.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pkgutil import get_data
from typing import NamedTuple

from hashrange.expressions import parser
from hashrange.expressions.operators import (
    CONDITION_FUNCTIONS,
    LOGICAL,
    OPERATORS,
    UPDATE_FUNCTIONS,
    operators_in,
)
from hashrange.expressions.tree import (
    AliasedPath,
    Node,
    Operation,
    Parameter,
    Parts,
    Path,
    Section,
    invalid,
    postorder,
    walk,
)
from hashrange.model.errors import ValidationException
from hashrange.model.limits import EXPRESSION_BYTES_MAX, LIST_INDEX_MAX, NESTING_LEVELS_MAX
from hashrange.model.values import text_size

CACHED_TEXTS = 500
"""The largest number of texts whose trees are cached for each grammar. The tree of a text of 4 KB
may take 100 KB."""

RESERVED_WORDS = frozenset(
    (get_data("hashrange.expressions", "reserved_words.txt") or b"").decode("ascii").split()
)
"""The 573 reserved words, which an expression cannot use as names of attributes. Source: developer
guide, "ReservedWords"."""

_FUNCTIONS = CONDITION_FUNCTIONS.keys() | UPDATE_FUNCTIONS.keys()
_OPERANDS = {"size", *UPDATE_FUNCTIONS}
"""The functions that are operands; the other functions are conditions."""


class CheckedCondition(NamedTuple):
    """The nodes of the tree, children before their parents, and the number of operators."""

    nodes: Sequence[Node]
    operators: int


class CheckedAction(NamedTuple):
    """One action of an update.

    `operand` has the nodes of the value's tree, children before their parents. It is empty for
    REMOVE.
    """

    section: Section
    target: Path | AliasedPath
    operand: Sequence[Node]


class CheckedUpdate(NamedTuple):
    actions: Sequence[CheckedAction]
    operators: int


@lru_cache(CACHED_TEXTS)
def condition(parameter: Parameter, text: str) -> CheckedCondition:
    """The checked tree of a condition, filter or key condition. Raises ValidationException."""
    _check_size(parameter, text)
    root = parser.parse_condition(parameter, text)
    nodes = list(walk(root))
    _check_function_names(parameter, nodes, CONDITION_FUNCTIONS.keys())
    _check_function_places(parameter, root)
    _check_reserved_words(parameter, nodes)
    _check_paths(parameter, nodes)
    return CheckedCondition(postorder(root), operators_in(nodes))


@lru_cache(CACHED_TEXTS)
def projection(text: str) -> tuple[Path | AliasedPath, ...]:
    """The checked paths of a projection. Raises ValidationException."""
    _check_size("ProjectionExpression", text)
    paths = parser.parse_projection(text)
    _check_reserved_words("ProjectionExpression", paths)
    _check_paths("ProjectionExpression", paths)
    return paths


@lru_cache(CACHED_TEXTS)
def update(text: str) -> CheckedUpdate:
    """The checked actions of an update. Raises ValidationException."""
    _check_size("UpdateExpression", text)
    parsed = parser.parse_update(text)
    nodes = [node for root in parsed.roots() for node in walk(root)]
    _check_reserved_words("UpdateExpression", nodes)
    _check_function_names("UpdateExpression", nodes, UPDATE_FUNCTIONS.keys())
    _check_list_append(parsed.roots())
    _check_sections(parsed.sections)
    _check_paths("UpdateExpression", nodes)
    actions = [
        CheckedAction(section, target, postorder(operand) if operand else ())
        for section, target, operand in parsed.actions
    ]
    return CheckedUpdate(actions, operators_in(nodes))


# ---- the passes ----


def _check_size(parameter: Parameter, text: str) -> None:
    if not text:
        raise invalid(parameter, "The expression can not be empty;")
    size = text_size(text)
    if size > EXPRESSION_BYTES_MAX:
        is_condition = parameter in ("ConditionExpression", "FilterExpression")
        raise invalid(
            parameter,
            "Expression size has exceeded the maximum allowed size;",
            added_by_legacy=f" expression size: {size}" if is_condition else "",
        )


def _check_function_names(
    parameter: Parameter, nodes: Iterable[Node], allowed: Iterable[str]
) -> None:
    for node in nodes:
        if not isinstance(node, Operation) or node.operator in OPERATORS:
            continue
        if node.operator not in _FUNCTIONS:
            raise invalid(parameter, f"Invalid function name; function: {node.operator}")
        if node.operator not in allowed:
            kind = "an update" if parameter == "UpdateExpression" else "a condition"
            raise invalid(
                parameter,
                f"The function is not allowed in {kind} expression; function: {node.operator}",
            )


def _check_function_places(parameter: Parameter, root: Node) -> None:
    """Refuse a condition function as an operand, and `size` as a condition."""
    waiting = [(root, True)]
    while waiting:
        node, is_condition = waiting.pop()
        if not isinstance(node, Operation):
            continue
        name = node.operator
        if name in _FUNCTIONS and (name in _OPERANDS) == is_condition:
            raise _misplaced(parameter, name)
        waiting.extend((operand, name in LOGICAL) for operand in reversed(node.operands))


def _check_list_append(roots: Iterable[Node]) -> None:
    """Refuse `list_append`, except as the whole value of a SET."""
    for root in roots:
        for node in walk(root):
            if node is not root and isinstance(node, Operation) and node.operator == "list_append":
                raise _misplaced("UpdateExpression", node.operator)


def _misplaced(parameter: Parameter, function: str) -> ValidationException:
    return invalid(
        parameter,
        f"The function is not allowed to be used this way in an expression; function: {function}",
    )


def _check_reserved_words(parameter: Parameter, nodes: Iterable[Node]) -> None:
    for parts in map(_parts, nodes):
        for part in parts:
            if isinstance(part, str) and part.upper() in RESERVED_WORDS:
                raise invalid(
                    parameter,
                    f"Attribute name is a reserved keyword; reserved keyword: {part}",
                )


def _check_sections(sections: Iterable[Section]) -> None:
    seen = set()
    for section in sections:
        if section in seen:
            raise invalid(
                "UpdateExpression",
                f'The "{section}" section can only be used once in an update expression;',
            )
        seen.add(section)


def _check_paths(parameter: Parameter, nodes: Iterable[Node]) -> None:
    """Refuse list indexes above the limit, and paths that are deeper than items may be nested."""
    for parts in map(_parts, nodes):
        for part in parts:
            if isinstance(part, int) and part > LIST_INDEX_MAX:
                raise invalid(
                    parameter,
                    f"List index is not within the allowable range; index: [{part}]",
                )
        if len(parts) > NESTING_LEVELS_MAX:
            raise invalid(
                parameter,
                f"The document path has too many nesting levels; nesting levels: {len(parts)}",
            )


def _parts(node: Node) -> Parts:
    return node.parts if isinstance(node, Path | AliasedPath) else ()
