"""Breaks each constraint of the service model once, in an otherwise minimal request.

The requests are made of botocore's copy of the model, so a member that the service is given
tomorrow is tested as soon as botocore knows it. How messages read is written down here; where
the service is known to depart from its own rule, in `QUIRKS`.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from botocore.model import Shape

from .raw import Wire
from .service_model import (
    ABSENT,
    KEY,
    Place,
    example,
    input_shapes,
    places,
    repeated,
    request,
    string,
)

TARGETS = sorted(input_shapes().keys() - {"DynamoDB_20120810.SearchVectors"})
"""SearchVectors has a parser of its own."""
VALIDATION = "com.amazon.coral.validate#ValidationException"

NOT_NULL = "Member must not be null"
ENUM = "Member must satisfy enum value set: "
LENGTH = "Member must have length {} than or equal to {}"
VALUE = "Member must have value {} than or equal to {}"
NOT_EMPTY = LENGTH.format("greater", 1)
PATTERN = "Member must satisfy regular expression pattern: "

TABLE_NAME = {"min": 3, "max": 255, "pattern": "[a-zA-Z0-9_.-]+"}
"""What holds for a TableArn that is no ARN but a name, unless it is empty."""

IN_OWN_WORDS = (
    *("TagKeyString", "TagValueString", "TableClass", "BackupArn", "ExportArn", "ImportArn"),
)
MISSED_IN_OWN_WORDS = ("Tag", "TagResourceInput", "UntagResourceInput", "ListTagsOfResourceInput")
"""Shapes whose constraints, or missing members, operations notice by themselves, later."""

STRICTER = {"KMSMasterKeyId": {"min": 1}}
"""Constraints that the model does not have."""

NO_MATCH = {"CsvHeader": 'a"b', "AutoScalingRoleArn": "a\0b", "AutoScalingPolicyName": "a\0b"}
"""Strings that break a pattern to which "$" is welcome."""

PYTHON_PATTERNS = {
    r"\p{Print}+": r"[ -~]+",
    r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*": r"[^\0-\x08]*",
}
"""What Python spells otherwise, as far as it matters here."""

ONE = "1 validation error detected: "
NEWER = ONE + "Value at '{}' failed to satisfy constraint: {}"
KEYS_OF_A_TABLE = f"requestItems.{KEY}.member.keys"
RETURN_VALUES = (
    f"Failed to satisfy constraint: {ENUM}[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
)
NO_CONDITIONS = "ConditionalOperator cannot be used without Filter or Expected"
INVALID = "One or more parameter values were invalid: "
SINGLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
NULL_IN_SET = {
    ".sS.1.member": "An string set may not have a null string as a member",
    ".nS.1.member": "An number set may not have a null string as a member",
    ".bS.1.member": "Binary sets may not contain null values",
}
QUIRKS: dict[tuple[str, str, str], str] = {
    **{
        (operation, "tableName", NOT_NULL): (
            "The parameter 'TableName' is required but was not present in the request"
        )
        for operation in (
            *("CreateTable", "DescribeTable", "UpdateTable", "DeleteTable"),
            *("DescribeTimeToLive", "UpdateTimeToLive"),
        )
    },
    **{
        (operation, "tableName", NOT_EMPTY): NEWER.format("TableName", NOT_EMPTY)
        for operation in (*SINGLE_WRITES, "GetItem", "Query", "Scan")
    },
    **{(operation, "returnValues", ENUM): ONE + RETURN_VALUES for operation in SINGLE_WRITES},
    **{
        (operation, "conditionalOperator", ENUM): ONE + NO_CONDITIONS for operation in SINGLE_WRITES
    },
    **{(operation, "conditionalOperator", ENUM): NO_CONDITIONS for operation in ("Query", "Scan")},
    **{
        (operation, f"expected.{KEY}.member.comparisonOperator", ENUM): (
            f"{ONE}{INVALID}Value or AttributeValueList must be used with ComparisonOperator: …"
        )
        for operation in SINGLE_WRITES
    },
    **{
        (operation, f"{member}.{KEY}.member.comparisonOperator", ENUM): (
            f"{INVALID}Invalid comparison operator"
        )
        for operation, member in (
            ("Query", "keyConditions"),
            ("Query", "queryFilter"),
            ("Scan", "scanFilter"),
        )
    },
    ("UpdateItem", f"attributeUpdates.{KEY}.member.action", ENUM): (
        f"{ONE}{ENUM}[ADD, DELETE, PUT]' for Action"
    ),
    ("UpdateItem", "returnConsumedCapacity", ENUM): f"Value … at '…' failed to …: {ENUM}…",
    ("UpdateItem", "returnValuesOnConditionCheckFailure", ENUM): (
        f"Value … at '…' failed to …: {ENUM}…"
    ),
    **{
        ("Scan", member, VALUE.format(*bound)): NEWER.format(
            member[0].upper() + member[1:], VALUE.format(*bound)
        )
        for member, bound in (
            ("limit", ("greater", 1)),
            ("segment", ("greater", 0)),
            ("segment", ("less", 999_999)),
            ("totalSegments", ("greater", 1)),
            ("totalSegments", ("less", 1_000_000)),
        )
    },
    **{
        ("BatchGetItem", KEYS_OF_A_TABLE, constraint): NEWER.format(
            f"RequestItems.{KEY}.member.Keys", constraint
        )
        for constraint in (NOT_EMPTY, LENGTH.format("less", 100))
    },
    ("BatchGetItem", "requestItems", NOT_EMPTY): NEWER.format("RequestItems", NOT_EMPTY),
    ("BatchWriteItem", "requestItems", NOT_EMPTY): (
        "The requestItems parameter is required for BatchWriteItem"
    ),
    ("Query", "limit", VALUE.format("greater", 1)): NEWER.format(
        "Limit", VALUE.format("greater", 1)
    ),
    **{
        (operation, path, constraint): (
            f"{called} must be at least 3 characters long and at most 255 characters long"
        )
        for operation, path, called in (
            ("DescribeContributorInsights", "indexName", "IndexName"),
            ("UpdateContributorInsights", "indexName", "IndexName"),
            ("DescribeGlobalTable", "globalTableName", "TableName"),
            ("DescribeGlobalTableSettings", "globalTableName", "TableName"),
            ("RestoreTableFromBackup", "targetTableName", "TableName"),
        )
        for constraint in (LENGTH.format("greater", 3), LENGTH.format("less", 255))
    },
    **{
        (operation, path, LENGTH.format("greater", 37)): "Invalid StreamArn"
        for operation, path in (
            ("DescribeStream", "streamArn"),
            ("GetShardIterator", "streamArn"),
            ("ListStreams", "exclusiveStartStreamArn"),
        )
    },
}
"""The whole message, by operation, path and constraint."""

REORDERED = (
    *("PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan"),
    *("BatchGetItem", "BatchWriteItem", "TransactWriteItems"),
    *("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"),
    *("CreateTable", "UpdateTable", "ListTables"),
)
"""Operations that were seen to report members in another order than the model's."""
IN_STAGES = ("UpdateItem", "Query", "Scan")
"""Operations that do not report the faults of all members together: see `captured.txt`."""


class Fault(NamedTuple):
    """The value of one place of a request, and the constraints that it breaks at each path."""

    place: Place
    content: Any
    path: str
    constraints: list[str]

    @property
    def texts(self) -> list[str]:
        """… stands for any value: how structures are printed is tested elsewhere."""
        value = "null" if self.content in (ABSENT, None) else f"'{printed(self.content)}'"
        return [
            f"Value {value} at '{self.path}' failed to satisfy constraint: {constraint}"
            for constraint in self.constraints
        ]


def printed(content: Any) -> str:
    if not content and isinstance(content, dict | list):
        return "{}" if isinstance(content, dict) else "[]"
    return "…" if isinstance(content, dict | list) else str(content)


# ---- what breaks a constraint ----


def rules(shape: Shape, value: Any) -> dict[str, Any]:
    if shape.name in IN_OWN_WORDS:
        return {}
    if shape.name == "TableArn" and value:
        return TABLE_NAME
    return dict(shape.metadata) | STRICTER.get(shape.name, {})


def broken(shape: Shape, value: Any) -> list[str]:
    """The constraints of a shape that a value breaks, in the service's order."""
    rule = rules(shape, value)
    size, text = (value, VALUE) if isinstance(value, int) else (len(value), LENGTH)
    pattern = rule.get("pattern")
    found = [enum(rule)] if "enum" in rule and value not in rule["enum"] else []
    if pattern and not re.fullmatch(PYTHON_PATTERNS.get(pattern, pattern), value, re.ASCII):
        found.append(PATTERN + pattern)
    if size < rule.get("min", size):
        found.append(text.format("greater", rule["min"]))
    if size > rule.get("max", size):
        found.append(text.format("less", rule["max"]))
    return found


def enum(rule: dict[str, Any]) -> str:
    return f"{ENUM}[{', '.join(rule['enum'])}]"


def in_collection(shape: Shape, value: Any) -> str:
    """How a collection tells the constraints of what is in it: all of them, in another order."""
    rule = rules(shape, value)
    every = [enum(rule)] if "enum" in rule else []
    if "max" in rule:
        every.append(LENGTH.format("less", rule["max"]))
    if "min" in rule:
        every.append(LENGTH.format("greater", rule["min"]))
    if "pattern" in rule:
        every.append(PATTERN + rule["pattern"])
    return f"must satisfy constraint: [{', '.join(every)}]"


def bad_values(shape: Shape) -> Iterator[Any]:
    """Values of which each breaks a constraint of the shape; all that it has are broken."""
    rule = rules(shape, "a name")
    if "enum" in rule:
        yield from ("BOGUS", "")
    if "pattern" in rule:
        yield NO_MATCH.get(shape.name) or "$" + string(shape)[1:]
    if rule.get("min") is not None and not (rule["min"] == 0 and shape.type_name == "string"):
        yield of_size(shape, rule["min"] - 1)
    if "max" in rule:
        yield of_size(shape, rule["max"] + 1)


def of_size(shape: Shape, size: int) -> Any:
    match shape.type_name:
        case "string":
            return (string(shape) * size)[:size]
        case "list" | "map":
            return repeated(shape, size)
        case _:
            return size


def faults(place: Place) -> Iterator[Fault]:
    shape, parent = place.shape, place.parent
    if parent is None:
        return
    if place.required and parent.shape.name not in MISSED_IN_OWN_WORDS:
        yield from (Fault(place, nothing, place.path, [NOT_NULL]) for nothing in (ABSENT, None))
    elif not place.is_member and shape.type_name != "structure":
        yield Fault(place, None, place.path, [NOT_NULL])
    for value in bad_values(shape):
        if place.is_member:
            yield Fault(place, value, place.path, broken(shape, value))
        else:
            part = "Member" if parent.shape.type_name == "list" else "Map value"
            told = f"{part} {in_collection(shape, value)}"
            yield Fault(parent, inside(parent.shape, value), parent.path, [told])
    if shape.type_name == "map":
        for key in bad_values(shape.key):
            told = f"Map keys {in_collection(shape.key, key)}"
            yield Fault(place, {key: example(shape.value)}, place.path, [told])


def inside(collection: Shape, value: Any) -> Any:
    return [value] if collection.type_name == "list" else {KEY: value}


TOLD_ALONE = ("transactItems", "transactStatements")
"""The lists whose length is told before everything else, and by itself."""

# ---- the tests ----


def listed(texts: list[str]) -> str:
    return f"{len(texts)} validation error{'s' * (len(texts) > 1)} detected: {'; '.join(texts)}"


def expected(operation: str, fault: Fault) -> str:
    for constraint in fault.constraints:
        known = ENUM if constraint.startswith(ENUM) else constraint
        if quirk := QUIRKS.get((operation, fault.path, known)):
            return quirk
    if told := NULL_IN_SET.get(fault.path[-len(".sS.1.member") :]):
        envelope = ONE if operation in SINGLE_WRITES else ""
        return f"{envelope}One or more parameter values were invalid: {told}"
    return listed(fault.texts)


def same(expected: str, seen: str) -> bool:
    """In what is expected … stands for any text; the values of an enum come in any order."""
    pattern = ".*".join(map(re.escape, in_order(expected).split("…")))
    return re.fullmatch(pattern, in_order(seen), re.DOTALL) is not None


def in_order(message: str) -> str:
    """With the values of each enum sorted."""
    return re.sub(
        rf"(?<={ENUM}\[)[^]]*", lambda found: ", ".join(sorted(found[0].split(", "))), message
    )


@pytest.mark.parametrize("target", TARGETS)
def test_one_fault(wire: Wire, target: str) -> None:
    operation = target.partition(".")[2]
    found = [fault for place in places(target) for fault in faults(place)]
    answers = wire.pipeline(target, (request(fault.place, fault.content) for fault in found))
    wrong = []
    for fault, answer in zip(found, answers, strict=True):
        wanted = expected(operation, fault)
        if answer.get("__type") != VALIDATION or not same(wanted, answer["message"]):
            wrong.append(f"{wanted}\n    seen: {answer}")
    assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:5])


@pytest.mark.parametrize("target", TARGETS)
def test_many_faults(wire: Wire, target: str) -> None:
    """A constraint of every member of the request is broken, where possible."""
    operation, [whole, *inside] = target.partition(".")[2], places(target)
    if operation in IN_STAGES:
        return
    found = {
        place.step: fault
        for place in inside
        if place.parent is whole
        for fault in faults(place)
        if fault.constraints and expected(operation, fault) == listed(fault.texts)
        # Here the table's name is reported only if nothing else is wrong.
        if operation != "BatchWriteItem" or not fault.constraints[0].startswith("Map keys")
        if fault.path not in TOLD_ALONE or fault.constraints == [NOT_NULL]
    }
    content = {step: fault.content for step, fault in found.items() if fault.content is not ABSENT}
    texts = [text for fault in found.values() for text in fault.texts]
    [answer] = wire.pipeline(target, [content])
    if not texts:
        assert "failed to satisfy constraint" not in answer.get("message", "")
        return
    head, _, told = answer["message"].partition(" detected: ")
    assert head == listed(texts[:10]).partition(" detected: ")[0]
    if operation in REORDERED:
        assert all(any(same(text, one) for text in texts) for one in told.split("; "))
    else:
        assert same("; ".join(texts[:10]), told)


@pytest.mark.parametrize("target", TARGETS)
def test_no_fault(wire: Wire, target: str) -> None:
    """The minimum and the maximum that a constraint allows, and each value of an enum."""
    fine = [(place, value) for place in places(target) for value in good_values(place.shape)]
    answers = wire.pipeline(target, (request(place, value) for place, value in fine))
    wrong = [
        f"{place.path}: {value!r:.80}: {answer!r:.300}"
        for (place, value), answer in zip(fine, answers, strict=True)
        if "failed to satisfy" in str(answer) or "InternalServerError" in str(answer)
    ]
    assert not wrong, "\n".join(wrong[:5])


def good_values(shape: Shape) -> Iterator[Any]:
    rule = rules(shape, "a name")
    sizes = [rule[bound] for bound in ("min", "max") if bound in rule]
    for value in rule.get("enum") or [of_size(shape, size) for size in sizes]:
        if not broken(shape, value):
            yield value
