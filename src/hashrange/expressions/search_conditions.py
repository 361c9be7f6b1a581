"""Search conditions: values that attributes in the search schema of a vector index must have.

Source: shape SearchVectorsInput of the service model. The message about the comparator was captured
on the service. All others are assumed to be those of key conditions.
"""

from hashrange.expressions.tree import Argument, Node, Operation, Path, Value, invalid
from hashrange.model.errors import ValidationException


def equalities(root: Node) -> dict[str, Argument | Value]:
    """Maps each attribute to the value that it must have.

    Raises ValidationException unless the condition consists of equalities joined by AND.
    """
    tests: dict[str, Argument | Value] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        assert isinstance(node, Operation), "a condition must be an operation"
        if node.operator == "AND":
            waiting.extend(reversed(node.operands))
            continue
        if node.operator != "=":
            raise _invalid("Invalid comparator used in SearchConditionExpression")
        name, value = _operands(node)
        if name in tests:
            raise _invalid("SearchConditionExpressions must have one condition per attribute")
        tests[name] = value
    return tests


def _operands(node: Operation) -> tuple[str, Argument | Value]:
    paths = [operand for operand in node.operands if isinstance(operand, Path)]
    values = [operand for operand in node.operands if isinstance(operand, Argument | Value)]
    if len(paths) != 1 or len(values) != 1:
        raise _invalid("A condition must compare an attribute with a value")
    if len(paths[0].parts) > 1:
        raise _invalid("SearchConditionExpressions cannot have conditions on nested attributes")
    return str(paths[0].parts[0]), values[0]


def _invalid(fault: str) -> ValidationException:
    return invalid("SearchConditionExpression", fault)
