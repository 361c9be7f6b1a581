"""How the service's messages name types and print values: the way Java does.

Source: messages observed on the service, e.g. `[KeySchemaElement(attributeName=pk, ...)]`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

from hashrange.model.validation import shapes
from hashrange.model.values import binary_size

PRINTED_CHARS_MAX = 256 * 1024
"""The largest number of characters of a value in a message. Without this limit, a request of 16 MB
could get a message of 100 MB."""

_PACKAGE = "com.amazonaws.dynamodb.v20120810."
_CLASSES = {
    "string": "java.lang.String",
    "blob": "java.nio.ByteBuffer",
    "boolean": "java.lang.Boolean",
    "integer": "java.lang.Integer",
    "long": "java.lang.Long",
    "double": "java.lang.Double",
    "timestamp": "java.util.Date",
}
_OF_ACTION = (
    *("TableName", "ConditionExpression", "ExpressionAttributeNames"),
    *("ExpressionAttributeValues", "ReturnValuesOnConditionCheckFailure", "WorkloadProfileName"),
)
_PRINTED_MEMBERS = {
    "AttributeValue": (
        *("S", "N", "B", "INT", "DECIMAL", "DOUBLE", "SS", "NS", "BS"),
        *("INTSET", "DECIMALSET", "DOUBLESET", "M", "L", "NULL", "BOOL"),
    ),
    "PutRequest": ("Item", "WorkloadProfileName"),
    "DeleteRequest": ("Key", "WorkloadProfileName"),
    "Get": (
        *("Key", "TableName", "ProjectionExpression", "ExpressionAttributeNames"),
        "WorkloadProfileName",
    ),
    "Put": ("Item", *_OF_ACTION),
    "Update": ("Key", "UpdateExpression", *_OF_ACTION),
    "Delete": ("Key", *_OF_ACTION),
    "ConditionCheck": ("Key", *_OF_ACTION),
    "TransactWriteItem": ("ConditionCheck", "Put", "Delete", "Update"),
}
"""Maps shapes to the members of their classes in the service, where the model's differ."""
_PRINTED_AS_JSON = {"BatchGetRequestMap"}


def class_name(name: str) -> str:
    """A shape's type with its parameters, as in `java.util.List<java.lang.String>`."""
    shape = shapes.of(name)
    if shape.kind == "list":
        return f"java.util.List<{class_name(shape.member)}>"
    if shape.kind == "map":
        return f"java.util.Map<{class_name(shape.key)}, {class_name(shape.value)}>"
    return _CLASSES.get(shape.kind, _PACKAGE + name)


def simple_name(name: str) -> str:
    """The last part of a shape's class name: `String`, `Integer`."""
    return class_name(name).rpartition(".")[2]


def member_name(name: str) -> str:
    """A member of the model as the service spells it: TableName -> tableName, SS -> sS."""
    return name[0].lower() + name[1:]


def printed(content: Any, name: str) -> str:
    """A value of this shape as `toString` prints it. A long text is cut off."""
    text, room = [], PRINTED_CHARS_MAX
    for piece in _pieces(content, name):
        text.append(piece[:room])
        room -= len(piece)
        if room <= 0:
            break
    return "".join(text)


def _pieces(content: Any, name: str) -> Iterator[str]:
    if content is None:
        yield "null"
        return
    if name in _PRINTED_AS_JSON:
        yield msgspec.json.encode(content).decode()
        return
    shape = shapes.of(name)
    if shape.kind == "list":
        yield from _enclosed("[]", (_pieces(element, shape.member) for element in content))
    elif shape.kind == "map":
        names = names_in_hash_order(list(content), len(content))
        pairs = (chain((f"{key}=",), _pieces(content[key], shape.value)) for key in names)
        yield from _enclosed("{}", pairs)
    elif shape.kind == "structure":
        yield name
        yield from _enclosed("()", _members(content, name, shape))
    elif shape.kind == "boolean":
        yield str(content).lower()
    elif shape.kind == "blob":
        length = binary_size(content)
        yield f"java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]"
    else:
        yield str(content)


def _members(content: dict[str, Any], name: str, shape: shapes.Shape) -> Iterator[Iterator[str]]:
    for member in _PRINTED_MEMBERS.get(name, tuple(shape.members)):
        value = _pieces(content.get(member), shape.members.get(member, ""))
        yield chain((f"{member_name(member)}=",), value)


def _enclosed(brackets: str, parts: Iterable[Iterable[str]]) -> Iterator[str]:
    yield brackets[0]
    for number, part in enumerate(parts):
        if number:
            yield ", "
        yield from part
    yield brackets[1]


# ---- the order of hash tables ----

BUCKETS_MIN = 16
"""The number of buckets of a Java HashSet that is created without a capacity."""

_BUCKET_LENGTH_MAX = 8
_BUCKETS_LENGTHENED_MAX = 64
"""The number of buckets below which a hash table is doubled when a bucket becomes longer than
`_BUCKET_LENGTH_MAX`."""


def names_in_hash_order(names: Sequence[str], buckets: int = BUCKETS_MIN) -> list[str]:
    """Distinct names in the order in which a HashSet iterates over them, if they were added in the
    order of `names`. `buckets` is the initial capacity of the HashSet."""
    return [names[at] for at in hash_order(list(map(_hash, names)), buckets)]


def hash_order(hashes: Sequence[int], buckets: int = BUCKETS_MIN) -> list[int]:
    """The indices of `hashes`, in the order in which a HashSet iterates over its elements.

    `hashes` are the 32-bit hash codes of the elements. `buckets` is the initial capacity of the
    HashSet, which is rounded up to a power of two.
    """
    buckets = 1 << (buckets - 1).bit_length()
    spread = [value ^ value >> 16 for value in hashes]
    lengths = Counter[int]()
    for count, value in enumerate(spread, 1):
        place = value % buckets
        lengths[place] += 1
        too_long = lengths[place] > _BUCKET_LENGTH_MAX and buckets < _BUCKETS_LENGTHENED_MAX
        if too_long or count > buckets * 3 // 4:
            buckets *= 2
            lengths = Counter(each % buckets for each in spread[:count])
    return sorted(range(len(spread)), key=lambda at: spread[at] % buckets)


def _hash(text: str) -> int:
    """String.hashCode in 32 bits."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = (31 * value + unit) & 0xFFFF_FFFF
    return value
