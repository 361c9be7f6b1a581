"""A server with the part of S3's API that `hashrange.objects` uses, which can be told to fail.

It checks what a service checks: the signed SHA-256 of each body, `If-None-Match`, and the order of
the parts of an upload.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Literal
from unittest.mock import patch
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

Fault = Literal["error", "slow", "lost before", "lost after", "conflict"] | None
"""`lost after` carries the request out and closes the connection without an answer."""

SLOW_SECONDS = 0.05
PAGE = 1_000


class FakeS3:
    """`fault` is asked for each request, by its method and the key. `calls` are all requests."""

    def __init__(self) -> None:
        self.buckets: dict[str, dict[str, bytes]] = {"bucket": {}}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.calls: list[tuple[str, str]] = []
        self.fault: Callable[[str, str], Fault] = lambda method, key: None
        self.honours_conditions = True
        self.honours_conditions_of_parts = True
        self.page = PAGE
        self.lock = threading.Lock()
        self.url = ""


@contextmanager
def fake_s3() -> Iterator[FakeS3]:
    """The server, and no pauses of up to a second before boto3 repeats a request."""
    state = FakeS3()
    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        with patch("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None)):
            yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        self.status, self.code = status, code


Answer = tuple[int, dict[str, str], bytes]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: FakeS3

    def do_GET(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        url = urlsplit(self.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        query = {k: v[0] for k, v in parse_qs(url.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.state.calls.append((self.command, key))
        fault = self.state.fault(self.command, key)
        if fault == "lost before":
            self.close_connection = True
            return
        if fault == "slow":
            time.sleep(SLOW_SECONDS)
        try:
            if fault == "error":
                raise _Refused(503, "SlowDown")
            if fault == "conflict":
                raise _Refused(409, "ConditionalRequestConflict")
            if hashlib.sha256(body).hexdigest() != self.headers["x-amz-content-sha256"]:
                raise _Refused(400, "XAmzContentSHA256Mismatch")
            with self.state.lock:
                if bucket not in self.state.buckets:
                    raise _Refused(404, "NoSuchBucket")
                answer = self._answer(self.state.buckets[bucket], key, query, body)
        except _Refused as refused:
            message = f"<Error><Code>{refused.code}</Code><Message>as told</Message></Error>"
            answer = refused.status, {}, message.encode()
        if fault == "lost after":
            self.close_connection = True
            return
        status, headers, content = answer
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _answer(
        self, objects: dict[str, bytes], key: str, query: dict[str, str], body: bytes
    ) -> Answer:
        match self.command:
            case "GET" if not key:
                return self._list(objects, query)
            case "GET":
                return self._get(objects, key)
            case "DELETE" if "uploadId" in query:
                self.state.uploads.pop(query["uploadId"], None)
                return 204, {}, b""
            case "DELETE":
                objects.pop(key, None)
                return 204, {}, b""
            case "PUT" if "uploadId" in query:
                self._upload(query)[int(query["partNumber"])] = body
                return 200, {"ETag": _tag(body)}, b""
            case "PUT":
                self._put(objects, key, body)
                return 200, {"ETag": _tag(body)}, b""
            case "POST" if "uploads" in query:
                upload = f"upload-{len(self.state.calls)}"
                self.state.uploads[upload] = {}
                return 200, {}, _xml("InitiateMultipartUploadResult", f"<UploadId>{upload}<")
            case _:
                self._complete(objects, key, query, body)
                return 200, {}, _xml("CompleteMultipartUploadResult", "<ETag>e<")

    def _upload(self, query: dict[str, str]) -> dict[int, bytes]:
        if query["uploadId"] not in self.state.uploads:
            raise _Refused(404, "NoSuchUpload")
        return self.state.uploads[query["uploadId"]]

    def _complete(
        self, objects: dict[str, bytes], key: str, query: dict[str, str], body: bytes
    ) -> None:
        parts = self._upload(query)
        numbers = [
            int(element.text or "")
            for element in ElementTree.fromstring(body).iter()
            if element.tag.endswith("PartNumber")
        ]
        whole = b"".join(parts[number] for number in numbers)
        self._put(objects, key, whole, self.state.honours_conditions_of_parts)
        del self.state.uploads[query["uploadId"]]

    def _put(self, objects: dict[str, bytes], key: str, body: bytes, honours: bool = True) -> None:
        conditional = self.headers["If-None-Match"] == "*" and self.state.honours_conditions
        if conditional and honours and key in objects:
            raise _Refused(412, "PreconditionFailed")
        objects[key] = body

    def _get(self, objects: dict[str, bytes], key: str) -> Answer:
        if key not in objects:
            raise _Refused(404, "NoSuchKey")
        body = objects[key]
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        if int(first) >= len(body):
            raise _Refused(416, "InvalidRange")
        piece = body[int(first) : int(last) + 1]
        span = f"bytes {first}-{int(first) + len(piece) - 1}/{len(body)}"
        return 206, {"ETag": _tag(body), "Content-Range": span}, piece

    def _list(self, objects: dict[str, bytes], query: dict[str, str]) -> Answer:
        after = query.get("continuation-token") or query.get("start-after", "")
        names = sorted(
            name for name in objects if name.startswith(query.get("prefix", "")) and name > after
        )
        page = names[: self.state.page]
        entries = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(objects[name])}</Size></Contents>"
            for name in page
        )
        more = len(names) > len(page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        truncated = f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        content = f"<ListBucketResult>{truncated}{token}{entries}</ListBucketResult>"
        return 200, {"Content-Type": "application/xml"}, content.encode()


def _tag(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'


def _xml(name: str, opened: str) -> bytes:
    """An element `name` with one child, whose end tag is still to be written."""
    child = opened[1 : opened.index(">")]
    return f"<{name}>{opened}/{child}></{name}>".encode()
