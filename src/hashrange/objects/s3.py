"""Objects in a bucket of S3, or of a service with the same API, through boto3."""

import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnectionError

from hashrange.objects.store import Listed, NoSuchObject, ObjectError, Unreachable, expect_same

_CHUNK_BYTES = 8 << 20
_PART_BYTES = 16 << 20
_PARTS_MAX = 10_000
_ATTEMPTS = 5
_PAUSE_SECONDS = 0.05
_EXISTS = frozenset({"PreconditionFailed", "412", "NoSuchUpload"})
"""The error codes that mean that an object of this name exists already. NoSuchUpload is among them:
if the completion of an upload is repeated after a lost answer, the upload no longer exists."""

_CONFLICT = frozenset({"ConditionalRequestConflict", "OperationAborted", "409"})
"""The error codes that mean that two conditional writes of one name have collided. Then the request
must be sent again."""

_PAST_THE_END = frozenset({"InvalidRange", "416"})

_PASSING = frozenset({429, 500, 502, 503, 504})

_CONFIG = Config(
    connect_timeout=5,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
    # The signature, which every service checks, covers the bytes. Not all services understand the
    # checksums that boto3 adds by default.
    request_checksum_calculation="when_required",
    s3={"payload_signing_enabled": True},
)


class _Piece(NamedTuple):
    """Some bytes of an object, the size of the whole object, and a condition for further reads:
    they fail if the name has another object by then."""

    body: bytes
    size: int
    same_object: dict[str, str]


class S3:
    """A store of objects in a bucket. Large objects are uploaded in parts of 16 MB or more, and
    read in ranges of 8 MB, so that a failed request repeats only one part or range."""

    def __init__(self, bucket: str, prefix: str = "", endpoint_url: str | None = None) -> None:
        self.address = f"s3://{bucket}/{prefix}".rstrip("/")
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        with self._explained(""):
            self._client = boto3.Session().client("s3", endpoint_url=endpoint_url, config=_CONFIG)

    def put(self, name: str, body: bytes) -> None:
        digest = sha256(body).digest()
        with self._explained(name):
            self._unless_there(
                name,
                digest,
                lambda: self._client.put_object(
                    Body=body,
                    IfNoneMatch="*",
                    ChecksumSHA256=b64encode(digest).decode(),
                    **self._named(name),
                ),
            )

    def put_file(self, name: str, path: str) -> None:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= _PART_BYTES:
                self.put(name, file.read())
                return
            digest = sha256()
            for part in iter(lambda: file.read(_CHUNK_BYTES), b""):
                digest.update(part)
            if any(each.name == name for each in islice(self.list(name), 1)):
                # Some services ignore the condition at the end of a multipart upload.
                expect_same(self, name, digest.digest())
                return
            with self._explained(name):
                self._unless_there(
                    name, digest.digest(), lambda: self._upload(name, file, _part_bytes(size))
                )

    def chunks(self, name: str) -> Iterator[bytes]:
        piece = _Piece(b"", 1, {})
        position = 0
        while position < piece.size:
            with self._explained(name):
                piece = self._range(name, position, piece.same_object)
            yield piece.body
            position += len(piece.body)

    def list(self, prefix: str = "", after: str = "") -> Iterator[Listed]:
        start = {"StartAfter": self._prefix + after} if after else {}
        with self._explained(prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._prefix + prefix, **start
            )
            for page in pages:
                for entry in page.get("Contents", ()):
                    yield Listed(entry["Key"].removeprefix(self._prefix), entry["Size"])

    def delete(self, name: str) -> None:
        with self._explained(name):
            self._client.delete_object(**self._named(name))

    def _named(self, name: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._prefix + name}

    def _unless_there(self, name: str, digest: bytes, write: Callable[[], object]) -> None:
        """Write the object unless it exists. An existing object must have this digest: if an answer
        was lost, boto3 has repeated a successful request."""
        for attempt in range(_ATTEMPTS):
            try:
                write()
                return
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if code in _EXISTS:
                    break
                if code not in _CONFLICT or attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_PAUSE_SECONDS * 2**attempt)
        expect_same(self, name, digest)

    def _upload(self, name: str, file: BinaryIO, part_bytes: int) -> None:
        named = self._named(name)
        upload = named | {
            "UploadId": self._client.create_multipart_upload(**named)["UploadId"],
        }
        try:
            parts: list[dict[str, object]] = []
            file.seek(0)
            while part := file.read(part_bytes):
                number = len(parts) + 1
                answer = self._client.upload_part(Body=part, PartNumber=number, **upload)
                parts.append({"PartNumber": number, "ETag": answer["ETag"]})
            self._client.complete_multipart_upload(
                MultipartUpload={"Parts": parts}, IfNoneMatch="*", **upload
            )
        except BaseException:
            self._abort(upload)
            raise

    def _abort(self, upload: dict[str, str]) -> None:
        """Abort an upload. Otherwise the service would keep the uploaded parts, and charge for
        them."""
        with suppress(BotoCoreError, ClientError):
            self._client.abort_multipart_upload(**upload)

    def _range(self, name: str, first: int, condition: dict[str, str]) -> _Piece:
        """Read a piece of an object, from the byte `first` on. If reading the body fails, the
        request is repeated here, because boto3 repeats failed requests, but not failed reads of a
        body."""
        span = f"bytes={first}-{first + _CHUNK_BYTES - 1}"
        for attempt in range(_ATTEMPTS):
            try:
                answer = self._client.get_object(Range=span, **self._named(name), **condition)
                size = int(answer["ContentRange"].rpartition("/")[2])
                return _Piece(answer["Body"].read(), size, {"IfMatch": answer["ETag"]})
            except ClientError as error:
                if error.response["Error"]["Code"] in _PAST_THE_END:  # the object is empty
                    return _Piece(b"", 0, condition)
                raise
            except BotoCoreError:
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_PAUSE_SECONDS * 2**attempt)
        raise AssertionError

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            raise self._explain(name, error.response) from error
        except (BotoCoreError, ValueError) as error:
            kind = (
                Unreachable
                if isinstance(error, HTTPClientError | NoConnectionError)
                else ObjectError
            )
            line = " ".join(str(error).split())
            raise kind(f"{self.address}: {name}: {line}".replace(": :", ":")) from error

    def _explain(self, name: str, response: dict[str, Any]) -> ObjectError:
        error = response["Error"]
        code = error["Code"]
        if code in ("NoSuchKey", "404"):
            return NoSuchObject(f"{self.address}: there is no object {name}")
        if code == "NoSuchBucket":
            return ObjectError(f"{self.address}: there is no bucket {self._bucket}")
        line = " ".join(str(error.get("Message", "")).split())
        passing = response["ResponseMetadata"]["HTTPStatusCode"] in _PASSING
        kind = Unreachable if passing else ObjectError
        return kind(f"{self.address}: {name}: {code}: {line}")


def _part_bytes(size: int) -> int:
    """The size of the parts in which an object is uploaded: an upload has at most 10,000 parts."""
    return max(_PART_BYTES, -(-size // _PARTS_MAX))
