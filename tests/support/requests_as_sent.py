"""Requests as clients send them, and connections to feed them to."""

from collections.abc import Iterable

from hashrange import wire

TARGETS = wire.targets(("GetItem", "PutItem", "ListStreams"))
DATE = "20260101T000000Z"
SCOPE = "20260101/eu-west-1/dynamodb/aws4_request"
SIGNATURE = "0123456789abcdef" * 4
AUTHORIZATION = (
    f"AWS4-HMAC-SHA256 Credential=AKID/{SCOPE}, "
    f"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={SIGNATURE}"
)
HEADERS = {
    "Host": "localhost:8000",
    "Accept-Encoding": "identity",
    "X-Amz-Target": "DynamoDB_20120810.GetItem",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": DATE,
    "Authorization": AUTHORIZATION,
}
BODY = b'{"TableName":"Things"}'


def request(body: bytes = BODY, /, **changed: str | None) -> bytes:
    """A signed GetItem. `changed`: `method`, `url`, `version`, and headers by name.

    In names of headers `_` stands for `-`; None leaves a header out.
    """
    start = {"method": "POST", "url": "/", "version": "1.1"}
    start = {name: changed.pop(name, None) or value for name, value in start.items()}
    names = {name.lower().replace("-", "_"): name for name in HEADERS}
    headers: dict[str, str | None] = {**HEADERS, "Content-Length": str(len(body))}
    for name, value in changed.items():
        headers[names.get(name.lower(), name.replace("_", "-"))] = value
    lines = [f"{name}: {value}\r\n" for name, value in headers.items() if value is not None]
    first = "{method} {url} HTTP/{version}".format(**start)
    return f"{first}\r\n{''.join(lines)}\r\n".encode() + body


def feed(pieces: Iterable[bytes]) -> list[wire.Event]:
    connection = wire.Connection(TARGETS)
    return [event for piece in pieces for event in connection.feed(piece)]


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


class Response:
    """A response taken apart; names of headers are in lower case."""

    def __init__(self, data: bytes) -> None:
        head, _, self.body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        self.status = int(first.split(" ", 2)[1])
        self.headers = {
            name.lower(): value for name, value in (line.split(": ", 1) for line in lines)
        }


def answer(data: bytes) -> Response:
    """The one answer to this data that needs no operation."""
    [event] = feed([data])
    assert isinstance(event, wire.Answer)
    return Response(event.data)
