"""The state of one client's connection: it takes bytes, and returns events, in order.

    bytes -> Call(operation, body, ...)    a call for the database, to be answered in its `form`
          -> Answer(data, close)           an answer without the database, to be sent as it is

Nothing is raised, and at most one unfinished request is held. After an event that closes the
connection, all further bytes are ignored. Requests that two programs could delimit differently are
refused: the parser refuses repeated lengths, a length together with chunks, and bare line feeds.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256

import msgspec
from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from msgspec.structs import replace

from hashrange.model.caller import DEFAULT_ACCOUNT, Caller
from hashrange.model.errors import ApiError, SerializationException
from hashrange.wire import codings
from hashrange.wire.authentication import Signer, claimed_key
from hashrange.wire.header_cache import HeaderCache
from hashrange.wire.non_api import NonApi, answer_non_api
from hashrange.wire.origins import FOREIGN_HOST, NO_ORIGINS, ForeignHostError, Origins
from hashrange.wire.responses import (
    APPLICATION_JSON,
    CONTINUE,
    JSON,
    PLAIN,
    Form,
    RequestTooLargeException,
    fail,
    respond,
)
from hashrange.wire.routing import NotFoundError, Sent, Targets, admit, content_type
from hashrange.wire.signature import Digest, Verifier

BODY_BYTES_MAX = 16 * 1024 * 1024
HEAD_BYTES_MAX = 16 * 1024  # the service's own limit is not known; its answer is 400 as well
HEADERS_MAX = 64

INVOCATION_BYTES_MAX = 64
_ATTEMPT = re.compile(rb"attempt=(\d{1,6})")

HEADER_OVERHEAD_BYTES = 128
"""The memory that a header takes besides its characters."""

_DECODED_AT_ONCE_BYTES_MAX = 1024 * 1024
"""The largest decoded size of a compressed body that is decoded at once. Decoding a larger body
would take long."""


class Call(msgspec.Struct, gc=False):
    """A call of the API. If it has a `coding`, its body is still compressed (see `decoded`)."""

    operation: str
    body: bytes
    caller: Caller
    form: Form
    coding: bytes = b""


class Answer(msgspec.Struct, gc=False):
    """An answer that needs no database. `error` is the code of a refusal, and `access_key` the key
    that the request names."""

    data: bytes
    close: bool
    error: str = ""
    access_key: str = ""


Event = Call | Answer

GO_ON = Answer(CONTINUE, close=False)
"""The answer to a client that waits for permission to send its body. The answer to the request
follows."""


def decoded(call: Call) -> bytes:
    """The decoded body of a call. Decoding may take long, so it is best done in a thread.

    Raises SerializationException or RequestTooLargeException.
    """
    try:
        return codings.decode(call.body, call.coding, BODY_BYTES_MAX) if call.coding else call.body
    except codings.CodingError:
        raise SerializationException("") from None
    except codings.TooLargeError:
        raise RequestTooLargeException("") from None


class _RefusedError(Exception):
    """The request is refused, and the rest of it is not read."""

    def __init__(self, status: int) -> None:
        self.status = status


def _decode_if_small(call: Call) -> None:
    """Decode the body of a call, unless the decoded body would be large. Raises
    codings.CodingError."""
    with suppress(codings.TooLargeError):
        call.body = codings.decode(call.body, call.coding, _DECODED_AT_ONCE_BYTES_MAX)
        call.coding = b""


def _signed_twice(fields: Iterable[bytes]) -> bool:
    """Whether the names have Authorization more than once, in upper or lower case."""
    return [name.lower() for name in fields].count(b"authorization") > 1


class Connection:
    """The server's side of one connection.

    Without a `verifier`, any well-formed credentials are accepted, but no foreign Host (see
    `origins`).

    With a `verifier`, a second Authorization header is refused. Without one, only the first of
    several headers with the same name in the same case is used, because detecting further ones
    would cost a Python call per header.

    `non_api` answers requests that are not calls of the API. Pages of the `origins` may call the
    server. With `tells_attempts`, each `Caller` has the number of the request's attempt.
    """

    def __init__(
        self,
        targets: Targets,
        verifier: Verifier | None = None,
        non_api: NonApi = answer_non_api,
        origins: Origins = NO_ORIGINS,
        tells_attempts: bool = False,
    ) -> None:
        self._targets = targets
        self._verifier = verifier
        self._non_api = non_api
        self._origins = origins
        self._header_cache = HeaderCache(targets)
        self._events: list[Event] = []
        self._tells_attempts = tells_attempts
        self.address, self.secure = "", False
        """The client's address, and whether it uses TLS, for policies."""
        self._closed = False
        # The request being read. `_operation` is known by the head if the header cache admits it.
        self._url: list[bytes] = []
        self._fields: dict[bytes, bytes] = {}
        self._operation: str | None = None
        self._headers: dict[bytes, bytes] = {}
        self._form = PLAIN
        self._body = bytearray()
        self._digest = sha256()
        self._pieces: list[bytes] = []
        self._stray_bytes = 0
        # The parser calls these three by name; as bound built-in methods they cost no Python call.
        self.on_url = self._url.append
        self.on_header = self._join_header if verifier else self._fields.setdefault
        self.on_body = self._pieces.append
        self._parser = HttpRequestParser(self)

    @property
    def reading(self) -> bool:
        """Whether the beginning of a request has arrived, but not its end."""
        return bool(self._url)

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that the unfinished request takes now."""
        overhead = HEADER_OVERHEAD_BYTES * len(self._fields)
        return self._stray_bytes + overhead + len(self._body)

    @property
    def needed_bytes(self) -> int:
        """The memory in bytes that the unfinished request may take in the end, according to its
        head."""
        if self._operation is None and not self._headers:
            return self.held_bytes  # the head is not complete
        lengths = {name.lower(): value for name, value in self._fields.items()}
        needed = (
            self.held_bytes - len(self._body) + int(lengths.get(b"content-length", BODY_BYTES_MAX))
        )
        return needed + BODY_BYTES_MAX if b"content-encoding" in lengths else needed

    def close(self) -> None:
        """Free the buffers and the parser after the client has gone. Call this at most once.

        The parser refers to this object, so an unfinished body would otherwise stay in memory until
        the next full garbage collection.
        """
        self._closed = True
        self._drop_body()
        del self._parser

    def feed(self, data: bytes) -> list[Event]:
        if self._closed:
            return []
        events = self._events = []
        self._stray_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if self._url or self._pieces or self._stray_bytes > HEAD_BYTES_MAX:
                self._check_unfinished()
        except _RefusedError as refused:
            self._refuse(refused.status)
        except (HttpParserError, HttpParserUpgrade) as error:
            cause = error.__context__
            self._refuse(cause.status if isinstance(cause, _RefusedError) else 400)
        return events

    def _refuse(self, status: int) -> None:
        if not self._closed:
            self._closed = True
            self._drop_body()
            self._events.append(Answer(respond(status, b"", Form(close=True)), close=True))

    def _drop_body(self) -> None:
        self._url.clear()
        self._pieces.clear()
        self._body.clear()

    def _check_unfinished(self) -> None:
        """Limit the memory of the unfinished request: its head, its body, and any other bytes, such
        as the sizes of chunks."""
        if self._pieces:
            self._stray_bytes = 0
            self._gather()
        if self._stray_bytes > HEAD_BYTES_MAX or len(self._fields) > HEADERS_MAX:
            raise _RefusedError(400)

    def _gather(self) -> None:
        """Add new pieces to the body, and hash each of them: to hash a large body at once would
        take long."""
        if self._verifier and not self._body:
            self._digest = sha256()
        for piece in self._pieces:
            self._body += piece
            if self._verifier:
                self._digest.update(piece)
        self._pieces.clear()
        if len(self._body) > BODY_BYTES_MAX:
            raise _RefusedError(413)

    # ---- the parser's callbacks ----

    def _join_header(self, name: bytes, value: bytes) -> None:
        """Add a header, joined to earlier ones of the same name, because a signature covers all
        their values."""
        name = name.lower()
        if name == b"authorization" and name in self._fields:
            raise _RefusedError(400)
        self._fields[name] = (
            b"%b,%b" % (earlier, value)
            if (earlier := self._fields.get(name)) is not None
            else value
        )

    def on_headers_complete(self) -> None:
        parser = self._parser
        if parser.should_keep_alive() and parser.get_method() == b"POST":
            self._operation = self._header_cache.operation(self._url, self._fields)
        if self._operation is None:
            self._read_head()
        self._stray_bytes = 0

    def on_message_complete(self) -> None:
        if self._body or len(self._pieces) != 1:
            self._gather()
            body = bytes(self._body)
            self._body = bytearray()
            digest = self._digest
        else:
            body = self._pieces.pop()
            digest = None
        if self._operation is None:
            self._complete_closely(body, digest)
        else:
            cached = self._header_cache
            caller = self._attempt(cached.caller) if self._tells_attempts else cached.caller
            self._events.append(Call(self._operation, body, caller, cached.form))
            self._operation = None
        self._url.clear()
        self._fields.clear()
        self._stray_bytes = 0

    def _caller(self, signer: Signer) -> Caller:
        principal = signer.principal
        account = DEFAULT_ACCOUNT if principal is None else principal.account
        return Caller(
            signer.region, account, signer.access_key, principal, self.address, self.secure
        )

    def _attempt(self, caller: Caller) -> Caller:
        """The caller, with the invocation id and the attempt number that AWS SDKs send in
        headers."""
        sent = {name.lower(): value for name, value in self._fields.items()}
        invocation = sent.get(b"amz-sdk-invocation-id", b"")[:INVOCATION_BYTES_MAX]
        attempt = _ATTEMPT.search(sent.get(b"amz-sdk-request", b""))
        number = int(attempt[1]) if attempt else 1
        return replace(caller, invocation=invocation.decode("latin-1"), attempt=number)

    # ---- requests that the header cache does not admit ----

    def _read_head(self) -> None:
        parser, headers = self._parser, {k.lower(): v for k, v in self._fields.items()}
        if len(headers) < len(self._fields) and _signed_twice(self._fields):
            raise _RefusedError(400)
        if len(self._fields) > HEADERS_MAX:
            raise _RefusedError(400)
        http_1_0 = parser.get_http_version() == "1.0"
        if self._stray_bytes > HEAD_BYTES_MAX:  # the body's first bytes may be among them
            sizes = (len(name) + len(value) for name, value in headers.items())
            if sum(sizes) + sum(map(len, self._url)) > HEAD_BYTES_MAX:
                raise _RefusedError(400)
        if int(headers.get(b"content-length", 0)) > BODY_BYTES_MAX:
            raise _RefusedError(413)
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise _RefusedError(400)
        if parser.should_upgrade() or (b"host" not in headers and not http_1_0):
            raise _RefusedError(400)
        if b"expect" in headers and not http_1_0:
            self._events.append(GO_ON)
        self._headers = headers
        self._form = Form(
            close=not parser.should_keep_alive(),
            coding=codings.preferred(headers.get(b"accept-encoding", b"")),
            origin=self._origins.allowed(headers.get(b"origin", b"")),
            head_only=parser.get_method() == b"HEAD",
            content_type=JSON if content_type(headers) == JSON else APPLICATION_JSON,
        )
        if self._form == PLAIN:
            self._form = PLAIN  # the same object, which `succeed` recognises quickly

    def _complete_closely(self, body: bytes, digest: Digest | None) -> None:
        method, url = self._parser.get_method(), b"".join(self._url)
        headers, form = self._headers, self._form
        self._headers = {}
        self._closed = form.close
        event: Event
        try:
            if self._verifier is None:  # else every call is signed
                self._origins.check_host(headers.get(b"host", b""))
            sent = Sent(method, url, headers, body, digest)
            operation, signer = admit(self._targets, self._verifier, sent)
            caller = self._caller(signer)
            if self._tells_attempts:
                caller = self._attempt(caller)
            event = Call(operation, body, caller, form, headers.get(b"content-encoding", b""))
            if event.coding:
                _decode_if_small(event)
            if self._verifier is None:  # else every signature is verified
                self._header_cache.set(self._url, self._fields, caller, form)
        except ApiError as error:
            claimed = claimed_key(headers, url)
            event = Answer(fail(error, form), form.close, error.code, claimed)
        except codings.CodingError:
            event = Answer(fail(SerializationException(""), form), form.close)
        except ForeignHostError:
            event = Answer(respond(403, FOREIGN_HOST, form), form.close)
        except NotFoundError:
            event = Answer(self._non_api(method, url, headers, form), form.close)
        self._events.append(event)
