"""Refusals before any operation runs, and which of several faults is reported."""

import json

import pytest
from requests_as_sent import AUTHORIZATION, DATE, SCOPE, SIGNATURE, answer, feed, request

from hashrange import wire

SERVICE = "com.amazon.coral.service#"
ALGORITHM = "AWS4-HMAC-SHA256"
QUERY = {
    "X-Amz-Algorithm": ALGORITHM,
    "X-Amz-Credential": f"AKID/{SCOPE}",
    "X-Amz-Signature": SIGNATURE,
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Date": DATE,
}


def url(**without: None) -> str:
    left_out = {name.replace("_", "-") for name in without}
    pairs = (f"{name}={value}" for name, value in QUERY.items() if name not in left_out)
    return "/?" + "&".join(pairs)


def header(
    *,
    algorithm: str = ALGORITHM,
    credential: str = f"AKID/{SCOPE}",
    signed: str = "SignedHeaders=host, ",
    signature: str = SIGNATURE,
) -> str:
    return f"{algorithm} Credential={credential}, {signed}Signature={signature}"


def scope(date: str = "20260101", region: str = "r", service: str = "dynamodb",
          terminator: str = "aws4_request") -> str:  # fmt: skip
    return header(credential=f"AKID/{date}/{region}/{service}/{terminator}")


# In order of precedence: each request also has every fault of the later ones that it can have.
FAULTS: list[tuple[str, dict[str, str | None], bytes, str, str]] = [
    ("broken JSON", {"X_Amz_Target": "x", "Authorization": None}, b'{"',
     "SerializationException", ""),
    ("deep JSON", {"X_Amz_Target": "x"}, b"[" * 100_000, "SerializationException", ""),
    ("no target", {"X_Amz_Target": None, "Authorization": None}, b"{}",
     "UnknownOperationException", ""),
    ("unknown operation", {"X_Amz_Target": "DynamoDB_20120810.Get", "Authorization": None}, b"{}",
     "UnknownOperationException", ""),
    ("another version", {"X_Amz_Target": "DynamoDB_20111205.GetItem"}, b"{}",
     "UnknownOperationException", ""),
    ("an operation of streams", {"X_Amz_Target": "DynamoDB_20120810.ListStreams"}, b"{}",
     "UnknownOperationException", ""),
    ("signed twice", {"url": "/?X-Amz-Algorithm=x", "Authorization": "AWS4-"}, b"{}",
     "InvalidSignatureException",
     "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."),
    ("not signed", {"Authorization": None}, b"{}",
     "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
    ("not signed, no body", {"Authorization": None, "Content_Type": None}, b"",
     "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
    ("another way to sign", {"Authorization": "Basic eDp5"}, b"{}",
     "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
    ("not quite a header", {"Authorization": "AWS4"}, b"{}",
     "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
    ("not quite a query", {"url": "/?X-Amz-Algorith", "Authorization": "X"}, b"{}",
     "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
    ("a query without its algorithm", {"url": url(X_Amz_Algorithm=None), "Authorization": None},
     b"{}", "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
    ("nothing in the header", {"Authorization": "AWS4-", "X_Amz_Date": None}, b"{}",
     "IncompleteSignatureException",
     "Authorization header requires 'Credential' parameter. "
     "Authorization header requires 'Signature' parameter. "
     "Authorization header requires 'SignedHeaders' parameter. "
     "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
     "Authorization=AWS4-"),
    ("no signed headers", {"Authorization": header(signed="")}, b"{}",
     "IncompleteSignatureException",
     "Authorization header requires 'SignedHeaders' parameter. "
     f"Authorization={header(signed='')}"),
    ("an empty signature", {"Authorization": header(signature="")}, b"{}",
     "IncompleteSignatureException",
     f"Authorization header requires 'Signature' parameter. Authorization={header(signature='')}"),
    ("little in the query", {"url": "/?X-Amz-Algorithm=", "Authorization": None}, b"{}",
     "IncompleteSignatureException",
     "AWS query-string parameters must include 'X-Amz-Algorithm'. "
     "AWS query-string parameters must include 'X-Amz-Credential'. "
     "AWS query-string parameters must include 'X-Amz-Signature'. "
     "AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
     "AWS query-string parameters must include 'X-Amz-Date'. "
     "Re-examine the query-string parameters."),
    ("no date in the query", {"url": url(X_Amz_Date=None), "Authorization": None}, b"{}",
     "IncompleteSignatureException",
     "AWS query-string parameters must include 'X-Amz-Date'. "
     "Re-examine the query-string parameters."),
    ("an unknown algorithm", {"Authorization": header(algorithm="AWS4-X", credential="x")}, b"{}",
     "IncompleteSignatureException", "Unsupported AWS 'algorithm': 'AWS4-X'."),
    ("a short credential", {"Authorization": header(credential="a/b"), "X_Amz_Date": "x"}, b"{}",
     "IncompleteSignatureException",
     "Credential must have exactly 5 slash-delimited elements, "
     "e.g. keyid/date/region/service/term, got 'a/b'"),
    ("a date in another form", {"Authorization": scope(service="s3"), "X_Amz_Date": "2026-01-01"},
     b"{}", "IncompleteSignatureException",
     "Date must be in ISO-8601 'basic format'. Got '2026-01-01'. "
     "See http://en.wikipedia.org/wiki/ISO_8601"),
    ("no region", {"Authorization": scope(region="")}, b"{}",
     "InvalidSignatureException", "Credential should be scoped to a valid region. "),
    ("another service", {"Authorization": scope(service="s3")}, b"{}",
     "InvalidSignatureException",
     "Credential should be scoped to correct service: 'dynamodb'. "),
    ("another terminator", {"Authorization": scope(terminator="x")}, b"{}",
     "InvalidSignatureException",
     "Credential should be scoped with a valid terminator: 'aws4_request'. "),
    ("another day", {"Authorization": scope(date="20260102")}, b"{}",
     "InvalidSignatureException",
     "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
     f"'20260102' != '20260101', from '{DATE}'. "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "body", "code", "message"), [pytest.param(*fault, id=id) for id, *fault in FAULTS]
)
def test_fault(changed: dict[str, str | None], body: bytes, code: str, message: str) -> None:
    refused = answer(request(body, **changed))
    told = json.loads(refused.body)
    assert refused.status == 400
    assert told.pop("__type") == SERVICE + code
    assert list(told.values()) == ([message] if message else [])


def test_the_bytes_are_those_of_dynamodb() -> None:
    """Compared by the CRC-32 that was captured from the service."""
    assert answer(request(b"hi", X_Amz_Target=None)).headers["x-amz-crc32"] == "3948637019"
    assert answer(request(b"{}", X_Amz_Target=None)).headers["x-amz-crc32"] == "1368724161"
    assert answer(request(Authorization=None)).headers["x-amz-crc32"] == "2088342776"
    both = answer(request(url="/?X-Amz-Algorithm", Authorization="X"))
    assert both.headers["x-amz-crc32"] == "2139606068"
    nothing = answer(request(Authorization="AWS4-", X_Amz_Date=None))
    assert nothing.headers["x-amz-crc32"] == "1828866742"
    for blanks, crc in ((" ", "15336762"), (",", "1159703774"), (", ", "164353342")):
        authorization = f"AWS4- Signature=b{blanks}Credential=a"
        little = answer(request(Authorization=authorization, X_Amz_Date=None, Date="a"))
        assert little.headers["x-amz-crc32"] == crc
    query = answer(request(url="/?X-Amz-Algorithm", Authorization=None))
    assert query.headers["x-amz-crc32"] == "2900502663"
    unsigned = "/?X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-Date=d"
    without = answer(request(url=unsigned, Authorization=None))
    assert without.headers["x-amz-crc32"] == "3712057481"


@pytest.mark.parametrize(
    "fine",
    [
        request(Authorization=None, url=url()),
        request(Authorization=AUTHORIZATION.replace(", ", ",")),
        request(Authorization=AUTHORIZATION.replace(", ", "   ")),
        request(X_Amz_Date=None, Date="Thu, 01 Jan 2026 00:00:00 GMT"),
        request(X_Amz_Date=None, Date=DATE),
        request(url="/?unrelated"),
    ],
    ids=["in the query", "no blanks", "many blanks", "RFC date", "ISO date", "another query"],
)
def test_signed(fine: bytes) -> None:
    [call] = feed([fine])
    assert isinstance(call, wire.Call)
    assert call.caller.region == "eu-west-1"


def test_streams_have_a_prefix_of_their_own() -> None:
    [call] = feed([request(X_Amz_Target="DynamoDBStreams_20120810.ListStreams")])
    assert isinstance(call, wire.Call)
    assert call.operation == "ListStreams"


def test_the_operation_judges_json_that_has_no_other_fault() -> None:
    """The operation decodes the body anyway, so nothing is parsed twice."""
    [call] = feed([request(b'{"')])
    assert isinstance(call, wire.Call)
