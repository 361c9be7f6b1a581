"""A file of items that grows page by page, and can be read repeatedly."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from hashrange.formats import dynamodb_json
from hashrange.formats.files import Input, open_new
from hashrange.formats.items import DataError


class Spool:
    """A file in which the items of a table are collected, as lines of DynamoDB JSON.

    If the file exists, its first `size` bytes are kept.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        self.path = path
        self.size = size
        self._file: IO[bytes]  # see `close`
        self._file = open(path, "r+b") if size else open_new(path)  # noqa: SIM115
        if os.fstat(self._file.fileno()).st_size < size:
            self._file.close()
            raise DataError(f"{path}: is shorter than it was; remove it and start over")
        self._file.truncate(size)
        self._file.seek(size)

    def append(self, items: Sequence[bytes]) -> None:
        self.size += self._file.write(b"".join(dynamodb_json.write(items)))

    def sync(self) -> None:
        """Sync the appended items to disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        with Input(self.path) as source:
            for record in dynamodb_json.read(source):
                yield record.item
