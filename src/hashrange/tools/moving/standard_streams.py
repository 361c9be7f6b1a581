"""Standard input and output as files, because readers and writers may need two passes."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hashrange.tools.moving.progress import Progress

STANDARD = Path("-")
"""The path that stands for standard input or output on the command line."""
INPUT_NAME = "standard input"
_CHUNK_BYTES = 1 << 16


@contextmanager
def named_file(path: Path) -> Iterator[tuple[Path, str]]:
    """The file to read, and its name in messages. For `-`, the file is a copy of standard input."""
    if path != STANDARD:
        yield path, str(path)
        return
    with tempfile.TemporaryDirectory(prefix="hashrange-") as folder:
        copy = Path(folder) / "input"
        size = 0

        def doing() -> str:
            return f"reading standard input: {size:,} bytes"

        with open(copy, "xb") as file, Progress(lambda _: 0.0, doing=doing):
            while chunk := sys.stdin.buffer.read(_CHUNK_BYTES):
                size += file.write(chunk)
        yield copy, INPUT_NAME


@contextmanager
def printed_file(path: Path) -> Iterator[Path]:
    """The file to write. For `-`, a temporary file, which is finally copied to standard output."""
    if path != STANDARD:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="hashrange-") as folder:
        made = Path(folder) / "output"
        yield made
        with open(made, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, _CHUNK_BYTES)
        sys.stdout.buffer.flush()
