import json
import re
import time
import zlib
from email.utils import parsedate_to_datetime

import pytest
from requests_as_sent import Response, feed, request

from hashrange import wire
from hashrange.model import errors
from hashrange.wire.responses import COMPRESSED_LARGER_THAN_BYTES

LARGE = b"x" * (COMPRESSED_LARGER_THAN_BYTES + 1)
GZIP = wire.Form(coding=b"gzip")


def form_of(**changed: str | None) -> wire.Form:
    [call] = feed([request(**changed)])
    assert isinstance(call, wire.Call)
    return call.form


@pytest.mark.parametrize("form", [wire.PLAIN, wire.Form(close=True)], ids=["plain", "another"])
def test_the_headers_are_those_of_dynamodb(form: wire.Form) -> None:
    before = int(time.time())
    response = Response(wire.succeed(b'{"Item":{}}', form))
    date = parsedate_to_datetime(response.headers.pop("date"))
    assert before <= date.timestamp() <= time.time()
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


def test_an_internal_error_is_a_500() -> None:
    assert Response(wire.fail(errors.InternalServerError("x"))).status == 500


def test_a_large_body_is_compressed_if_the_client_accepts_it() -> None:
    response = Response(wire.succeed(LARGE, GZIP))
    assert response.headers["content-encoding"] == "gzip"
    assert zlib.decompress(response.body, wbits=31) == LARGE
    assert response.headers["content-length"] == str(len(response.body))
    assert response.headers["x-amz-crc32"] == str(zlib.crc32(response.body))


@pytest.mark.parametrize(("body", "form"), [(LARGE[:-1], GZIP), (LARGE, wire.PLAIN)])
def test_other_bodies_are_not_compressed(body: bytes, form: wire.Form) -> None:
    response = Response(wire.succeed(body, form))
    assert response.body == body
    assert "content-encoding" not in response.headers


def test_deflate_is_the_other_coding() -> None:
    response = Response(wire.succeed(LARGE, wire.Form(coding=b"deflate")))
    assert response.headers["content-encoding"] == "deflate"
    assert zlib.decompress(response.body) == LARGE


# Accept-Encoding, and the coding that the service was seen to take.
CODINGS: list[tuple[str | None, str]] = [
    (None, ""),
    ("", ""),
    ("identity", ""),
    ("br", ""),
    ("zstd", ""),
    ("x-gzip", ""),
    ("gzip", "gzip"),
    ("deflate", "deflate"),
    ("GZIP, identity", "gzip"),
    ("dog, gzip ,, cat", "gzip"),
    ("gzip, deflate", "gzip"),
    ("br, identity, deflate, gzip", "deflate"),
    ("gzip;q=0.8, deflate;q=0.5", "gzip"),
    ("deflate;q=0.5, gzip;q=0.2", "deflate"),
    ("br, gzip;q=0, deflate; q = 0.5 , identity;q=0", "deflate"),
    ("gzip ;q=0", ""),
    ("br, gzip; q=0.000", ""),
    ("br,identity;q=0.5,gzip;q=0.0001", "gzip"),
    ("gzip;q=0.5,identity;q=0.8", "gzip"),
    ("*", "gzip"),
    ("*;q=0", ""),
    ("*;q=0.5,identity", "gzip"),
    ("*, identity", "gzip"),
    ("*, deflate;q=0.5", "gzip"),
    ("*, deflate", "deflate"),
    ("*, gzip;q=0.5", "deflate"),
    ("br;q=0.8,identity;q=0.5,*;q=0", ""),
    ('"gzip"', ""),
    ("gzip br", ""),
    ("gzip:q=1", ""),
    ("deflate;q=0.5, gzip;q=31", "gzip"),
    ("gzip;q=31,deflate;q=51", "gzip"),
    ("deflate;q=0.5, gzip;q=1;q=0.2", "gzip"),
    ("deflate;q=0.5,gzip;q=0.", "deflate"),
    ("deflate;q=0.5,gzip;q=0.x", "gzip"),
    ("deflate;q=-0.5,gzip;q=0.2", "gzip"),
    ("deflate;q=0.5,gzip;q=0. x", "gzip"),
    ("gzip;nq=1;q=0 ", ""),
    ("gzip;nq=0;q=1", ""),
    ("gzip;q= 0;q=1", ""),
    ("gzip;q =0;q=1", "gzip"),
    ("gzip; q=0;q=1", ""),
    ("gzip;q=0, gzip;q=1, gzip;q=0", "gzip"),
]


@pytest.mark.parametrize(("accepted", "coding"), CODINGS)
def test_accept_encoding(accepted: str | None, coding: str) -> None:
    assert form_of(Accept_Encoding=accepted).coding == coding.encode()
