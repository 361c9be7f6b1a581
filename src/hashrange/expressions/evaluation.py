"""Bound tree -> functions that take an item and the values of a request.

An operator or function of a condition becomes a test, which returns a bool. An operand becomes a
reader, which returns an attribute value, or None if the item has no such value.

Source: developer guide, "Expressions.OperatorsAndFunctions"; the rest was observed on the service.
"""

from binascii import a2b_base64
from collections.abc import Callable
from typing import Any

from hashrange.expressions.paths import reader
from hashrange.expressions.tree import Argument, Node, Operation, Path, Value, Values
from hashrange.model.values import (
    AttributeValue,
    Item,
    binary_size,
    compare,
    equal,
    is_among,
)

Read = Callable[[Item, Values], AttributeValue | None]
Test = Callable[[Item, Values], bool]


def read_of(node: Node) -> Read:
    """The reader of a bound operand: a path, a value or `size`; in PartiQL, also another
    function."""
    if isinstance(node, Path):
        return reader(node)
    if isinstance(node, Value):
        value = node.value
        return lambda item, values: value
    if isinstance(node, Argument):
        return _argument(node.name)
    assert isinstance(node, Operation)
    operands = [read_of(operand) for operand in node.operands]
    if node.operator == "size":
        return _size(*operands)
    test = _TESTS[node.operator](*operands)
    return lambda item, values: {"BOOL": test(item, values)}


def _argument(name: str) -> Read:
    return lambda item, values: values[name]


def test_of(node: Node) -> Test:
    """The test of a bound condition."""
    assert isinstance(node, Operation), "a condition must be an operation"
    if node.operator in _LOGICAL:
        return _LOGICAL[node.operator](tuple(map(test_of, node.operands)))
    return _TESTS[node.operator](*map(read_of, node.operands))


# ---- AND, OR, NOT ----


def _all(tests: tuple[Test, ...]) -> Test:
    def test(item: Item, values: Values) -> bool:
        for each in tests:  # noqa: SIM110 - `all` over a generator costs twice as much
            if not each(item, values):
                return False
        return True

    return test


def _any(tests: tuple[Test, ...]) -> Test:
    def test(item: Item, values: Values) -> bool:
        for each in tests:  # noqa: SIM110 - as above
            if each(item, values):
                return True
        return False

    return test


def _not(tests: tuple[Test, ...]) -> Test:
    [inner] = tests
    return lambda item, values: not inner(item, values)


_LOGICAL: dict[str, Callable[[tuple[Test, ...]], Test]] = {"AND": _all, "OR": _any, "NOT": _not}


# ---- comparators: if an operand is missing, only <> holds ----


def _equal(left: Read, right: Read) -> Test:
    def test(item: Item, values: Values) -> bool:
        a, b = left(item, values), right(item, values)
        return a is not None and b is not None and equal(a, b)

    return test


def _unequal(left: Read, right: Read) -> Test:
    def test(item: Item, values: Values) -> bool:
        a, b = left(item, values), right(item, values)
        return a is None or b is None or not equal(a, b)

    return test


def _ordering(holds: Callable[[int], bool]) -> Callable[[Read, Read], Test]:
    def make(left: Read, right: Read) -> Test:
        def test(item: Item, values: Values) -> bool:
            a, b = left(item, values), right(item, values)
            if a is None or b is None:
                return False
            order = compare(a, b)
            return order is not None and holds(order)

        return test

    return make


_less_or_equal = _ordering(lambda order: order <= 0)


def _between(middle: Read, lower: Read, upper: Read) -> Test:
    return _all((_less_or_equal(lower, middle), _less_or_equal(middle, upper)))


def _in(left: Read, *choices: Read) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = left(item, values)
        if value is not None:
            for choice in choices:
                other = choice(item, values)
                if other is not None and equal(value, other):
                    return True
        return False

    return test


# ---- functions ----


def _attribute_exists(path: Read) -> Test:
    return lambda item, values: path(item, values) is not None


def _attribute_not_exists(path: Read) -> Test:
    return lambda item, values: path(item, values) is None


def _attribute_type(path: Read, type_name: Read) -> Test:
    def test(item: Item, values: Values) -> bool:
        value, name = path(item, values), type_name(item, values)
        return value is not None and name is not None and name["S"] in value

    return test


def _begins_with(whole: Read, start: Read) -> Test:
    def test(item: Item, values: Values) -> bool:
        a, b = whole(item, values), start(item, values)
        if a is None or b is None:
            return False
        if "S" in a and "S" in b:
            return bool(a["S"].startswith(b["S"]))
        return "B" in a and "B" in b and a2b_base64(a["B"]).startswith(a2b_base64(b["B"]))

    return test


def _contains(whole: Read, part: Read) -> Test:
    def test(item: Item, values: Values) -> bool:
        a, b = whole(item, values), part(item, values)
        return a is not None and b is not None and _has(a, b)

    return test


def _has(whole: AttributeValue, part: AttributeValue) -> bool:
    """Whether `whole`, which is a string, binary, a set or a list, contains `part`."""
    [(kind, content)], [(part_kind, sought)] = whole.items(), part.items()
    if kind == "L":
        return is_among(content, part)
    if kind in ("SS", "NS", "BS"):
        return kind[0] == part_kind and sought in content
    if kind == part_kind == "S":
        return sought in content
    return kind == part_kind == "B" and a2b_base64(sought) in a2b_base64(content)


def _size(operand: Read) -> Read:
    def read(item: Item, values: Values) -> AttributeValue | None:
        value = operand(item, values)
        if value is None:
            return None
        [(kind, content)] = value.items()
        size = _SIZES.get(kind)
        return {"N": str(size(content))} if size else None

    return read


_SIZES: dict[str, Callable[[Any], int]] = {
    "S": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "B": binary_size,
    **dict.fromkeys(("SS", "NS", "BS", "L", "M"), len),
}
"""Maps each type to the implementation of the function `size`. The size of a string is assumed to
be its number of UTF-16 code units."""

_TESTS: dict[str, Callable[..., Test]] = {
    "=": _equal,
    "<>": _unequal,
    "<": _ordering(lambda order: order < 0),
    "<=": _less_or_equal,
    ">": _ordering(lambda order: order > 0),
    ">=": _ordering(lambda order: order >= 0),
    "BETWEEN": _between,
    "IN": _in,
    "attribute_exists": _attribute_exists,
    "attribute_not_exists": _attribute_not_exists,
    "attribute_type": _attribute_type,
    "begins_with": _begins_with,
    "contains": _contains,
}
