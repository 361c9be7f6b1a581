"""Opens the buckets that imports read from and exports write to.

`serve --objects` names their place: a folder whose subfolders are the buckets, or `s3://` for S3 or
another service with its API.
"""

import io
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hashrange.kv import StoreError
from hashrange.model.errors import ApiError
from hashrange.objects import ObjectError, Objects, open_objects

S3 = "s3://"

_log = logging.getLogger("hashrange")


class Failed(Exception):
    """A job has failed. `code` is the service's code for the failure."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Buckets:
    def __init__(self, address: str) -> None:
        self._address = address

    def bucket(self, name: str) -> Objects:
        """The bucket with this name. Raises Failed if its folder does not exist; in S3, this is not
        checked."""
        if self._address == S3:
            return open_objects(S3 + name)
        path = os.path.join(self._address, name)
        if os.path.basename(path) != name or name.startswith(".") or not os.path.isdir(path):
            raise Failed("S3NoSuchBucket", "The specified bucket does not exist")
        return open_objects(path)


@contextmanager
def failing() -> Iterator[None]:
    """A context manager that converts the errors of an object store to Failed."""
    try:
        yield
    except ObjectError as error:
        absent = "there is no bucket" in str(error)
        raise Failed("S3NoSuchBucket" if absent else "S3AccessDenied", str(error)) from None


def failure(error: Exception, arn: str) -> tuple[str, str]:
    """The service's code for the failure of a job, and a message.

    Errors of the database are raised again, because the job can be tried again later. Any error
    other than Failed is logged.
    """
    if isinstance(error, ApiError | StoreError):
        raise error
    if isinstance(error, Failed):
        return error.code, str(error)
    _log.error("%s: internal error", arn, exc_info=error)
    return "InternalServerError", "Internal server error: see the log of the server"


class Stream(io.RawIOBase):
    """An object as a file that can be read once. `position` is the number of bytes read so far."""

    def __init__(self, objects: Objects, name: str) -> None:
        self._chunks = objects.chunks(name)
        self._ready = memoryview(b"")
        self.position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            with failing():
                chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._ready = memoryview(chunk)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        self.position += size
        return size
