"""Every exchange is fed whole, byte by byte and with trailing data: the events are the same."""

import gzip
import zlib

import pytest
from requests_as_sent import BODY, TARGETS, answer, byte_by_byte, feed, request

from hashrange import wire
from hashrange.wire.connection import BODY_BYTES_MAX, HEAD_BYTES_MAX

CALL = ("GetItem", BODY, "eu-west-1")
CHUNKED = {"Content_Length": None, "Transfer_Encoding": "chunked"}


def chunked(*chunks: bytes, trailer: bytes = b"") -> bytes:
    parts = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks]
    return b"".join(parts) + b"0\r\n" + trailer + b"\r\n"


def chunked_request(body: bytes, **changed: str | None) -> bytes:
    head = request(b"", **{**CHUNKED, **changed})
    return head + body


def compressed(body: bytes, coding: str = "gzip") -> bytes:
    return request(body, Content_Encoding=coding)


BOMB = gzip.compress(b" " * (BODY_BYTES_MAX + 1))

# Name, bytes, what each event says: a call's operation, body and region, or an answer's status
# (100 is Continue), and "close" if the connection ends with it.
EXCHANGES: list[tuple[str, bytes, list[object]]] = [
    ("a call", request(), [CALL]),
    ("two calls, pipelined", request() + request(b"{}"), [CALL, ("GetItem", b"{}", "eu-west-1")]),
    ("names of headers in lower case", request().replace(b"X-Amz-Target", b"x-amz-target"), [CALL]),
    ("names of headers in upper case", request().replace(b"X-Amz-Date", b"X-AMZ-DATE"), [CALL]),
    ("blank lines before a request", b"\r\n\r\n" + request(), [CALL]),
    ("an absolute URL", request(url="http://localhost:8000/"), [CALL]),
    ("a chunked body", chunked_request(chunked(BODY[:5], BODY[5:])), [CALL]),
    ("chunked, with extensions", chunked_request(b"2;a=b\r\n{}\r\n0\r\n\r\n"), ["{}"]),
    ("a trailer is no header", chunked_request(chunked(BODY, trailer=b"Origin: x\r\n")), [CALL]),
    ("asked to continue", request(Expect="100-continue"), [100, CALL]),
    ("HTTP/1.0 is not asked to", request(version="1.0", Expect="100-continue"), [CALL, "close"]),
    ("HTTP/1.0 closes", request(version="1.0"), [CALL, "close"]),
    ("HTTP/1.0, kept alive", request(version="1.0", Connection="keep-alive"), [CALL]),
    ("HTTP/1.0 needs no Host", request(version="1.0", Host=None), [CALL, "close"]),
    ("asked to close", request(Connection="close"), [CALL, "close"]),
    ("health", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", [200]),
    ("health by HEAD", b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", [200]),
    ("a preflight", b"OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\n\r\n", [403]),
    ("OPTIONS without Origin", b"OPTIONS / HTTP/1.1\r\nHost: x\r\n\r\n", [404]),
    ("another path", request(url="/other"), [404]),
    ("a path that is no URL", request(url="http://[::1/"), [404]),
    ("another method", request(method="PUT"), [404]),
    ("GET of another path", b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n", [404]),
    ("no content type", request(Content_Type=None), [404]),
    ("another content type", request(Content_Type="application/x-amz-json-1.1"), [404]),
    ("a content type that begins like one", request(Content_Type="application/jsonx"), [404]),
    ("a content type and more", request(Content_Type="application/x-amz-json-1.0; a"), [CALL]),
    ("JSON of any kind", request(Content_Type=" Application/JSON  ;   a"), [CALL]),
    ("no content type and no body", request(b"", Content_Type=None),
     [("GetItem", b"", "eu-west-1")]),
    ("a compressed body", compressed(gzip.compress(BODY)), [CALL]),
    ("compressed in two pieces", compressed(gzip.compress(BODY[:9]) + gzip.compress(BODY[9:])),
     [CALL]),
    ("compressed, with junk behind", compressed(gzip.compress(BODY) + b"junk"), [CALL]),
    ("a deflated body", compressed(zlib.compress(BODY), "deflate"), [CALL]),
    ("deflated, with junk behind", compressed(zlib.compress(BODY) + b"junk", "Deflate "), [CALL]),
    ("deflated, and cut off", compressed(zlib.compress(BODY)[:-1], "deflate"), [400]),
    ("deflated without a header", compressed(zlib.compress(BODY)[2:-4], "deflate"), [400]),
    ("not deflated", compressed(BODY, "deflate"), [400]),
    ("an empty body as deflated", compressed(b"", "deflate"), [400]),
    ("a deflated bomb", compressed(zlib.compress(b" " * (BODY_BYTES_MAX + 1)), "deflate"), [413]),
    ("compressed, and cut off", compressed(gzip.compress(BODY)[:-1]), [400]),
    ("compressed in pieces without end", compressed(gzip.compress(b"") * 1000), [400]),
    ("said to be compressed", compressed(BODY), [400]),
    ("nothing, said to be compressed", compressed(b""), [400]),
    ("an unknown content coding", compressed(BODY, "br"), [400]),
    ("a bomb", compressed(BOMB), [413]),
    ("no target", request(X_Amz_Target=None), [400]),
    ("an error keeps the connection", request(X_Amz_Target="x") + request(), [400, CALL]),
    ("an error may close it", request(X_Amz_Target="x", Connection="close"), [400, "close"]),
    ("not HTTP", b"\x16\x03\x01\x02\x00", [400, "close"]),
    ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, "close"]),
    ("no Host", request(Host=None), [400, "close"]),
    ("a blank before the colon", request().replace(b"Host:", b"Host :"), [400, "close"]),
    ("a folded header", request(X=" a\r\n b"), [400, "close"]),
    ("a zero byte in a header", request(X="a\0b"), [400, "close"]),
    ("a tunnel", b"CONNECT a:80 HTTP/1.1\r\nHost: x\r\n\r\n", [400, "close"]),
    ("an upgrade", request(Upgrade="h2c", Connection="Upgrade"), [400, "close"]),
    ("an unknown coding", chunked_request(chunked(b""), Transfer_Encoding="gzip, chunked"),
     [400, "close"]),
    ("a length beside chunks", request(Transfer_Encoding="chunked"), [400, "close"]),
    ("two lengths", request(content_length="3"), [400, "close"]),
    ("the same length twice", request(content_length=str(len(BODY))), [400, "close"]),
    ("a length below zero", request(Content_Length="-1"), [400, "close"]),
    ("a length that is no number", request(Content_Length="1x"), [400, "close"]),
    ("two codings", chunked_request(b"", transfer_encoding="identity"), [400, "close"]),
    ("a chunk size that is no number", chunked_request(b"zz\r\n"), [400, "close"]),
    ("a chunk longer than it says", chunked_request(b"1\r\nab\r\n"), [400, "close"]),
    ("line ends without CR", request().replace(b"\r\n", b"\n"), [400, "close"]),
    ("a body too large", request(b"", Content_Length=str(BODY_BYTES_MAX + 1)), [413, "close"]),
    ("a length beyond all sense", request(b"", Content_Length="9" * 18), [413, "close"]),
    ("a head too large", request(X="x" * HEAD_BYTES_MAX), [400, "close"]),
    ("a URL too large", request(url="/" + "x" * HEAD_BYTES_MAX), [400, "close"]),
]  # fmt: skip


def said(events: list[wire.Event]) -> list[object]:
    told: list[object] = []
    for event in events:
        if isinstance(event, wire.Call):
            try:
                told.append((event.operation, wire.decoded(event), event.caller.region))
            except wire.RequestTooLargeException as refusal:
                told.append(refusal.status)
            close = event.form.close
        else:
            told.append(int(event.data[9:12]))
            close = event.close
        if close:
            told.append("close")
    return told


def expected(events: list[object]) -> list[object]:
    return [("GetItem", b"{}", "eu-west-1") if event == "{}" else event for event in events]


@pytest.mark.parametrize(("data", "events"), [pytest.param(d, e, id=i) for i, d, e in EXCHANGES])
class TestExchange:
    def test_whole(self, data: bytes, events: list[object]) -> None:
        assert said(feed([data])) == expected(events)

    def test_byte_by_byte(self, data: bytes, events: list[object]) -> None:
        assert said(feed(byte_by_byte(data))) == expected(events)

    def test_with_trailing_data(self, data: bytes, events: list[object]) -> None:
        follows = [] if "close" in events else [CALL]
        assert said(feed([data + request()])) == expected(events) + follows

    def test_after_a_call(self, data: bytes, events: list[object]) -> None:
        """The header cache takes another path through the code."""
        assert said(feed([request(), data])) == [CALL, *expected(events)]


def test_nothing_is_parsed_after_the_end() -> None:
    assert feed([request(Connection="close"), request(), b"\0"]) == feed(
        [request(Connection="close")]
    )


def test_the_connection_ends_after_one_refusal() -> None:
    assert said(feed([b"\0", b"\0", request()])) == [400, "close"]


def test_a_body_of_the_greatest_size_is_read() -> None:
    body = b"x" * BODY_BYTES_MAX
    data = request(body)
    [event] = feed(data[at : at + 65536] for at in range(0, len(data), 65536))
    assert isinstance(event, wire.Call)
    assert event.body == body


def test_chunks_are_refused_as_soon_as_they_are_too_large() -> None:
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    connection = wire.Connection(TARGETS)
    assert connection.feed(chunked_request(b"")) == []
    fed = 0
    while not (events := connection.feed(chunk)):
        fed += 0x100000
        assert fed <= BODY_BYTES_MAX
    assert said(events) == [413, "close"]


@pytest.mark.parametrize(
    "endless",
    [b"\r\n", b"x", b"A: b\r\n"],
    ids=["blank lines", "a name", "headers"],
)
def test_a_head_that_does_not_end_is_refused(endless: bytes) -> None:
    start = b"" if endless == b"\r\n" else b"POST / HTTP/1.1\r\n"
    connection = wire.Connection(TARGETS)
    connection.feed(start)
    for _ in range(HEAD_BYTES_MAX + 2):
        if events := connection.feed(endless):
            assert said(events) == [400, "close"]
            return
    pytest.fail("it reads on")


def test_trailers_that_do_not_end_are_refused() -> None:
    connection = wire.Connection(TARGETS)
    assert connection.feed(chunked_request(b"2\r\n{}\r\n0\r\n")) == []
    for number in range(HEAD_BYTES_MAX):
        if events := connection.feed(b"A%d: b\r\n" % number):
            assert said(events) == [400, "close"]
            return
    pytest.fail("it reads on")


def test_reading_tells_whether_a_request_is_unfinished() -> None:
    connection = wire.Connection(TARGETS)
    seen = [connection.reading]
    for piece in (b"POST / H", request()[8:-1], b"}"):
        connection.feed(piece)
        seen.append(connection.reading)
    assert seen == [False, True, True, False]


def test_an_answer_has_the_requests_content_type() -> None:
    for sent, told in (
        ("application/json; a", "application/json"),
        ("application/x-amz-json-1.0", "application/x-amz-json-1.0"),
    ):
        refused = answer(request(b"{}", X_Amz_Target="x", Content_Type=sent))
        assert refused.headers["content-type"] == told
    empty = answer(request(b"", X_Amz_Target="x", Content_Type=None))
    assert empty.headers["content-type"] == "application/json"


def test_a_body_may_grow_to_the_greatest_size() -> None:
    [event] = feed([compressed(gzip.compress(b" " * BODY_BYTES_MAX))])
    assert isinstance(event, wire.Call)
    assert wire.decoded(event) == b" " * BODY_BYTES_MAX


def test_the_health_check_names_the_region_of_the_host() -> None:
    host = b"dynamodb.eu-west-1.amazonaws.com"
    assert answer(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").body == (
        b"healthy: dynamodb.us-east-1.amazonaws.com "
    )
    regional = answer(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host)
    assert regional.body == b"healthy: %b " % host


def test_head_has_the_headers_of_get_and_no_body() -> None:
    got = answer(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    head = answer(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert head.body == b""
    assert head.headers["content-length"] == got.headers["content-length"]


def test_a_request_that_is_not_for_the_api_is_answered_in_xml() -> None:
    stray = answer(request(url="/x"))
    assert stray.body == b"<UnknownOperationException/>\n"
    assert stray.headers["x-amz-crc32"] == "3552371480"
