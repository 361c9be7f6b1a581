"""The protocol below the SDKs: headers, checksums, error bodies, and the order of the checks."""

import gzip
import http.client
import json
import re
import socket
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest

from .raw import HEADERS, ORIGIN, SCOPE, Answer, Wire
from .support import cases, definition, unique_name

KEY = {"pk": {"S": "a"}}


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    wire = Wire(url)
    yield wire
    wire.connection.close()


@pytest.fixture
def table(wire: Wire) -> Iterator[str]:
    name = unique_name()
    assert wire.call("CreateTable", TableName=name, **definition("pk")).status == 200
    yield name
    wire.call("DeleteTable", TableName=name)


def assert_headers(answer: Answer) -> None:
    assert answer.headers["Content-Type"] == "application/x-amz-json-1.0"
    assert re.fullmatch(r"[0-9A-Z]{52}", answer.headers["x-amzn-RequestId"])
    assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
    assert int(answer.headers["Content-Length"]) == len(answer.body)


def test_the_headers_of_an_answer(wire: Wire) -> None:
    answers = [wire.call("ListTables"), wire.call("GetItem")]
    assert [answer.status for answer in answers] == [200, 400]
    for answer in answers:
        assert_headers(answer)
    assert len({answer.headers["x-amzn-RequestId"] for answer in answers}) == 2


def test_a_connection_serves_many_requests(wire: Wire, table: str) -> None:
    for number in range(50):
        key = {"pk": {"S": f"p{number}"}}
        assert wire.call("PutItem", TableName=table, Item=key).json == {}
        assert wire.call("GetItem", TableName=table, Key=key).json == {"Item": key}


def test_pipelined_requests_are_answered_in_order(wire: Wire, table: str) -> None:
    """Writes take longer than reads, but the answers keep the order of the requests."""
    requests = [("PutItem", "Item"), ("GetItem", "Key"), ("DeleteItem", "Key"), ("GetItem", "Key")]
    message = b""
    for operation, member in requests:
        body = json.dumps({"TableName": table, member: KEY}).encode()
        headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = ["POST / HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *lines]
        message += "\r\n".join(head).encode() + b"\r\n\r\n" + body
    with socket.create_connection((wire.connection.host, wire.connection.port)) as sock:
        sock.sendall(message)
        with sock.makefile("rb") as stream:
            bodies = [read_body(stream) for _ in requests]
    assert bodies == [{}, {"Item": KEY}, {}, {}]


def read_body(stream: BinaryIO) -> Any:
    """The body of the next response of a stream."""
    assert stream.readline().startswith(b"HTTP/1.1 200")
    headers = http.client.parse_headers(stream)
    return json.loads(stream.read(int(headers["Content-Length"])))


def test_tagging_has_an_empty_answer(wire: Wire, table: str) -> None:
    """The service model defines no output for it."""
    arn = wire.call("DescribeTable", TableName=table).json["Table"]["TableArn"]
    tagged = wire.call("TagResource", ResourceArn=arn, Tags=[{"Key": "a", "Value": "b"}])
    untagged = wire.call("UntagResource", ResourceArn=arn, TagKeys=["a"])
    for answer in (tagged, untagged):
        assert (answer.status, answer.body) == (200, b"")
        assert_headers(answer)


# ---- compression ----


def test_a_long_answer_is_compressed_if_the_client_accepts_it(wire: Wire, table: str) -> None:
    item = {**KEY, "text": {"S": "x" * 50_000}}
    wire.call("PutItem", TableName=table, Item=item)
    body = json.dumps({"TableName": table, "Key": KEY}).encode()
    plain = wire.send("DynamoDB_20120810.GetItem", body, accept_encoding="identity")
    assert "Content-Encoding" not in plain.headers
    assert plain.json == {"Item": item}
    packed = wire.send("DynamoDB_20120810.GetItem", body, accept_encoding="gzip, deflate")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert_headers(packed)
    assert json.loads(gzip.decompress(packed.body)) == {"Item": item}


def test_a_request_may_be_compressed(wire: Wire, table: str) -> None:
    body = gzip.compress(json.dumps({"TableName": table, "Item": KEY}).encode())
    put = wire.send("DynamoDB_20120810.PutItem", body, content_encoding="gzip")
    assert (put.status, put.json) == (200, {})
    assert wire.call("GetItem", TableName=table, Key=KEY).json == {"Item": KEY}


def test_a_short_answer_is_not_compressed(wire: Wire) -> None:
    answer = wire.send(accept_encoding="gzip", body=b'{"Limit": 1}')
    assert "Content-Encoding" not in answer.headers


# ---- error bodies ----

MODELLED = "com.amazonaws.dynamodb.v20120810#"
SERVICE = "com.amazon.coral.service#"
VALIDATE = "com.amazon.coral.validate#"

# (type on the wire, operation, members, the member that has the message)
ERRORS: list[tuple[str, str, dict[str, Any], str]] = [
    (
        MODELLED + "ResourceNotFoundException",
        "GetItem",
        {"TableName": "absent-table", "Key": KEY},
        "message",
    ),
    (VALIDATE + "ValidationException", "ListTables", {"Limit": 0}, "message"),
    (SERVICE + "SerializationException", "ListTables", {"Limit": "x"}, "Message"),
    (SERVICE + "UnknownOperationException", "NoSuchOperation", {}, "message"),
]


@cases("kind, operation, members, message", ERRORS)
def test_the_body_of_an_error(
    wire: Wire, kind: str, operation: str, members: dict[str, Any], message: str
) -> None:
    answer = wire.call(operation, **members)
    assert answer.status == 400
    assert answer.json["__type"] == kind
    assert_headers(answer)
    if "Unknown" not in kind:
        assert answer.json[message]


def test_a_cancelled_transaction_has_its_reasons(wire: Wire, table: str) -> None:
    check = {"TableName": table, "Key": KEY, "ConditionExpression": "attribute_exists(pk)"}
    answer = wire.call("TransactWriteItems", TransactItems=[{"ConditionCheck": check}])
    assert answer.json == {
        "__type": MODELLED + "TransactionCanceledException",
        "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons"
        " [ConditionalCheckFailed]",
        "CancellationReasons": [
            {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
        ],
    }


def test_a_token_of_another_request_has_a_capital_message(wire: Wire, table: str) -> None:
    token = unique_name()[-36:]

    def write(key: str) -> Answer:
        put = {"TableName": table, "Item": {"pk": {"S": key}}}
        items = [{"Put": put}]
        return wire.call("TransactWriteItems", TransactItems=items, ClientRequestToken=token)

    assert write("a").json == {}
    assert write("b").json.keys() == {"__type", "Message"}


def test_a_failed_condition_has_the_item(wire: Wire, table: str) -> None:
    wire.call("PutItem", TableName=table, Item=KEY)
    answer = wire.call(
        "PutItem",
        TableName=table,
        Item=KEY,
        ConditionExpression="attribute_not_exists(pk)",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    assert answer.json == {
        "__type": MODELLED + "ConditionalCheckFailedException",
        "message": "The conditional request failed",
        "Item": KEY,
    }


# ---- types of members ----

# (operation, body, the whole message or None)
MISTYPED: list[tuple[str, str, str | None]] = [
    ("ListTables", '{"Limit": "x"}', None),
    ("ListTables", '{"Limit": true}', None),
    ("ListTables", '{"Limit": {}}', None),
    ("ListTables", '{"Limit": []}', None),
    (
        "ListTables",
        '{"ExclusiveStartTableName": 1}',
        "NUMBER_VALUE cannot be converted to String",
    ),
    ("ListTables", '{"ExclusiveStartTableName": {}}', None),
    ("ListTables", '{"ExclusiveStartTableName": []}', None),
    ("GetItem", '{"Key": "x"}', None),
    ("GetItem", '{"Key": []}', None),
    ("GetItem", '{"Key": {"pk": "x"}}', None),
    ("GetItem", '{"Key": {"pk": {"S": 1}}}', "NUMBER_VALUE cannot be converted to String"),
    ("GetItem", '{"Key": {"pk": {"N": 1}}}', "NUMBER_VALUE cannot be converted to String"),
    ("GetItem", '{"Key": {"pk": {"L": {}}}}', None),
    ("GetItem", '{"Key": {"pk": {"SS": "x"}}}', None),
    ("GetItem", '{"AttributesToGet": "x"}', None),
    ("GetItem", '{"AttributesToGet": [1]}', "NUMBER_VALUE cannot be converted to String"),
    ("BatchWriteItem", '{"RequestItems": []}', None),
    ("BatchWriteItem", '{"RequestItems": {"abc": {}}}', None),
    ("TransactWriteItems", '{"TransactItems": {}}', None),
]


@pytest.mark.parametrize(("operation", "body", "message"), MISTYPED)
def test_a_member_of_another_type(
    wire: Wire, operation: str, body: str, message: str | None
) -> None:
    answer = wire.send(f"DynamoDB_20120810.{operation}", body.encode())
    assert (answer.status, answer.json["__type"]) == (400, SERVICE + "SerializationException")
    if message:
        assert answer.json["Message"] == message


def test_null_is_absent_and_unknown_members_are_ignored(wire: Wire, table: str) -> None:
    answer = wire.call("PutItem", TableName=table, Item=KEY, Expected=None, Unknown={"x": [1]})
    assert (answer.status, answer.json) == (200, {})


# ---- which check comes first ----

OK: dict[str, Any] = {"target": "DynamoDB_20120810.ListTables", "body": b"{}"}

# In this order; each is tried alone and together with every later one.
# (name, what is wrong, status, the type or a part of the body)
CHECKS: list[tuple[str, dict[str, Any], int, str]] = [
    ("path", {"path": "/other"}, 404, "UnknownOperationException"),
    ("content type", {"content_type": "text/plain"}, 404, "UnknownOperationException"),
    ("JSON", {"body": b"{"}, 400, SERVICE + "SerializationException"),
    ("target", {"target": "DynamoDB_20120810.Other"}, 400, SERVICE + "UnknownOperationException"),
    (
        "no authentication",
        {"authorization": None, "x_amz_date": None},
        400,
        SERVICE + "MissingAuthenticationTokenException",
    ),
    ("a member's type", {"body": b'{"Limit": "x"}'}, 400, SERVICE + "SerializationException"),
    ("a constraint", {"body": b'{"Limit": 0}'}, 400, VALIDATE + "ValidationException"),
]


@pytest.mark.parametrize("first", range(len(CHECKS)), ids=[check[0] for check in CHECKS])
def test_the_first_check_wins(wire: Wire, first: int) -> None:
    _, fault, status, expected = CHECKS[first]
    for _, later, _, _ in CHECKS[first:]:
        answer = wire.send(**{**OK, **later, **fault})
        assert answer.status == status
        assert expected in answer.body.decode()


# ---- authentication: its form is checked, whoever it is ----

# (name, headers and path, the type, a part of the message)
AUTHENTICATION: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "none",
        {"authorization": None},
        "MissingAuthenticationTokenException",
        "Request is missing Authentication Token",
    ),
    (
        "header and query",
        {"path": "/?X-Amz-Algorithm=AWS4-HMAC-SHA256"},
        "InvalidSignatureException",
        "",
    ),
    (
        "no parameters",
        {"authorization": "AWS4-HMAC-SHA256 "},
        "IncompleteSignatureException",
        "Authorization header requires 'Credential' parameter."
        " Authorization header requires 'Signature' parameter."
        " Authorization header requires 'SignedHeaders' parameter.",
    ),
    (
        "no signature",
        {"authorization": f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host"},
        "IncompleteSignatureException",
        "Authorization header requires 'Signature' parameter.",
    ),
    ("no date", {"x_amz_date": None}, "IncompleteSignatureException", ""),
]


@cases("name, sent, kind, message", AUTHENTICATION)
def test_authentication(
    wire: Wire, name: str, sent: dict[str, Any], kind: str, message: str
) -> None:
    answer = wire.send(**sent)
    assert (answer.status, answer.json["__type"]) == (400, SERVICE + kind)
    assert message in answer.json.get("message", "")


# ---- beside the operations ----


def test_a_health_check(wire: Wire) -> None:
    wire.connection.request("GET", "/")
    response = wire.connection.getresponse()
    assert response.status == 200
    assert re.fullmatch(rb"healthy: dynamodb\.[a-z0-9-]+\.amazonaws\.com ", response.read())


def test_a_preflight_request(wire: Wire) -> None:
    headers = {"Origin": ORIGIN, "Access-Control-Request-Headers": "x-amz-target"}
    wire.connection.request("OPTIONS", "/", headers=headers)
    response = wire.connection.getresponse()
    response.read()
    assert response.status == 200
    assert response.headers["Access-Control-Allow-Origin"] in ("*", ORIGIN)
    assert response.headers["Access-Control-Allow-Headers"] == "x-amz-target"


def test_a_body_is_at_most_16_mb(wire: Wire) -> None:
    wire.connection.putrequest("POST", "/")
    for name, value in {**HEADERS, "X-Amz-Target": "DynamoDB_20120810.ListTables"}.items():
        wire.connection.putheader(name, value)
    wire.connection.putheader("Content-Length", str(17 * 1024 * 1024))
    wire.connection.endheaders()
    assert wire.connection.getresponse().status == 413


def test_a_body_in_chunks(wire: Wire, table: str) -> None:
    body = json.dumps({"TableName": table, "Item": KEY}).encode()
    headers = {**HEADERS, "X-Amz-Target": "DynamoDB_20120810.PutItem"}
    wire.connection.request("POST", "/", iter([body[:7], body[7:]]), headers, encode_chunked=True)
    response = wire.connection.getresponse()
    assert (response.status, response.read()) == (200, b"{}")
