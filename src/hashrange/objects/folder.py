"""Objects in a folder of a file system. Slashes in their names separate subfolders."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from stat import S_ISREG
from typing import BinaryIO
from uuid import uuid4

from hashrange.objects.store import Listed, NoSuchObject, ObjectError, expect_same

_CHUNK_BYTES = 8 << 20
_UNFINISHED = ".unfinished"
"""The folder of objects that are being written. Files that a killed process has left in it are
removed after a day."""

_UNFINISHED_SECONDS = 86_400


class Folder:
    """A store of objects in a folder. Names with a part that begins with a dot are not objects.

    An object is linked to its name after all its bytes are on disk, so it exists completely or not
    at all. Linking never replaces an existing object.
    """

    def __init__(self, path: str) -> None:
        self.address = path

    def put(self, name: str, body: bytes) -> None:
        with self._explained(name):
            self._put(name, lambda file: file.write(body), sha256(body).digest())

    def put_file(self, name: str, path: str) -> None:
        with open(path, "rb") as source, self._explained(name):
            digest = sha256()
            while chunk := source.read(_CHUNK_BYTES):
                digest.update(chunk)
            source.seek(0)
            self._put(
                name, lambda file: shutil.copyfileobj(source, file, _CHUNK_BYTES), digest.digest()
            )

    def chunks(self, name: str) -> Iterator[bytes]:
        path = self._path(name)
        with self._explained(name), open(path, "rb", opener=_without_waiting) as file:
            if not S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ObjectError(f"{self.address}: {name} is not a file")
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk

    def list(self, prefix: str = "", after: str = "") -> Iterator[Listed]:
        start = after.encode()
        with self._explained(prefix):
            encoded = (each.encode() for each in self._below(prefix))
            names = sorted(each for each in encoded if each > start)
            for name in (each.decode() for each in names):
                with suppress(FileNotFoundError):  # it has just been deleted
                    yield Listed(name, os.path.getsize(self._path(name)))

    def delete(self, name: str) -> None:
        path = self._path(name)
        with self._explained(name), suppress(FileNotFoundError):
            os.remove(path)
            _sync_folder(os.path.dirname(path))

    def _put(self, name: str, write: Callable[[BinaryIO], object], digest: bytes) -> None:
        path = self._path(name)
        if os.path.exists(path):
            expect_same(self, name, digest)
            _sync_folder(os.path.dirname(path))  # the process that linked it may not have
            return
        unfinished = self._unfinished()
        try:
            with open(unfinished, "xb", opener=_for_the_owner) as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            self._make_folders(os.path.dirname(path))
            try:
                os.link(unfinished, path)
            except FileExistsError:
                expect_same(self, name, digest)
            _sync_folder(os.path.dirname(path))
        finally:
            with suppress(FileNotFoundError):
                os.remove(unfinished)

    def _unfinished(self) -> str:
        folder = os.path.join(self.address, _UNFINISHED)
        if not os.path.isdir(folder):
            self._make_folders(folder)
        for entry in os.scandir(folder):
            with suppress(FileNotFoundError):
                if entry.stat().st_mtime < time.time() - _UNFINISHED_SECONDS:
                    os.remove(entry.path)
        return os.path.join(folder, uuid4().hex)

    def _make_folders(self, path: str) -> None:
        """Like `os.makedirs`, but the new folders survive a power cut."""
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        self._make_folders(parent)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        _sync_folder(parent)

    def _path(self, name: str) -> str:
        if not _is_name(name):
            raise ObjectError(f"{self.address}: {name!r} cannot be the name of an object")
        return os.path.join(self.address, *name.split("/"))

    def _below(self, prefix: str) -> Iterator[str]:
        top, slash, _ = prefix.rpartition("/")
        if slash and not _is_name(top):
            return  # no object has such a name
        for folder, folders, files in os.walk(self._path(top) if slash else self.address):
            folders[:] = [each for each in folders if not each.startswith(".")]
            for file in files:
                path = os.path.join(folder, file)
                name = os.path.relpath(path, self.address).replace(os.sep, "/")
                if name.startswith(prefix) and not file.startswith("."):
                    yield name

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise NoSuchObject(f"{self.address}: there is no object {name}") from error
        except OSError as error:
            raise ObjectError(f"{self.address}: {name}: {error.strerror or error}") from error


def _is_name(name: str) -> bool:
    parts = name.split("/")
    if os.sep != "/" and os.sep in name:
        return False
    return all(part and not part.startswith(".") and "\0" not in part for part in parts)


def _for_the_owner(path: str, flags: int) -> int:
    """Open a file. A new file can be read only by its owner, like a database file."""
    return os.open(path, flags, 0o600)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting, even if it is a pipe without a writer. The caller refuses a
    pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _sync_folder(path: str) -> None:
    """Make new names survive a power cut. Windows has no such call."""
    if os.name != "nt":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
