import json
import re
import time
import zlib
from email.utils import parsedate_to_datetime

import pytest
from requests_as_sent import Response, feed, request

from hashrange import wire
from hashrange.model import errors
from hashrange.wire.responses import GZIP_LARGER_THAN_BYTES

LARGE = b"x" * (GZIP_LARGER_THAN_BYTES + 1)
GZIP = wire.Form(gzip=True)


def form_of(**changed: str | None) -> wire.Form:
    [call] = feed([request(**changed)])
    assert isinstance(call, wire.Call)
    return call.form


@pytest.mark.parametrize("form", [wire.PLAIN, wire.Form(close=True)], ids=["plain", "another"])
def test_the_headers_are_dynamodbs(form: wire.Form) -> None:
    response = Response(wire.succeed(b'{"Item":{}}', form))
    date = parsedate_to_datetime(response.headers.pop("date"))
    assert abs(date.timestamp() - time.time()) < 5
    assert re.fullmatch("[0-9A-Z]{52}", response.headers.pop("x-amzn-requestid"))
    assert response.headers == {
        "server": "Server",
        "content-type": "application/x-amz-json-1.0",
        "content-length": "11",
        "connection": "close" if form.close else "keep-alive",
        "x-amz-crc32": str(zlib.crc32(b'{"Item":{}}')),
    }
    assert (response.status, response.body) == (200, b'{"Item":{}}')


def test_request_ids_differ() -> None:
    ids = {wire.request_id() for _ in range(100)}
    ids |= {Response(wire.succeed(b"")).headers["x-amzn-requestid"] for _ in range(100)}
    assert len(ids) == 200
    assert all(re.fullmatch("[0-9A-Z]{52}", each) for each in ids)


def test_an_error_has_its_type_its_message_and_its_members() -> None:
    error = errors.ConditionalCheckFailedException("no", Item={"pk": {"S": "a"}})
    response = Response(wire.fail(error))
    assert response.status == 400
    assert json.loads(response.body) == {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "no",
        "Item": {"pk": {"S": "a"}},
    }


def test_our_mistake_is_a_500() -> None:
    assert Response(wire.fail(errors.InternalServerError("x"))).status == 500


def test_a_large_body_is_compressed_for_who_accepts_it() -> None:
    response = Response(wire.succeed(LARGE, GZIP))
    assert response.headers["content-encoding"] == "gzip"
    assert zlib.decompress(response.body, wbits=31) == LARGE
    assert response.headers["content-length"] == str(len(response.body))
    assert response.headers["x-amz-crc32"] == str(zlib.crc32(response.body))


@pytest.mark.parametrize(("body", "form"), [(LARGE[:-1], GZIP), (LARGE, wire.PLAIN)])
def test_else_it_is_not(body: bytes, form: wire.Form) -> None:
    response = Response(wire.succeed(body, form))
    assert response.body == body
    assert "content-encoding" not in response.headers


@pytest.mark.parametrize(
    ("accepted", "gzip"),
    [
        ("gzip", True),
        ("deflate, gzip;q=0.5", True),
        ("GZIP", True),
        ("*", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("br, gzip; q=0.000", False),
        (None, False),
    ],
)
def test_accept_encoding(accepted: str | None, gzip: bool) -> None:
    assert form_of(Accept_Encoding=accepted).gzip is gzip
