"""Which web pages may call a server without keys: those of allowed origins, under its own names."""

import pytest
from requests_as_sent import TARGETS, Response, request
from signing import KEYS, NOW, sign

from hashrange import wire

ORIGIN = "http://app.example:3000"
PREFLIGHT = (
    b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: %b\r\n"
    b"Access-Control-Request-Headers: a, b\r\nAccess-Control-Request-Method: POST\r\n\r\n"
)


def told(event: wire.Event) -> Response:
    return Response(event.data if isinstance(event, wire.Answer) else wire.succeed(b"", event.form))


def ask(sent: bytes, *allowed: str) -> Response:
    [event] = wire.Connection(TARGETS, origins=wire.Origins(allowed)).feed(sent)
    return told(event)


def cors_headers(response: Response) -> list[str]:
    return [name for name in response.headers if name.startswith("access-control-")]


def test_the_preflight_of_an_allowed_origin_is_granted() -> None:
    granted = ask(PREFLIGHT % ORIGIN.encode(), "http://localhost:3000", ORIGIN)
    assert (granted.status, granted.body) == (200, b"")
    assert granted.headers["access-control-allow-origin"] == ORIGIN
    assert granted.headers["access-control-allow-headers"] == "a, b"
    assert granted.headers["access-control-allow-methods"] == "POST"
    assert granted.headers["access-control-max-age"] == "172800"
    assert granted.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://app.example", "https://app.example:3000", "*"]
)
def test_the_preflight_of_another_origin_is_refused(origin: str) -> None:
    refused = ask(PREFLIGHT % origin.encode(), ORIGIN)
    assert (refused.status, refused.body, cors_headers(refused)) == (403, b"", [])


def test_a_page_reads_answers_and_errors_if_its_origin_is_allowed() -> None:
    for sent in (request(Origin=ORIGIN), request(X_Amz_Target="x", Origin=ORIGIN)):
        assert ask(sent, ORIGIN).headers["access-control-allow-origin"] == ORIGIN
        assert cors_headers(ask(sent)) == []


def test_the_header_cache_keeps_origins_apart() -> None:
    connection = wire.Connection(TARGETS, origins=wire.Origins([ORIGIN]))
    asked = [request(Origin=origin) for origin in (ORIGIN, "http://evil.example", ORIGIN)]
    answers = [told(event) for sent in asked for event in connection.feed(sent)]
    assert [bool(cors_headers(answer)) for answer in answers] == [True, False, True]


@pytest.mark.parametrize(
    "host",
    [
        *(
            "localhost",
            "LOCALHOST:8000",
            "localhost.",
            "a.localhost:1",
            "127.0.0.1:8000",
            "[::1]:80",
        ),
        *("192.168.1.7", "[fe80::1]", "dynamodb", "dynamo_db:8000", "host.docker.internal:8000"),
        *("printer.local", "db.test", "dynamodb.eu-west-1.amazonaws.com", ""),
        *("streams.dynamodb.us-gov-west-1.amazonaws.com:443", "0123.ddb.us-east-1.amazonaws.com"),
    ],
)
def test_names_that_no_outsider_can_own_are_served(host: str) -> None:
    assert ask(request(Host=host)).status == 200


FOREIGN = [
    *("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"),
    *(
        "evillocalhost.com",
        "notlocal.com",
        "127.0.0.1:80:80",
        "[::1].evil.example",
        "a b",
        "b\u00fc",
    ),
    *("bucket.s3.amazonaws.com", "dynamodb.s3.amazonaws.com", "x.dynamodb.us-east-1.evil.com"),
    *("dynamodb.us-east-1.amazonaws.com.evil.example", "user@localhost", "localhost/.evil.example"),
]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_is_refused(host: str) -> None:
    refused = ask(request(Host=host))
    assert (refused.status, cors_headers(refused)) == (403, [])
    assert b"AccessDeniedException" in refused.body
    assert ask(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host.encode()).status == 403


def test_the_name_of_an_allowed_origin_is_not_foreign() -> None:
    assert ask(request(Host="app.example:8000"), ORIGIN).status == 200
    assert ask(request(Host="evil.example:3000"), ORIGIN).status == 403


def test_the_header_cache_does_not_go_around_the_check_of_the_host() -> None:
    connection = wire.Connection(TARGETS)
    asked = [request(Host=host) for host in ("localhost", "evil.example", "localhost")]
    answers = [told(event).status for sent in asked for event in connection.feed(sent)]
    assert answers == [200, 403, 200]


def test_a_signed_request_may_have_any_host() -> None:
    connection = wire.Connection(TARGETS, wire.Verifier(wire.KeyRing(KEYS), NOW.timestamp))
    [event] = connection.feed(sign(Host="db.example").sent())
    assert isinstance(event, wire.Call)


@pytest.mark.parametrize(
    "text",
    ["*", "null", "localhost", "http://", "http://a/", "http://a/b", "http://a b", "http://*"],
)
def test_an_invalid_origin_is_refused(text: str) -> None:
    with pytest.raises(wire.OriginError, match="is not an origin, such as http://localhost:3000"):
        wire.Origins([text])
