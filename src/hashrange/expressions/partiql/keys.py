"""Finds the rows that a WHERE clause reads or writes, from its conditions on key attributes.

If a SELECT names values of the partition key, it is planned as queries of those partitions, and
otherwise as a scan. Conditions that the queries do not cover become a filter.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import NamedTuple, TypeAlias

from hashrange.expressions.key_conditions import KeyQuery
from hashrange.expressions.tree import Node, Operation, Path, Value, walk
from hashrange.model.errors import ValidationException
from hashrange.model.values import AttributeValue, Item

Types: TypeAlias = Mapping[str, str]
"""Maps each key attribute to its type: S, N or B."""

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SORT_TESTS = _MIRRORED.keys() | {"BETWEEN", "begins_with", "IN"}
_QUERIES_MAX = 10_000
"""The largest number of queries for one WHERE clause. A clause that needs more is planned as a
scan."""


class ReadPlan(NamedTuple):
    """How to read the rows that a WHERE clause selects: by queries or, if `queries` is None, by a
    scan.

    No two queries may overlap. `filter` is the condition that each row must also meet. `filtered`
    are the attributes that the source must hold for this filter, in the order of the text.
    """

    queries: list[KeyQuery] | None
    filter: Node | None
    filtered: tuple[str, ...] = ()


class _Test(NamedTuple):
    """A test of one attribute against values."""

    name: str
    operator: str
    values: tuple[AttributeValue, ...]


class _Way(NamedTuple):
    """One alternative of a WHERE clause. A clause with OR may have several.

    Both the tests of the key attributes and the other conditions must hold.
    """

    hash: _Test
    sort: _Test | None
    others: list[Node]


def one_key(where: Node, names: Sequence[str]) -> tuple[Item, Node | None] | None:
    """The full key that a WHERE clause names, and its other conditions. None if it names no full
    key.

    Raises ValidationException if the clause names several values of a key attribute.
    """
    key: Item = {}
    others: list[Node] = []
    for part in _parts("AND", where):
        test = _test_of(part)
        if test is None or test.operator != "=" or test.name not in names:
            others.append(part)
            continue
        _check_scalar(test)
        [value] = test.values
        if key.setdefault(test.name, value) != value:
            raise ValidationException(
                f"Multiple conditions on same key {test.name}. "
                "Only single item Update/Insert/Delete are supported"
            )
    return (key, all_of(others)) if len(key) == len(names) else None


def check_key(key: Item, names: Sequence[str], types: Types) -> None:
    """Raises ValidationException if a key attribute is missing or has the wrong type."""
    for name in names:
        if name not in key:
            raise ValidationException(f"Key attribute should be present in the item: Key {name}")
        if types[name] not in key[name]:
            raise _wrong_type(name)


def all_of(conditions: Sequence[Node]) -> Node | None:
    """The conjunction of the conditions; None if there are none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Operation("AND", tuple(conditions))


def plan(where: Node | None, hash_name: str, range_name: str | None, types: Types) -> ReadPlan:
    """Plan how to read the rows that a WHERE clause selects.

    A query has one equality on the partition key and at most one condition on the sort key. Its
    filter must not name a key attribute. A clause with two different conditions on a key attribute,
    or a negated one, is planned as a scan, as on the service. Raises ValidationException if a key
    attribute is compared with a value of a wrong type.
    """
    if where is None:
        return ReadPlan(None, None)
    keys = {hash_name, range_name}
    ways = list(islice(_alternatives(where, keys), _QUERIES_MAX + 1))
    planned: list[_Way] = []
    for way in ways if len(ways) <= _QUERIES_MAX else ():
        way_plan = _plan_way(way, hash_name, range_name, types)
        if way_plan is None:
            break
        planned.append(way_plan)
    if len(planned) < len(ways):
        return ReadPlan(None, where)
    queries = list(islice(chain.from_iterable(map(_queries, planned)), _QUERIES_MAX + 1))
    if len(queries) > _QUERIES_MAX:
        return ReadPlan(None, where)
    first, *others = (way.others for way in planned)
    if all(each == first for each in others):
        return ReadPlan(queries, all_of(first), _names_in(first))
    together = isinstance(where, Operation) and where.operator == "AND"
    return ReadPlan(queries, where, _names_in([where]) if together else ())


def names_partitions(where: Node | None, hash_name: str) -> bool:
    """Whether one of the conditions is an equality, or IN, on the partition key."""
    conditions = [] if where is None else [n for n in walk(where) if isinstance(n, Operation)]
    return any((test := _test_of(node)) and _is_equality(test, hash_name) for node in conditions)


def _is_equality(test: _Test, name: str) -> bool:
    return test.name == name and test.operator in ("=", "IN")


def _plan_way(
    way: Sequence[Node], hash_name: str, range_name: str | None, types: Types
) -> _Way | None:
    """One alternative, divided into key conditions and other conditions. None if no query can read
    it."""
    hashes: list[_Test] = []
    sorts: list[_Test] = []
    others: list[Node] = []
    for node in way:
        test = _test_of(node)
        if test and _is_equality(test, hash_name):
            hashes.append(test)
        elif sort := _sort_test(node, range_name):
            sorts.append(sort)
        else:
            others.append(node)
    if not hashes:
        return None
    for test in chain(hashes, sorts):
        _check_type(test, types)
    named = {hash_name, range_name} & {*_names_in(others)}
    if named or not _agree(hashes) or (sorts and not _agree(sorts)):
        return None
    return _Way(hashes[0], sorts[0] if sorts else None, others)


def _agree(tests: Sequence[_Test]) -> bool:
    """Whether all tests are equal. An IN with several values equals no other test."""
    first, *others = map(_plain, tests)
    return not others or (first.operator != "IN" and all(each == first for each in others))


def _plain(test: _Test) -> _Test:
    """The test or, if it is an IN with one value, the corresponding equality."""
    if test.operator == "IN" and len(test.values) == 1:
        return test._replace(operator="=")
    return test


def _alternatives(node: Node, keys: set[str | None]) -> Iterator[tuple[Node, ...]]:
    """The alternatives of a clause. All conditions of an alternative must hold.

    An OR that does not name any of the `keys` counts as one condition.
    """
    if isinstance(node, Operation) and node.operator == "AND":
        ways = [list(islice(_alternatives(n, keys), _QUERIES_MAX + 1)) for n in node.operands]
        return (tuple(chain(*way)) for way in product(*ways))
    if isinstance(node, Operation) and node.operator == "OR" and keys & {*_names_in([node])}:
        return chain.from_iterable(_alternatives(operand, keys) for operand in node.operands)
    return iter([(node,)])


def _queries(way: _Way) -> Iterator[KeyQuery]:
    """One query for each combination of values in the IN lists of an alternative."""
    sorts = [None] if way.sort is None else _each_value(way.sort)
    return (_query(value, sort) for value, sort in product(way.hash.values, sorts))


def _each_value(test: _Test) -> list[_Test]:
    """The test itself or, for an IN, one equality for each of its values."""
    if test.operator != "IN":
        return [test]
    return [_Test(test.name, "=", (value,)) for value in test.values]


def _query(value: AttributeValue, test: _Test | None) -> KeyQuery:
    if test is None:
        return KeyQuery([value], [], None, [])
    if test.operator == "=":
        return KeyQuery([value], list(test.values), None, [])
    return KeyQuery([value], [], test.operator, list(test.values))


def _sort_test(node: Node, name: str | None) -> _Test | None:
    test = _test_of(node)
    return test if test and test.name == name and test.operator in _SORT_TESTS else None


def _test_of(node: Node) -> _Test | None:
    """The condition as a test. None if it does not compare one whole attribute with values."""
    assert isinstance(node, Operation), "a condition must be an operation"
    operator, operands = node
    if operator in _MIRRORED and isinstance(operands[0], Value):
        operator, operands = _MIRRORED[operator], operands[::-1]
    first, *others = operands
    values = tuple(other.value for other in others if isinstance(other, Value))
    if not isinstance(first, Path) or len(first.parts) > 1 or len(values) < len(others):
        return None
    return _Test(str(first.parts[0]), operator, values)


def _check_scalar(test: _Test) -> None:
    for value in test.values:
        [kind] = value
        if kind not in ("S", "N", "B"):
            raise ValidationException(
                f"Key value must be of type S, N, or B. Key name: {test.name}, Key type: {kind}"
            )


def _check_type(test: _Test, types: Types) -> None:
    _check_scalar(test)
    if any(types[test.name] not in value for value in test.values):
        raise _wrong_type(test.name)


def _wrong_type(name: str) -> ValidationException:
    return ValidationException(
        f"Key attribute's data type should match its data type in table's schema: Key {name}"
    )


def _parts(operator: str, node: Node) -> list[Node]:
    """The conditions that `operator` (AND or OR) joins, including those in nested parentheses."""
    parts: list[Node] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Operation) and node.operator == operator:
            waiting.extend(reversed(node.operands))
        else:
            parts.append(node)
    return parts


def _names_in(nodes: Sequence[Node]) -> tuple[str, ...]:
    """The top-level attributes that conditions name, in the order of the text."""
    paths = (each for node in nodes for each in walk(node) if isinstance(each, Path))
    return tuple(dict.fromkeys(str(path.parts[0]) for path in paths))
