"""What holds for attribute values and names holds wherever a request has one.

Requests are made up from the service model, so no place is forgotten; each has one value or name
changed, and is answered as the service answers every such request.
"""

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hashrange.model import requests
from hashrange.model.errors import ApiError, SerializationException
from hashrange.model.validation import layers, parts, shapes, validate
from hashrange.model.values import EMPTY, EMPTY_NAME, SEVERAL
from hashrange.operations import OPERATIONS
from hashrange.operations.common.parse import decode

pytestmark = pytest.mark.slow

WITH_VALUES = sorted(layers.WITH_VALUES - {"TransactWriteItems"})
"""An action of a transaction may have values that no expression uses, which nobody looks at."""
UNREADABLE: list[tuple[Any, str]] = [
    ({}, EMPTY),
    ({"S": None}, EMPTY),
    (None, EMPTY),
    ({"S": "a", "N": "1"}, SEVERAL),
    ({"BOOL": True, "SS": ["a"], "L": None}, SEVERAL),
]
"""Values of no type or of several, and what is said of them."""
RARELY = [HealthCheck.filter_too_much]
"""Many requests that are drawn lack the members that a test is about."""


def has_boolean(name: str, seen: frozenset[str] = frozenset()) -> bool:
    """Whether there is a boolean in a shape."""
    shape = shapes.of(name)
    inside = {*shape.members.values(), shape.member, shape.value} - {"", *seen}
    return shape.kind == "boolean" or any(has_boolean(each, seen | inside) for each in inside)


WITH_BOOLEANS = sorted(
    name
    for name, shape in shapes.tables().operations.items()
    if hasattr(requests, name) and has_boolean(shape)
)
TRUE = ("true", "t", "yes", "y", "1")
FALSE = ("false", "f", "no", "n", "0")

values = st.recursive(
    st.sampled_from([{"S": "x"}, {"N": "1"}, {"BOOL": True}, {"NULL": True}, {"SS": ["a"]}]),
    lambda inner: (
        st.fixed_dictionaries({"L": st.lists(inner, max_size=2)})
        | st.fixed_dictionaries({"M": st.dictionaries(st.just("k"), inner, max_size=1)})
    ),
    max_leaves=4,
)


@st.composite
def requests_with_values(draw: st.DrawFn, operation: str) -> dict[str, Any]:
    """A request that satisfies the model, with as many attribute values as places for them."""

    def content(name: str) -> Any:
        shape = shapes.of(name)
        if name == parts.ATTRIBUTE_VALUE:
            return copy.deepcopy(draw(values))  # for it will be changed
        match shape.kind:
            case "structure":
                wanted = [m for m in shape.members if m in shape.required or draw(st.booleans())]
                return {member: content(shape.members[member]) for member in wanted}
            case "list":
                return [content(shape.member)]
            case "map":
                return {"abc": content(shape.value)}
            case "string":
                return min(shape.enum, key="NONE".__ne__) if shape.enum else "abc"
            case "boolean":
                return draw(st.booleans())
            case "blob":
                return "YQ=="
        return max(shape.min or 0, 1)

    request: dict[str, Any] = content(shapes.of_request(operation))
    return request


def slots(content: Any, name: str) -> Iterator[tuple[Any, Any, str]]:
    """(container, key, shape) of each part of a request."""
    shape = shapes.of(name)
    inside: list[tuple[Any, str]] = []
    match shape.kind:
        case "structure":
            inside = [(key, shape.members[key]) for key in content]
        case "list":
            inside = [(number, shape.member) for number in range(len(content))]
        case "map":
            inside = [(key, shape.value) for key in content]
    for key, its_shape in inside:
        yield content, key, its_shape
        yield from slots(content[key], its_shape)


def drawn_slot(data: st.DataObject, request: Any, operation: str, *kinds: str) -> Any:
    """A place in the request whose shape is of this kind, or has this name."""
    found = [
        slot
        for slot in slots(request, shapes.of_request(operation))
        if slot[2] in kinds or shapes.of(slot[2]).kind in kinds
    ]
    assume(found)
    return data.draw(st.sampled_from(found))


def refusal(operation: str, request: Any) -> ApiError:
    with pytest.raises(ApiError) as raised:
        OPERATIONS[operation].request(msgspec.json.encode(request))
    return raised.value


@pytest.mark.parametrize("operation", WITH_BOOLEANS)
@settings(max_examples=60, deadline=None, suppress_health_check=RARELY)
@given(data=st.data())
@pytest.mark.deep
def test_some_strings_are_booleans(operation: str, data: st.DataObject) -> None:
    """Wherever the model has a boolean, in capitals or not; no other string is one."""
    request = data.draw(requests_with_values(operation))
    container, key, _ = drawn_slot(data, request, operation, "boolean")
    plain, truth = copy.deepcopy(request), data.draw(st.booleans())
    container[key] = truth
    type_ = getattr(requests, operation)
    expected = decode(msgspec.json.encode(request), type_)
    text = data.draw(st.sampled_from(TRUE if truth else FALSE))
    container[key] = "".join(data.draw(st.sampled_from([c, c.upper()])) for c in text)
    written = decode(msgspec.json.encode(request), type_)
    assert msgspec.to_builtins(written) == msgspec.to_builtins(expected), plain
    container[key] = data.draw(st.sampled_from(["", " no", "on", "off", "2", "null", "truee"]))
    with pytest.raises(SerializationException, match="Unexpected token received from parser"):
        decode(msgspec.json.encode(request), type_)


@pytest.mark.parametrize("operation", WITH_VALUES)
@settings(max_examples=80, deadline=None, suppress_health_check=RARELY)
@given(data=st.data())
def test_a_value_of_no_type_or_two_is_refused_everywhere(
    operation: str, data: st.DataObject
) -> None:
    """Bare, before what else is wrong; null counts for nothing."""
    request = data.draw(requests_with_values(operation))
    container, key, _ = drawn_slot(data, request, operation, parts.ATTRIBUTE_VALUE)
    value, text = data.draw(st.sampled_from(UNREADABLE))
    assume(value is not None or key != "Value")  # such a member is absent
    container[key] = value
    told = refusal(operation, request).message
    if operation in layers.NEWER:
        assert text in told
        assert not told.startswith("1 validation error detected")
    container[key] = {"S": "a", "N": None, "M": None}
    read = validate(operation, msgspec.json.encode(request))
    container[key] = {"S": "a"}
    assert read == validate(operation, msgspec.json.encode(request))


@pytest.mark.parametrize("operation", sorted(layers.NEWER))
@settings(max_examples=80, deadline=None, suppress_health_check=RARELY)
@given(data=st.data())
def test_an_empty_attribute_name_is_refused_everywhere(operation: str, data: st.DataObject) -> None:
    """Also of a value in a map, and in a list of names; filters alone may have one."""
    request = data.draw(requests_with_values(operation))
    names = [
        name
        for name, shape in shapes.tables().shapes.items()
        if "AttributeName" in (shape.key, shape.member)
        and name not in ("FilterConditionMap", "KeyConditions")
    ]
    container, key, _ = drawn_slot(data, request, operation, *names)
    if isinstance(container[key], list):
        container[key] = ["abc", ""]
    else:
        container[key] = {"": next(iter(container[key].values()), {"S": "x"}), **container[key]}
    told = refusal(operation, request).message
    assert told.removeprefix("1 validation error detected: ") == EMPTY_NAME
    assert told.startswith("1 ") == (operation in layers.SINGLE_WRITES)


@pytest.mark.parametrize("number", [2**31, 2**40, 2**63, 2**80, 1e300])
def test_integers_are_cut_to_32_bits(number: float) -> None:
    body = msgspec.json.encode({"TableName": "abc", "Limit": 1, "TotalSegments": 1, "Segment": 0})
    body = body.replace(b'"Limit":1', b'"Limit":%d' % int(number))
    assert decode(body, requests.Scan).limit == 2**31 - 1
