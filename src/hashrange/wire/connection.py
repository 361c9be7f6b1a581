"""One client's connection as a value: feed it bytes, it gives events, in order.

    bytes -> Call(operation, body, ...)    for the database; to be answered in that form
          -> Answer(data, close)           known without the database: to be written as it is

It never raises and holds no more than one unfinished request. After an event that closes, it
ignores whatever follows. What could be read as two different requests is refused: the parser
does so for repeated lengths, lengths beside chunks and loose line ends.
"""

from collections.abc import Mapping
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from hashrange.model.errors import ApiError
from hashrange.wire.elsewhere import answer_elsewhere
from hashrange.wire.gate import Gate, NotFoundError
from hashrange.wire.responses import CONTINUE, PLAIN, Form, fail, respond

BODY_BYTES_MAX = 16 * 1024 * 1024
HEAD_BYTES_MAX = 16 * 1024  # FACTS leaves the service's own limit open


class Call(NamedTuple):
    operation: str
    body: bytes
    region: str
    form: Form


class Answer(NamedTuple):
    data: bytes
    close: bool


Event = Call | Answer


class _RefusedError(Exception):
    """This request is not read to its end."""

    def __init__(self, status: int) -> None:
        self.status = status


class Connection:
    def __init__(self, targets: Mapping[bytes, str]) -> None:
        self._gate = Gate(targets)
        self._events: list[Event] = []
        self._url: list[bytes] = []
        self._fields: dict[bytes, bytes] = {}
        self._headers: dict[bytes, bytes] = {}
        self._body: bytes | bytearray = b""
        self._form = PLAIN
        self._closed = False
        self._unused_bytes = 0
        # The parser calls whatever it finds under these names: these two cost no Python call.
        self.on_url = self._url.append
        self.on_header = self._fields.__setitem__
        self._parser = HttpRequestParser(self)

    @property
    def reading(self) -> bool:
        """Whether a request has begun and is not complete."""
        return bool(self._url)

    def feed(self, data: bytes) -> list[Event]:
        if self._closed:
            return []
        events = self._events = []
        self._unused_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if self._unused_bytes > HEAD_BYTES_MAX:
                raise _RefusedError(431)
        except _RefusedError as refused:
            self._refuse(refused.status)
        except (HttpParserError, HttpParserUpgrade) as error:
            cause = error.__context__
            self._refuse(cause.status if isinstance(cause, _RefusedError) else 400)
        return events

    def _refuse(self, status: int) -> None:
        if not self._closed:
            self._closed = True
            self._events.append(Answer(respond(status, b"", Form(close=True)), close=True))

    # ---- the parser's callbacks ----

    def on_headers_complete(self) -> None:
        headers = {name.lower(): value for name, value in self._fields.items()}
        self._headers = headers
        if self._unused_bytes > HEAD_BYTES_MAX:  # of which the body may be a part
            self._check_head_size()
        self._unused_bytes = 0
        if int(headers.get(b"content-length", 0)) > BODY_BYTES_MAX:
            raise _RefusedError(413)
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise _RefusedError(400)
        if self._parser.should_upgrade():  # to another protocol, or a tunnel: the body is lost
            raise _RefusedError(400)
        if b"host" not in headers and self._parser.get_http_version() != "1.0":
            raise _RefusedError(400)
        self._form = self._read_form(headers)
        if b"expect" in headers and self._parser.get_http_version() != "1.0":
            self._events.append(Answer(CONTINUE, close=False))

    def on_body(self, piece: bytes) -> None:
        self._unused_bytes = 0
        if not self._body:
            self._body = piece
        elif isinstance(self._body, bytearray):
            self._body += piece
        else:
            self._body = bytearray(self._body + piece)
        if len(self._body) > BODY_BYTES_MAX:
            raise _RefusedError(413)

    def on_message_complete(self) -> None:
        url = self._url[0] if len(self._url) == 1 else b"".join(self._url)
        method = self._parser.get_method()
        body = bytes(self._body)
        form = self._form
        self._url.clear()
        self._fields.clear()  # also of trailers, which mean nothing here
        self._body = b""
        self._unused_bytes = 0
        self._closed = form.close
        event: Event
        try:
            operation, region = self._gate.admit(method, url, self._headers, body)
            event = Call(operation, body, region, form)
        except ApiError as error:
            event = Answer(fail(error, form), form.close)
        except NotFoundError:
            event = Answer(answer_elsewhere(method, url, self._headers, form), form.close)
        self._events.append(event)

    # ---- what a head says ----

    def _check_head_size(self) -> None:
        fields = sum(len(name) + len(value) for name, value in self._fields.items())
        if fields + sum(map(len, self._url)) > HEAD_BYTES_MAX:
            raise _RefusedError(431)

    def _read_form(self, headers: Mapping[bytes, bytes]) -> Form:
        close = not self._parser.should_keep_alive()
        gzip = b"gzip" in headers.get(b"accept-encoding", b"")
        cross_origin = b"origin" in headers
        head_only = self._parser.get_method() == b"HEAD"
        if close or gzip or cross_origin or head_only:
            return Form(close, gzip, cross_origin, head_only)
        return PLAIN
