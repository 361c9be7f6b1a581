"""Finds the rows that a WHERE clause reads or writes, from its conditions on key attributes.

If a SELECT names values of the partition key, it is planned as queries of those partitions, and
otherwise as a scan. The conditions that the queries do not cover become a filter.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import NamedTuple, TypeAlias

from hashrange.expressions.key_conditions import KeyQuery
from hashrange.expressions.tree import Node, Operation, Path, Value, walk
from hashrange.model.errors import ValidationException
from hashrange.model.values import AttributeValue, Item

Types: TypeAlias = Mapping[str, str]
"""S, N or B for each key attribute."""

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SORT_TESTS = _MIRRORED.keys() | {"BETWEEN", "begins_with", "IN"}
_EXTENTS_MAX = 1_000
"""How many extents are compared; a clause that may have more is not checked for overlaps."""

Extent: TypeAlias = tuple[KeyQuery, ...]
"""The rows that all of these queries name."""


class ReadPlan(NamedTuple):
    """`queries` is None for a scan. `filter` is the condition that each row still has to meet.

    `filtered` are the attributes that are tested besides the key, in the order of the text.
    `extents` are the ranges into which OR and IN divide the read: no two may overlap.
    """

    queries: list[KeyQuery] | None
    filter: Node | None
    filtered: tuple[str, ...] = ()
    extents: Sequence[Extent] = ()


class _Test(NamedTuple):
    """A test of one attribute against values."""

    name: str
    operator: str
    values: tuple[AttributeValue, ...]


def one_key(where: Node, names: Sequence[str]) -> tuple[Item, Node | None] | None:
    """The full key that a WHERE clause names, and the other conditions. None if it names no key.

    Raises ValidationException if it names several.
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
    """Raises ValidationException if a key attribute is missing or of another type."""
    for name in names:
        if name not in key:
            raise ValidationException(f"Key attribute should be present in the item: Key {name}")
        if types[name] not in key[name]:
            raise _wrong_type(name)


def all_of(conditions: Sequence[Node]) -> Node | None:
    """The conjunction of the nodes, None if there are none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Operation("AND", tuple(conditions))


def plan(where: Node | None, hash_name: str, range_name: str | None, types: Types) -> ReadPlan:
    """How to read the rows that a WHERE clause selects. Raises ValidationException."""
    if where is None:
        return ReadPlan(None, None)
    planned = _plan(where, hash_name, range_name, types)
    if planned.queries is None:
        return planned
    return planned._replace(extents=_extents(where, hash_name, range_name, types))


def _plan(where: Node, hash_name: str, range_name: str | None, types: Types) -> ReadPlan:
    branches = _parts("OR", where)
    if len(branches) > 1:
        return _plan_branches(where, branches, hash_name, range_name, types)
    parts = _parts("AND", where)
    allowed = ((part, _partitions(part, hash_name, types)) for part in parts)
    named, values = next(((part, found) for part, found in allowed if found), (where, None))
    if values is None:
        return ReadPlan(None, where)
    used = [named] if _is_equality(named, hash_name) else []
    sorts = [(part, test) for part in parts if (test := _sort_test(part, range_name))]
    for _, each in sorts:
        _check_type(each, types)
    sort = next((pair for pair in sorts if pair[1].operator != "IN"), None)  # an IN is filtered
    if sort:
        used.append(sort[0])
    rest = [part for part in parts if all(part is not other for other in used)]
    queries = [_query(value, sort[1] if sort else None) for value in values]
    return ReadPlan(queries, all_of(rest), _names_in(rest))


def _plan_branches(
    where: Node, branches: Sequence[Node], hash_name: str, range_name: str | None, types: Types
) -> ReadPlan:
    """A partition that several branches name is read as a whole, so that no row is read twice."""
    found: defaultdict[str, list[KeyQuery]] = defaultdict(list)
    for branch in branches:
        part = _plan(branch, hash_name, range_name, types)
        if part.queries is None:
            return ReadPlan(None, where)
        for query in part.queries:
            found[str(query.hash_values)].append(query)
    queries = [
        same[0] if len(same) == 1 else _query(same[0].hash_values[0], None)
        for same in found.values()
    ]
    return ReadPlan(queries, where)


def _extents(where: Node, hash_name: str, range_name: str | None, types: Types) -> Sequence[Extent]:
    """The parts into which OR and IN divide the selected rows; none if it is a scan.

    A part with another condition of the sort key, such as a negated one, is left out: the service
    does not compare it.
    """
    found: list[Extent] = []
    alternatives = list(islice(_alternatives(where, {hash_name, range_name}), _EXTENTS_MAX + 1))
    if len(alternatives) > _EXTENTS_MAX:
        return ()
    for alternative in alternatives:
        tests = [_test_of(node) for node in alternative]
        hashes = [test for test in tests if test and _is_equality_test(test, hash_name)]
        if not hashes:
            return ()
        sorts = [test for node in alternative if (test := _sort_test(node, range_name))]
        for test in chain(hashes, sorts):
            _check_type(test, types)
        if len(sorts) == sum(range_name in _names_in([node]) for node in alternative):
            found.extend(islice(_divided(hashes, sorts), _EXTENTS_MAX + 1 - len(found)))
        if len(found) > _EXTENTS_MAX:
            return ()
    return found if len(found) > 1 else ()


def _alternatives(node: Node, keys: set[str | None]) -> Iterator[tuple[Node, ...]]:
    """The conditions of each way in which a clause may hold.

    An OR that names no key is one condition.
    """
    if isinstance(node, Operation) and node.operator == "AND":
        ways = [list(islice(_alternatives(n, keys), _EXTENTS_MAX + 1)) for n in node.operands]
        return (tuple(chain(*way)) for way in product(*ways))
    if isinstance(node, Operation) and node.operator == "OR" and keys & {*_names_in([node])}:
        return chain.from_iterable(_alternatives(operand, keys) for operand in node.operands)
    return iter([(node,)])


def _divided(hashes: Sequence[_Test], sorts: Sequence[_Test]) -> Iterator[Extent]:
    """One extent for each choice of values in the IN lists of one alternative."""
    for values in product(*(test.values for test in hashes)):
        named = [_query(value, None) for value in values]
        for tests in product(*map(_each_value, sorts)):
            yield (*named, *(_query(values[0], test) for test in tests))


def _each_value(test: _Test) -> list[_Test]:
    """IN as equalities."""
    if test.operator != "IN":
        return [test]
    return [_Test(test.name, "=", (value,)) for value in test.values]


def _query(value: AttributeValue, test: _Test | None) -> KeyQuery:
    if test is None:
        return KeyQuery([value], [], None, [])
    if test.operator == "=":
        return KeyQuery([value], list(test.values), None, [])
    return KeyQuery([value], [], test.operator, list(test.values))


def _partitions(node: Node, name: str, types: Types) -> list[AttributeValue] | None:
    """The values of the partition key that a condition allows, None if it allows all."""
    assert isinstance(node, Operation), "a condition is an operation"
    if node.operator == "AND":
        return next((v for part in node.operands if (v := _partitions(part, name, types))), None)
    if node.operator == "OR":
        found = [_partitions(part, name, types) for part in node.operands]
        known = [value for values in found for value in values or ()]
        return _distinct(known) if all(found) else None
    test = _test_of(node)
    if test is None or not _is_equality(node, name):
        return None
    _check_type(test, types)
    return _distinct(test.values)


def _is_equality(node: Node, name: str) -> bool:
    test = _test_of(node)
    return test is not None and _is_equality_test(test, name)


def _is_equality_test(test: _Test, name: str) -> bool:
    return test.name == name and test.operator in ("=", "IN")


def _distinct(values: Sequence[AttributeValue]) -> list[AttributeValue]:
    return list({str(value): value for value in values}.values())


def _sort_test(node: Node, name: str | None) -> _Test | None:
    test = _test_of(node)
    return test if test and test.name == name and test.operator in _SORT_TESTS else None


def _test_of(node: Node) -> _Test | None:
    """The test that a condition makes, if it compares one attribute with values."""
    assert isinstance(node, Operation), "a condition is an operation"
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
    """The conditions that AND or OR joins, including those in nested parentheses."""
    found: list[Node] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Operation) and node.operator == operator:
            waiting.extend(reversed(node.operands))
        else:
            found.append(node)
    return found


def _names_in(nodes: Sequence[Node]) -> tuple[str, ...]:
    """The top-level attributes that conditions name, in the order of the text."""
    paths = (found for node in nodes for found in walk(node) if isinstance(found, Path))
    return tuple(dict.fromkeys(str(path.parts[0]) for path in paths))
