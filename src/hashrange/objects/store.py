"""The interface of an object store, its errors, and a check of its behaviour."""

from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple, Protocol
from uuid import uuid4


class ObjectError(Exception):
    """The store cannot carry out a call; the message is one line for the operator."""


class Unreachable(ObjectError):
    """The store does not answer, or answers with internal errors. A later call may succeed."""


class NoSuchObject(ObjectError):
    """There is no object with this name."""


class Taken(ObjectError):
    """There is already an object with this name and other bytes."""


class ObjectTooLarge(ObjectError):
    """The object has more bytes than its reader accepts."""


class Listed(NamedTuple):
    name: str
    size_bytes: int


class Objects(Protocol):
    """Named bytes. The parts of a name are separated by slashes; names are relative to `address`.

    Calls block, and several threads may make them at once. All calls raise `ObjectError`. A call
    that fails for a temporary reason is repeated before it raises an error.
    """

    address: str
    """A folder, or `s3://bucket/prefix`."""

    def put(self, name: str, body: bytes) -> None:
        """Write a new object. After the return, the object survives a power cut.

        If the object exists with the same bytes, an earlier attempt has succeeded, and this call
        succeeds too. Raises `Taken` if it exists with other bytes.
        """

    def put_file(self, name: str, path: str) -> None:
        """Like `put`, for the content of a file of any size. It takes little memory."""

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an object of any size, in pieces of a few megabytes. If the object does not
        exist, the request for the first piece raises `NoSuchObject`; the call itself does not."""

    def list(self, prefix: str = "", after: str = "") -> Iterator[Listed]:
        """The objects whose names begin with `prefix` and come after `after`, in the order of the
        names' UTF-8 bytes.
        """

    def delete(self, name: str) -> None:
        """Delete an object if it exists."""


def get(objects: Objects, name: str, bytes_max: int) -> bytes:
    """The bytes of an object. Raises `NoSuchObject`, and `ObjectTooLarge` above `bytes_max`."""
    body = bytearray()
    for chunk in objects.chunks(name):
        body += chunk
        if len(body) > bytes_max:
            raise ObjectTooLarge(f"{objects.address}: {name} is larger than {bytes_max:,} bytes")
    return bytes(body)


def expect_same(objects: Objects, name: str, digest: bytes) -> None:
    """Raise `Taken` unless the bytes of the object have this SHA-256."""
    hasher = sha256()
    for chunk in objects.chunks(name):
        hasher.update(chunk)
    if hasher.digest() != digest:
        raise Taken(f"{objects.address}: {name} exists already, with other content")


def probe(objects: Objects) -> None:
    """Check that objects can be written, listed and deleted, and that no object is ever replaced.

    Raises `ObjectError`. Some services accept the header If-None-Match but ignore it. With such a
    service, two writers would destroy each other's objects.
    """
    name = f"probe-{uuid4().hex}"
    objects.put(name, b"one")  # outside of `try`: if it fails, there is nothing to delete
    try:
        with suppress(Taken):
            objects.put(name, b"other")
            raise ObjectError(
                f"{objects.address}: this service ignores the header If-None-Match: *, so an "
                "object could be overwritten; use a service that supports this header"
            )
        if get(objects, name, 100) != b"one" or [e.name for e in objects.list(name)] != [name]:
            raise ObjectError(f"{objects.address}: an object that was written cannot be read back")
    finally:
        objects.delete(name)
