"""Attribute values in wire form, as an item holds them: {"S": "x"}, {"N": "12"}, {"L": [...]}.

The decoder has checked that each member of a value is a known tag with content of its JSON type. If
the decoder refuses a request, `hashrange.model.validation` determines the service's error. This
module checks the content: exactly one member, base64, numbers, sets, nesting. `normalize` makes a
value canonical: each number has one spelling, so texts are equal exactly if their numbers are.

Sizes are DynamoDB's, in bytes, without the 100 bytes that storage metering adds. Source: developer
guide, service quotas and capacity unit calculations. The messages were observed.
"""

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypedDict

from msgspec import Meta, json

from hashrange.model import limits, numbers
from hashrange.model.errors import SerializationException, ValidationException

if TYPE_CHECKING:
    AttributeValue = dict[str, Any]
else:
    # With this type, the decoder checks JSON types and drops unknown members in its one pass.
    # Its result is a plain dict.
    _Name = Annotated[str, Meta(max_length=limits.ATTRIBUTE_NAME_BYTES_MAX)]

    class AttributeValue(TypedDict, total=False):
        S: str
        N: str
        B: str
        BOOL: bool
        NULL: bool
        M: dict[_Name, "AttributeValue"]
        L: list["AttributeValue"]
        SS: list[str]
        NS: list[str]
        BS: list[str]


Item = dict[str, AttributeValue]

EMPTY_NAME = "Empty attribute name"
SUPPLIED = "Supplied AttributeValue"
EMPTY = f"{SUPPLIED} is empty, must contain exactly one of the supported datatypes"
SEVERAL = (
    f"{SUPPLIED} has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)
NESTED_TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)
BAD_BASE64 = "Invalid last non-pad Base64 character dectected"
"""The service's message (sic) for any invalid character in base64."""
INVALID = "One or more parameter values were invalid: "


def normalize_item(item: Item) -> int:
    """Check a decoded item, make it canonical in place, and return its size in bytes.

    Raises ValidationException, or SerializationException for invalid base64.
    """
    size = 0
    if "" in item:
        raise ValidationException(EMPTY_NAME)
    for name, value in item.items():
        size += len(name) if name.isascii() else len(name.encode())
        try:
            [(tag, content)] = value.items()
        except ValueError:
            _refuse_members(value, 1)
        if tag == "S":  # the usual case: a call would cost as much as the rest
            size += len(content) if content.isascii() else len(content.encode())
        else:
            size += _NORMALIZE[tag](content, value, 1)
    return size


def normalize(value: AttributeValue, level: int = 1) -> int:
    """Check one decoded value at nesting level `level`, make it canonical in place, return its
    size."""
    try:
        [(tag, content)] = value.items()
    except ValueError:
        _refuse_members(value, level)
    return _NORMALIZE[tag](content, value, level)


def item_size(item: Item) -> int:
    """Size in bytes of a canonical item."""
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else len(name.encode())
        [(tag, content)] = value.items()
        if tag == "S":  # the usual case, as above
            size += len(content) if content.isascii() else len(content.encode())
        else:
            size += _SIZE[tag](content)
    return size


def value_size(value: AttributeValue) -> int:
    """Size in bytes of a canonical value."""
    [(tag, content)] = value.items()
    return _SIZE[tag](content)


def text_size(text: str) -> int:
    """UTF-8 bytes of a text."""
    return len(text) if text.isascii() else len(text.encode())


def binary_size(text: str) -> int:
    """The number of bytes encoded in a canonical base64 text."""
    return len(text) // 4 * 3 - text.count("=", -2)


def equal(a: AttributeValue, b: AttributeValue) -> bool:
    """Whether two canonical values are equal. Values are compared deeply, and sets in any order."""
    if a == b:
        return True
    [(tag, x)], [(other, y)] = a.items(), b.items()
    if tag != other or tag not in _EQUAL or len(x) != len(y):
        return False
    return _EQUAL[tag](x, y)


def is_among(elements: list[AttributeValue], value: AttributeValue) -> bool:
    """Whether `value` equals one of the elements. All are canonical values."""
    if value in elements:  # a loop in C; its `==` is enough for most types
        return True
    [kind] = value
    return kind in _EQUAL and any(equal(element, value) for element in elements)


def compare(a: AttributeValue, b: AttributeValue) -> int | None:
    """A negative number if a < b, 0 if a = b, a positive number if a > b; None without an order.

    Strings are ordered by their UTF-8 bytes (the order of code points), binaries by their bytes.
    """
    [(tag, x)], [(other, y)] = a.items(), b.items()
    if tag != other or tag not in _ORDER:
        return None
    x, y = _ORDER[tag](x), _ORDER[tag](y)
    return int(x > y) - int(x < y)


def in_order(kind: str, members: Iterable[str]) -> list[str]:
    """The members of a set of this type in the order in which DynamoDB returns them."""
    return sorted(members, key=_ORDER[kind[0]])


# ---- one function per tag: check, make canonical in place, return the size ----


def _string(text: str, value: AttributeValue, level: int) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _number(text: str, value: AttributeValue, level: int) -> int:
    canonical = numbers.canonical(text)
    if canonical is not text:
        value["N"] = canonical
    return numbers.size(canonical)


def _binary(text: str, value: AttributeValue, level: int) -> int:
    check_base64(text)
    return binary_size(text)


def _boolean(content: bool, value: AttributeValue, level: int) -> int:
    return 1


def _null(content: bool, value: AttributeValue, level: int) -> int:
    if not content:
        raise ValidationException(
            INVALID + "Null attribute value types must have the value of true"
        )
    return 1


def _map(members: Item, value: AttributeValue, level: int) -> int:
    if members and level == limits.NESTING_LEVELS_MAX:
        raise ValidationException(NESTED_TOO_DEEP)
    if "" in members:
        raise ValidationException(EMPTY_NAME)
    size = limits.CONTAINER_BYTES + limits.CONTAINER_MEMBER_BYTES * len(members)
    for name, member in members.items():
        size += text_size(name) + normalize(member, level + 1)
    return size


def _list(elements: list[AttributeValue], value: AttributeValue, level: int) -> int:
    if elements and level == limits.NESTING_LEVELS_MAX:
        raise ValidationException(NESTED_TOO_DEEP)
    size = limits.CONTAINER_BYTES + limits.CONTAINER_MEMBER_BYTES * len(elements)
    for element in elements:
        size += normalize(element, level + 1)
    return size


def _string_set(members: list[str], value: AttributeValue, level: int) -> int:
    if not members:
        raise ValidationException(INVALID + "An string set  may not be empty")
    if len(set(members)) != len(members):
        raise _duplicates(members, "SS", ", ", " contains duplicates.")
    members.sort()
    return _string_set_size(members)


def _number_set(members: list[str], value: AttributeValue, level: int) -> int:
    if not members:
        raise ValidationException(INVALID + "An number set  may not be empty")
    canonical = {numbers.canonical(member) for member in members}
    if len(canonical) != len(members):
        fault = "Input collection contains duplicates"
        raise ValidationException(f"{INVALID}{fault}.", legacy=fault)
    size = _number_set_size(canonical)
    # A set too large for any item is refused later, and millions of numbers take long to sort.
    fits = size <= limits.ITEM_BYTES_MAX
    value["NS"] = in_order("NS", canonical) if fits else list(canonical)
    return size


def _binary_set(members: list[str], value: AttributeValue, level: int) -> int:
    for member in members:
        check_base64(member)
    if not members:
        raise ValidationException(INVALID + "Binary sets should not be empty")
    if len(set(members)) != len(members):
        raise _duplicates(members, "BS", ",", "of type BS contains duplicates.")
    value["BS"] = in_order("BS", members)
    return _binary_set_size(members)


def _duplicates(members: list[str], kind: str, comma: str, fault: str) -> ValidationException:
    """The error for a set with duplicates. Its message lists the members before the first duplicate
    in DynamoDB's order. The duplicate and all later members follow in the order in which they were
    sent."""
    seen: set[str] = set()
    for member in members:
        if member in seen:
            break
        seen.add(member)
    listed = in_order(kind, seen) + members[len(seen) :]
    quoted = comma.join(json.encode(member).decode() for member in listed)
    return ValidationException(
        f"{INVALID}Input collection [{quoted}]{fault}",
        legacy=f"{INVALID}Input collection [{', '.join(members)}]{fault}",
    )


_NORMALIZE: dict[str, Callable[[Any, AttributeValue, int], int]] = {
    "S": _string,
    "N": _number,
    "B": _binary,
    "BOOL": _boolean,
    "NULL": _null,
    "M": _map,
    "L": _list,
    "SS": _string_set,
    "NS": _number_set,
    "BS": _binary_set,
}

_CHECKED_FIRST = ("SS", "NS", "BS", "N", "NULL", "S", "B", "BOOL", "M", "L")
"""The order in which the service reads a value that has several types."""


def _refuse_members(value: AttributeValue, level: int) -> NoReturn:
    """Refuse a value that has no member or several members. Errors inside members are reported
    first."""
    for tag in sorted(value, key=_CHECKED_FIRST.index):
        _NORMALIZE[tag](value[tag], value, level)
    raise ValidationException(SEVERAL if value else EMPTY)


def check_base64(text: str) -> None:
    """Raise SerializationException if the text has invalid characters, a wrong length or stray
    bits."""
    if len(text) % 4:
        raise SerializationException(
            f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}"
        )
    try:
        content = a2b_base64(text, strict_mode=True)
    except ValueError:
        raise SerializationException(BAD_BASE64) from None
    padded = content[-(len(content) % 3) :] if len(content) % 3 else b""
    if padded and not text.endswith(b2a_base64(padded, newline=False).decode()):
        raise SerializationException(BAD_BASE64)


# ---- sizes of canonical values ----


def _map_size(members: Item) -> int:
    pairs = limits.CONTAINER_MEMBER_BYTES * len(members)
    return limits.CONTAINER_BYTES + pairs + item_size(members)


def _list_size(elements: list[AttributeValue]) -> int:
    inside = sum(limits.CONTAINER_MEMBER_BYTES + value_size(element) for element in elements)
    return limits.CONTAINER_BYTES + inside


def _string_set_size(members: list[str]) -> int:
    return limits.SET_BYTES + sum(map(text_size, members))


def _number_set_size(members: Iterable[str]) -> int:
    return limits.SET_BYTES + sum(map(numbers.size, members))


def _binary_set_size(members: list[str]) -> int:
    return limits.SET_BYTES + sum(map(binary_size, members))


_SIZE: dict[str, Callable[[Any], int]] = {
    "S": text_size,
    "N": numbers.size,
    "B": binary_size,
    "BOOL": lambda content: 1,
    "NULL": lambda content: 1,
    "M": _map_size,
    "L": _list_size,
    "SS": _string_set_size,
    "NS": _number_set_size,
    "BS": _binary_set_size,
}


# ---- equality and order ----


def _equal_maps(a: Item, b: Item) -> bool:
    return a.keys() == b.keys() and all(equal(a[name], b[name]) for name in a)


def _equal_lists(a: list[AttributeValue], b: list[AttributeValue]) -> bool:
    return all(map(equal, a, b))


def _equal_sets(a: list[str], b: list[str]) -> bool:
    return set(a).issuperset(b)  # they have the same length and no duplicates


_EQUAL: dict[str, Callable[[Any, Any], bool]] = {
    "M": _equal_maps,
    "L": _equal_lists,
    "SS": _equal_sets,
    "NS": _equal_sets,
    "BS": _equal_sets,
}
"""Maps types whose equal values may differ in wire form to functions that compare values."""

_ORDER: dict[str, Callable[[str], Any]] = {"S": str, "N": numbers.to_decimal, "B": a2b_base64}
"""Maps the ordered types to functions that return the sort key of a value."""
