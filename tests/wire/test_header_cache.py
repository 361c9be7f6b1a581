"""A request that the header cache admits passes the full check: same operation, region, form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from requests_as_sent import AUTHORIZATION, TARGETS, feed, request

from hashrange import wire

SIGNED = AUTHORIZATION.rpartition("=")[0] + "="

CHANGES: dict[str, list[str | None]] = {
    "X_Amz_Target": ["DynamoDB_20120810.PutItem", "DynamoDB_20120810.Nothing", None],
    "Authorization": [
        SIGNED,
        SIGNED + "0",
        SIGNED + "0, x",
        AUTHORIZATION.replace("AKID", "B"),
        AUTHORIZATION.replace("eu-west-1", "eu-north-1"),
        AUTHORIZATION.replace("dynamodb", "s3"),
        None,
    ],
    "X_Amz_Date": ["20260101T000001Z", "20260102T000000Z", "x", None],
    "Content_Type": ["application/x-amz-json-1.0 ", "application/json", "text/plain", None],
    "Content_Encoding": ["gzip", "identity"],
    "Content_Length": ["0", "0000000000022", "99999999", None],
    "Accept_Encoding": ["gzip", "br", None],
    "Connection": ["keep-alive", "close"],
    "Origin": ["http://x"],
    "Expect": ["100-continue"],
    "Transfer_Encoding": ["chunked"],
    "Host": ["elsewhere", "evil.example", None],
    "User_Agent": ["x"],
}
changes = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values) for name, values in CHANGES.items()}
)
requests = st.builds(
    lambda changed, method, url, version: request(
        **changed, method=method, url=url, version=version
    ),
    changes,
    st.sampled_from(["POST", "POST", "POST", "GET", "PUT"]),
    st.sampled_from(["/", "/", "/", "/x", "/?X-Amz-Algorithm=x"]),
    st.sampled_from(["1.1", "1.1", "1.0"]),
)


def comparable(events: list[wire.Event]) -> list[object]:
    """Ready-made answers differ in their request ids."""
    return [e if isinstance(e, wire.Call) else e.data[:12] for e in events]


@given(requests, requests)
def test_the_header_cache_changes_no_verdict(earlier: bytes, later: bytes) -> None:
    connection = wire.Connection(TARGETS)
    before = connection.feed(earlier)
    if any(e.close if isinstance(e, wire.Answer) else e.form.close for e in before):
        return
    if connection.reading:
        return
    assert comparable(connection.feed(later)) == comparable(feed([later]))


@pytest.mark.parametrize("name", ["X_Amz_Target", "Authorization"])
def test_headers_that_differ_between_calls_skip_the_full_check(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = wire.Connection(TARGETS)
    connection.feed(request())
    monkeypatch.setattr("hashrange.wire.connection.admit", None)
    changed = {"X_Amz_Target": "DynamoDB_20120810.PutItem", "Authorization": SIGNED + "f" * 64}
    assert len(connection.feed(request(b"{}", **{name: changed[name]}))) == 1
