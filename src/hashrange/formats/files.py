"""Files that are read in pieces of limited size, and files that appear only when complete."""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from hashrange.formats.items import ITEM_JSON_BYTES_MAX, DataError

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK_BYTES = 1 << 20
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


class Source:
    """A stream of bytes that is read from beginning to end. `name` stands for it in messages.

    Raises DataError.
    """

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.stream = stream
        self.name = name

    def rewind(self) -> None:
        """Go back to the beginning. If the stream cannot seek, call this only before the first
        read."""
        if self.stream.seekable():
            self.stream.seek(0)

    def read(self, size: int) -> bytes:
        try:
            return self.stream.read(size)
        except _DAMAGED as error:
            raise self._damaged(error) from None
        except OSError as error:
            raise DataError(f"{self.name}: {_reason(error)}") from None

    def chunks(self) -> Iterator[bytes]:
        while chunk := self.read(_CHUNK_BYTES):
            yield chunk

    def lines(self, line: int = 1) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, each with its number. The first line has the number
        `line`."""
        rest = b""
        for chunk in self.chunks():
            if not rest and chunk.isspace():  # blank lines compress very well
                line += chunk.count(b"\n")
                rest = chunk[chunk.rfind(b"\n") + 1 :]
                continue
            *whole, rest = (rest + chunk).split(b"\n")
            for text in whole:
                if text and not text.isspace():
                    self._check_line(text, line)
                    yield line, text
                line += 1
            self._check_line(rest, line)
        if rest and not rest.isspace():
            yield line, rest

    def _check_line(self, text: bytes, line: int) -> None:
        if len(text) > ITEM_JSON_BYTES_MAX:
            raise DataError(
                f"{self.name}:{line}: the line is longer than {ITEM_JSON_BYTES_MAX:,} bytes"
            )

    def _damaged(self, error: Exception) -> DataError:
        cut = isinstance(error, EOFError)
        what = "the gzip file is cut short" if cut else f"the gzip file is damaged: {error}"
        return DataError(f"{self.name}: {what}")


class Input(Source):
    """A file that is read from beginning to end, and decompressed if its content is gzip.

    `packed` says whether it is gzip. `doing` is the purpose for which the file is being read; it is
    empty while items are read. Raises DataError.
    """

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = path
        self.doing = ""
        try:
            self._file = open(path, "rb")  # noqa: SIM115  `close` closes it
            self.size = os.fstat(self._file.fileno()).st_size
            self.packed = self._file.read(2) == _GZIP_MAGIC
            self._file.seek(0)
        except OSError as error:
            raise DataError(f"{path}: {_reason(error)}") from None
        unpacked: Any = gzip.GzipFile(fileobj=self._file) if self.packed else self._file
        super().__init__(unpacked, name or str(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def consumed(self) -> float:
        """The part of the file that has been read, from 0 to 1."""
        try:
            return self._file.tell() / self.size if self.size else 1.0
        except ValueError:  # the file has been closed meanwhile
            return 1.0


def head(path: Path, size: int) -> bytes:
    """The first bytes of a file, after decompression. Empty if they cannot be read."""
    with Input(path) as source:
        try:
            return source.read(size)
        except DataError:  # the file is damaged: its reader will report that
            return b""


def open_new(path: Path) -> IO[bytes]:
    """Open a new file for writing, in place of any file that an earlier run has left.

    If the path is a symbolic link, the link is removed, not followed.
    """
    path.unlink(missing_ok=True)
    return open(path, "xb")


def unfinished(path: Path) -> Path:
    """The path of a file or folder until it is complete."""
    return path.with_name(f"{path.name}.unfinished")


@contextmanager
def appearing(path: Path) -> Iterator[IO[bytes]]:
    """A file to be written, which gets its name only when it is complete and on disk.

    Until then, it is called `NAME.unfinished`. After an error, it is removed.
    """
    growing = unfinished(path)
    try:
        with open_new(growing) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(growing, path)
    except BaseException:
        with suppress(OSError):
            growing.unlink()
        raise


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file, which appears when it is complete. It is compressed if its name ends in
    `.gz`."""
    with appearing(path) as file:
        if path.name.endswith(".gz"):
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                packed.writelines(chunks)
        else:
            file.writelines(chunks)


def not_utf8(name: str, line: int, byte: int) -> DataError:
    return DataError(
        f"{name}:{line}: not UTF-8 (byte 0x{byte:02X}); if the file is Latin-1, convert it with "
        "iconv -f LATIN1 -t UTF-8"
    )


def check_absent(path: Path) -> None:
    """Raises DataError if `path` exists, or if its parent directory does not."""
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no directory {path.parent}; create it first")
    if path.exists():
        raise DataError(f"{path}: exists already; name a new file")


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "is a directory; name a file"
    return error.strerror or str(error)
