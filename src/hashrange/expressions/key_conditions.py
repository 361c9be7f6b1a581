"""Key conditions: the partition that a Query reads, and the range of rows within it.

Source: developer guide, "Query.KeyConditionExpressions" and the pages on multi-attribute keys. The
messages were observed on the service.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

from msgspec import Struct

from hashrange.expressions.operators import static_type
from hashrange.expressions.tree import NO_VALUES, Argument, Node, Operation, Path, Value, Values
from hashrange.model.errors import ValidationException
from hashrange.model.tables import TableOrIndex
from hashrange.model.values import AttributeValue

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Maps each comparator of key conditions to the comparator that is equivalent if the operands are
exchanged."""
LEGACY_COUNT = "Conditions can be of length 1 or 2 only"
"""The message if KeyConditions has no condition, or more conditions than key attributes."""
_OPERATORS = _MIRRORED.keys() | {"BETWEEN", "begins_with"}


class KeyTest(NamedTuple):
    """One condition on one key attribute."""

    attribute: str
    operator: str
    operands: tuple[Argument | Value, ...]


class KeyQuery(Struct, gc=False):
    """The rows that a Query reads.

    They have these values of the partition key (`hash_values`) and of the first range attributes
    (`range_equals`). The next range attribute must pass a test, whose `operator` is `<`, `<=`, `>`,
    `>=`, `BETWEEN` or `begins_with`; None if there is no test.
    """

    hash_values: list[AttributeValue]
    range_equals: list[AttributeValue]
    operator: str | None
    operands: list[AttributeValue]


class _Arrangement(NamedTuple):
    """The operands of a key condition in the order of one key schema (see `KeyQuery`).

    First come `hashes` values of the partition key, then `equals` values of the first range
    attributes, then the operands of the last test.
    """

    source: TableOrIndex
    operands: tuple[Argument | Value, ...]
    hashes: int
    equals: int
    operator: str | None


class PreparedKeyCondition:
    """A key condition that requests with different values share. It has at most one test per
    attribute."""

    def __init__(self, tests: Sequence[KeyTest], legacy: bool = False) -> None:
        self._tests = {test.attribute: test for test in tests}
        # Programs send the same key condition to one table or index over and over.
        self._latest: _Arrangement | None = None
        self._legacy = legacy

    def check_partition(self, source: TableOrIndex) -> None:
        """Implements `KeyCondition.check_partition`."""
        if self._latest is not None and self._latest.source is source:
            return
        count, keys = len(self._tests), len(source.hash) + len(source.range)
        if count > max(2, keys):
            if self._legacy:
                raise ValidationException(LEGACY_COUNT)
            raise ValidationException(
                f"The number of query conditions ({count}) exceeds the number of key attributes "
                f"defined in the schema ({keys})"
            )
        if count > keys:
            raise _not_supported()
        unequal = [name for name in source.hash if not self._is_equality(name)]
        if unequal and max(len(source.hash), len(source.range)) > 1:
            raise ValidationException(
                f"HASH key attributes {', '.join(unequal)} must have equality conditions "
                "specified in the query"
            )
        for name in unequal:
            if name not in self._tests:
                raise _missed(name)

    @property
    def attributes(self) -> frozenset[str]:
        return frozenset(self._tests)

    def equal(self, name: str) -> Argument | Value | None:
        """The value that the key attribute must equal, or the placeholder of this value. None if
        there is no such test."""
        return self._tests[name].operands[0] if self._is_equality(name) else None

    def _is_equality(self, name: str) -> bool:
        test = self._tests.get(name)
        return test is not None and test.operator == "="

    def arrangement(self, source: TableOrIndex, types: Mapping[str, str]) -> _Arrangement:
        latest = self._latest
        if latest is None or latest.source is not source:
            latest = self._latest = self._arrange(source, types)
        return latest

    def _arrange(self, source: TableOrIndex, types: Mapping[str, str]) -> _Arrangement:
        unnamed = [name for name in source.range if name not in self._tests]
        if len(self._tests) > len(source.hash) + len(source.range) - len(unnamed):
            raise _missed(unnamed[0])
        for test in self._tests.values():
            # Only legacy parameters get here with such an operator, after the table was looked up.
            if test.operator not in _OPERATORS:
                raise ValidationException(
                    "Attempted conditional constraint is not an indexable operation"
                )
        tests = [self._hash_test(name, types) for name in source.hash]
        equals, last = self._range_tests(source.range, types)
        operands = [test.operands[0] for test in (*tests, *equals)]
        if last:
            operands += last.operands
        operator = last.operator if last else None
        return _Arrangement(source, tuple(operands), len(tests), len(equals), operator)

    def _hash_test(self, name: str, types: Mapping[str, str]) -> KeyTest:
        test = self._tests[name]
        _check_type(test, types[name])
        if test.operator != "=":
            raise _not_supported()
        return test

    def _range_tests(
        self, names: Sequence[str], types: Mapping[str, str]
    ) -> tuple[list[KeyTest], KeyTest | None]:
        """The equality tests of the first range attributes, and the test of the next range
        attribute, if any.

        Raises ValidationException if a later range attribute has a test.
        """
        equals: list[KeyTest] = []
        last = None
        for name in names:
            test = self._tests.get(name)
            if test is None:
                break
            _check_type(test, types[name])
            if test.operator != "=":
                last = test
                break
            equals.append(test)
        beyond = [name for name in names[len(equals) + 1 :] if name in self._tests]
        if beyond:
            gap = names[len(equals) : names.index(beyond[-1])]
            raise ValidationException(
                f"RANGE key attributes {', '.join(gap)} must have equality conditions specified "
                f"in the query because a condition is present on key attribute {beyond[-1]}"
            )
        return equals, last


class KeyCondition(Struct, gc=False, eq=False):
    """A prepared key condition with the values of one request."""

    _prepared: PreparedKeyCondition
    _values: Values = NO_VALUES

    @classmethod
    def of(cls, tests: Sequence[KeyTest]) -> Self:
        """A key condition made from legacy parameters. The tests contain their values."""
        return cls(PreparedKeyCondition(tests, legacy=True))

    def check_partition(self, source: TableOrIndex) -> None:
        """Raises ValidationException if there are too many tests, or if an attribute of the
        partition key has no suitable test."""
        self._prepared.check_partition(source)

    def resolve(self, source: TableOrIndex, types: Mapping[str, str]) -> KeyQuery:
        """The rows to be read in a table or index. `types` has S, N or B for each attribute.

        Call `check_partition` before this; the service makes other checks in between. Raises
        ValidationException if the tests do not fit the key schema.
        """
        _, operands, hashes, equals, operator = self._prepared.arrangement(source, types)
        values = self._values
        filled = [
            values[operand.name] if isinstance(operand, Argument) else operand.value
            for operand in operands
        ]
        last = hashes + equals
        return KeyQuery(filled[:hashes], filled[hashes:last], operator, filled[last:])

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that have a test."""
        return self._prepared.attributes

    def equals(self, name: str) -> AttributeValue | None:
        """The value that an attribute must equal. None if it has no equality test."""
        operand = self._prepared.equal(name)
        return (
            self._values[operand.name]
            if isinstance(operand, Argument)
            else operand and operand.value
        )


def key_tests(root: Node) -> list[KeyTest]:
    """The tests of a bound condition. Raises ValidationException if it is not a key condition."""
    tests: dict[str, KeyTest] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        assert isinstance(node, Operation), "a condition must be an operation"
        if node.operator == "AND":
            waiting.extend(reversed(node.operands))
            continue
        test = _key_test(node)
        if test.attribute in tests:
            raise ValidationException(
                "Invalid KeyConditionExpression: "
                "KeyConditionExpressions must only contain one condition per key"
            )
        tests[test.attribute] = test
    return list(tests.values())


def _key_test(node: Operation) -> KeyTest:
    operator, operands = node
    if operator not in _OPERATORS:
        raise ValidationException(f"Invalid operator used in KeyConditionExpression: {operator}")
    if operator not in _MIRRORED and isinstance(operands[0], Argument):
        raise _invalid_test(f"{operator} operator must have the key attribute as its first operand")
    name: Path | None = None
    for operand in operands:
        if isinstance(operand, Operation):
            raise ValidationException("KeyConditionExpressions cannot contain nested operations")
        if isinstance(operand, Path):
            _check_attribute(operand, name)
            name = operand
    if name is None:
        raise _invalid_test("No key attribute specified")
    if operands[0] is not name:
        operator = _MIRRORED[operator]
    values = tuple(operand for operand in operands if isinstance(operand, Argument))
    return KeyTest(str(name.parts[0]), operator, values)


def _check_attribute(path: Path, other: Path | None) -> None:
    """Check that a condition is on one attribute as a whole. `path` is an operand, and `other` the
    path of an earlier operand, if any."""
    if other is not None:
        raise _invalid_test("Multiple attribute names used in one condition")
    if len(path.parts) > 1:
        raise ValidationException(
            "Invalid KeyConditionExpression: "
            "KeyConditionExpressions cannot have conditions on nested attributes"
        )


def _check_type(test: KeyTest, expected: str) -> None:
    for operand in test.operands:
        if static_type(operand) != expected:
            raise ValidationException(
                "One or more parameter values were invalid: "
                "Condition parameter type does not match schema type"
            )


def _missed(name: str) -> ValidationException:
    return ValidationException(f"Query condition missed key schema element: {name}")


def _invalid_test(fault: str) -> ValidationException:
    return ValidationException(
        f"Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: {fault}"
    )


def _not_supported() -> ValidationException:
    return ValidationException("Query key condition not supported")
