"""For any bytes: no exception, no event after the end, and the same events however they are cut."""

import gzip
import zlib
from collections.abc import Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from requests_as_sent import TARGETS, request
from signing import KEYS, NOW, sign

from hashrange import wire
from hashrange.wire import codings

FRAGMENTS = (
    *(b"POST / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n", b"PUT ", b"/", b" HTTP/1.0\r\n", b"\r\n"),
    *(b"Host: x\r\n", b"Content-Length: 2\r\n", b"Transfer-Encoding: chunked\r\n", b"2\r\n"),
    *(b"Content-Length: 99999999999\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n"),
    *(b"{}", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"Upgrade: x\r\n", b":", b"\n", b"\r", b"\0"),
    *(b"X-Amz-Target: DynamoDB_20120810.GetItem\r\n", b"Authorization: AWS4-", b"\xff"),
    request(),
)
data = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=8), max_size=12).map(b"".join)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good request with a few bytes changed, and another behind it."""
    sent = bytearray(request())
    for _ in range(draw(st.integers(1, 4))):
        sent[draw(st.integers(0, len(sent) - 1))] = draw(st.integers(0, 255))
    return bytes(sent) + request()


def said(connection: wire.Connection, pieces: list[bytes]) -> list[object]:
    told: list[object] = []
    ended = False
    for piece in pieces:
        for event in connection.feed(piece):
            assert not ended
            if isinstance(event, wire.Call):
                told.append(event)
                ended = event.form.close
            else:
                told.append((event.data[:12], event.close))
                ended = event.close
    return told


@given(data | damaged(), st.lists(st.integers(0, 600), max_size=5))
def test_any_bytes_cut_anywhere(sent: bytes, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    pieces = [sent[start:end] for start, end in pairwise(bounds)]
    whole = said(wire.Connection(TARGETS), [sent])
    assert said(wire.Connection(TARGETS), pieces) == whole


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
}
CODES = ("gzip", "deflate", "*", "identity", ";", ",", "q", "=", "0", ".5", "1", "-", "x", " ")


@given(
    st.lists(st.sampled_from(CODES)).map("".join),
    st.binary(max_size=60),
    st.booleans(),
    st.sampled_from([*COMPRESSED, "x"]),
)
def test_any_coding(accepted: str, body: bytes, compressed: bool, coding: str) -> None:
    assert codings.preferred(accepted.encode()) in (b"", b"gzip", b"deflate")
    sent = COMPRESSED.get(coding, bytes)(body) if compressed else body
    [event] = wire.Connection(TARGETS).feed(request(sent, Content_Encoding=coding))
    if isinstance(event, wire.Call):
        assert event.body == body
        assert compressed
        assert coding in COMPRESSED
    else:
        assert event.data.startswith(b"HTTP/1.1 400 ")
        assert not (compressed and coding in COMPRESSED)


HEADERS = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token", "Host", "X-Amz-Expires")
values = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=20)
cuts = st.tuples(st.integers(0, 300), st.integers(0, 300), values)


@given(st.dictionaries(st.sampled_from(HEADERS), values | cuts), values, st.booleans())
def test_any_signature(
    changed: dict[str, str | tuple[int, int, str]], query: str, presigned: bool
) -> None:
    """With a header or a part of it replaced, only a request that was signed is admitted."""
    signed = sign(presigned_seconds=60 if presigned else None)
    for name, change in changed.items():
        if isinstance(change, str):
            signed.headers[name] = change
        else:
            start, end, piece = change
            value = signed.headers.get(name, "")
            signed.headers[name] = value[:start] + piece + value[max(start, end) :]
    signed.query += query
    verifier = wire.Verifier(wire.KeyRing(KEYS), NOW.timestamp)
    for event in wire.Connection(TARGETS, verifier).feed(signed.sent()):
        if isinstance(event, wire.Call):
            assert (event.operation, event.body) == ("GetItem", signed.body)
