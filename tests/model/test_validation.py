"""The careful validator: `refusals.txt` is its table of errors in order of precedence."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from comparing import ratio
from hypothesis import given
from hypothesis import strategies as st

from hashrange.model.errors import ApiError, SerializationException, ValidationException
from hashrange.model.validation import java, shapes, validate

DEEP = 10_000


def refusals() -> list[Any]:
    """(operation, body, error, message) of each case; the same message may hold for several."""
    text = Path(__file__).with_name("refusals.txt").read_text()
    cases = [case for case in text.split("\n\n") if not case.startswith("#")]
    parsed = []
    for case in cases:
        request, refusal = case.strip().split("\n")
        operation, _, body = request.partition(" ")
        error, _, message = refusal.partition(" ")
        parsed.append(pytest.param(operation, body, error, message, id=request[:60]))
    return parsed


def refused(operation: str, body: bytes) -> ApiError:
    with pytest.raises(ApiError) as raised:
        validate(operation, body)
    return raised.value


@pytest.mark.parametrize(("operation", "body", "error", "message"), refusals())
def test_refusal(operation: str, body: str, error: str, message: str) -> None:
    refusal = refused(operation, body.encode())
    assert (refusal.code, refusal.message) == (error, message.replace("\\n", "\n"))


@pytest.mark.parametrize(
    "body",
    [
        b'{"TableName":"\xff"}',
        b'{"TableName":"\xed\xa0\x80"}',
        b'\xef\xbb\xbf{"TableName":"abc","Item":{}}',
        '{"TableName":"abc","Item":{}}'.encode("utf-16"),
        b"[" * DEEP,
        b'{"Unknown":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
        b'{"TableName":"abc","Item":{"a":' + b'{"L":[' * DEEP + b"]}" * DEEP + b"}}",
        b'{"Unknown":' + b"1" * 5000 + b"}",
        b"\0",
    ],
)
def test_hostile_bytes_are_no_request(body: bytes) -> None:
    assert isinstance(refused("PutItem", body), SerializationException)


JSON_PIECES = (
    *('{"TableName":"abc",', '"Item":{', '"a":', '{"S":"x"}', '{"L":[', '"Expected":', '"N":"1"'),
    *("{", "}", "[", "]", ",", ":", '"', "\\", "\\u12", "\\ud800", "1", "-", "1e9", ".5", "null"),
    *("true", " ", "\0", "é", "\ud7ff"),
)


@given(
    st.sampled_from(["PutItem", "Query", "TransactWriteItems", "CreateTable"]),
    st.lists(st.sampled_from(JSON_PIECES), max_size=30).map(lambda it: "".join(it).encode())
    | st.binary(max_size=40),
)
def test_any_bytes_are_refused_or_a_request(operation: str, body: bytes) -> None:
    with suppress(ApiError):
        assert isinstance(validate(operation, body), dict)


def test_one_request_too_many_is_printed_whole() -> None:
    requests: list[Any] = [{"DeleteRequest": {"Key": {}}}] * 26
    message = refused("BatchWriteItem", json.dumps({"RequestItems": {"abc": requests}}).encode())
    delete = "DeleteRequest(key={}, workloadProfileName=null)"
    printed = ", ".join([f"WriteRequest(putRequest=null, deleteRequest={delete})"] * 26)
    assert message.message == (
        f"1 validation error detected: Value '{{abc=[{printed}]}}' at 'requestItems' failed to "
        "satisfy constraint: Map value must satisfy constraint: [Member must have length less "
        "than or equal to 25, Member must have length greater than or equal to 1]"
    )


def test_only_the_beginning_of_a_long_value_is_printed() -> None:
    requests: list[Any] = [
        {"PutRequest": {"Item": {str(n): {"L": [{}] * 100} for n in range(50)}}}
    ] * 26
    body = json.dumps({"RequestItems": {"abc": requests}}).encode()
    message = refused("BatchWriteItem", body).message
    assert java.PRINTED_CHARS_MAX < len(message) < java.PRINTED_CHARS_MAX + 500
    assert message.endswith("Member must have length greater than or equal to 1]")


def test_too_many_keys_of_a_table() -> None:
    keys: dict[str, Any] = {"Keys": [{}] * 101}
    message = refused("BatchGetItem", json.dumps({"RequestItems": {"a.b.c": keys}}).encode())
    assert message.message == (
        "1 validation error detected: Value at 'RequestItems.a.b.c.member.Keys' failed to "
        "satisfy constraint: Member must have length less than or equal to 100"
    )


def test_names_and_arns_of_tables_have_different_lengths() -> None:
    def refusal(name: str) -> str:
        return refused("PutItem", json.dumps({"TableName": name, "Item": {}}).encode()).message

    assert refusal("a" * 256).endswith("Member must have length less than or equal to 255")
    assert refusal("arn:" + "a" * 1021).endswith(
        "Member must have length less than or equal to 1024"
    )
    for accepted in ("a" * 255, "arn:aws:dynamodb:us-east-1:000000000000:table/" + "a" * 255):
        body = {"TableName": accepted, "Item": {}}
        assert validate("PutItem", json.dumps(body).encode()) == body


def test_unknown_members_and_nulls_are_dropped() -> None:
    body = b"""{
        "Unknown": {"a": [1]}, "TableName": "abc", "Limit": 2.9, "Select": null, "IndexName": null,
        "ExclusiveStartKey": {"a": {"S": "x", "X": 1, "N": null}, "b": null}
    }"""
    assert validate("Scan", body) == {
        "TableName": "abc",
        "Limit": 2,
        "ExclusiveStartKey": {"a": {"S": "x"}, "b": {}},
    }


def test_every_pattern_of_the_model_is_valid_in_python() -> None:
    patterns = [shape for shape in shapes.tables().shapes.values() if shape.pattern]
    assert patterns
    for shape in patterns:
        assert shape.matcher


@pytest.mark.parametrize("letters", ["a", "0", "a.", "-", " "])
def test_no_pattern_takes_long_over_a_long_text(letters: str) -> None:
    matchers = [m for shape in shapes.tables().shapes.values() if (m := shape.matcher)]

    def match(length: int) -> None:
        for matcher in matchers:
            matcher.fullmatch(letters * length + "!\0")

    assert ratio(lambda: match(80_000), lambda: match(10_000)) < 3 * 8


@pytest.mark.parametrize("text", ["", "a", "ab", "a-", "-a", "a.b", "a_b", "a__b", "a.b-9", "a b"])
def test_names_of_buckets(text: str) -> None:
    shape = shapes.of("S3Bucket")
    assert shape.pattern
    assert shape.matcher
    assert bool(shape.matcher.fullmatch(text)) == bool(re.fullmatch(shape.pattern, text, re.ASCII))


@pytest.mark.parametrize("operation", shapes.tables().operations)
def test_every_operation_is_known(operation: str) -> None:
    required = shapes.of(shapes.of_request(operation)).required
    if required:
        assert isinstance(refused(operation, b"{}"), ValidationException)
    else:
        assert validate(operation, b"{}") == {}
