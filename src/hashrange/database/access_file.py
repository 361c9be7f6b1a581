"""Reads the access file, a TOML file that names principals and the files of their policies."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from hashrange.access import generation
from hashrange.access.generation import Access, AccessError

POLICY_FILE_BYTES_MAX = 1024 * 1024


def read_access(path: Path) -> Access:
    """The principals that an access file names, with their policies. Raises AccessError or OSError.

    Raises AccessError if users outside the owner's group may change the access file or a policy
    file.
    """
    _check_safe(path)

    def text_of(name: str) -> str:
        beside = path.parent / name
        _check_safe(beside)
        if beside.stat().st_size > POLICY_FILE_BYTES_MAX:
            raise AccessError(f"{name}: the file is larger than {POLICY_FILE_BYTES_MAX} bytes")
        return _decoded(beside)

    try:
        document = tomllib.loads(_decoded(path))
    except tomllib.TOMLDecodeError as fault:
        raise AccessError(f"the file is not valid TOML: {fault}") from None
    return generation.read(document, text_of)


def access_of(setting: Any) -> Access | None:
    """The principals in `setting` (`Settings.access`), or in the file that it names.

    Raises AccessError or OSError.
    """
    return setting if isinstance(setting, Access | None) else read_access(Path(setting))


def others_may(path: Path, bits: int) -> bool:
    """Whether users outside the file's group have any of the permissions `bits` (a mask as in
    `stat`)."""
    return os.name != "nt" and bool(path.stat().st_mode & bits)


def _check_safe(path: Path) -> None:
    if others_may(path, stat.S_IWOTH):
        raise AccessError(f"{path.name}: every user can change this file; run chmod o-w on it")


def _decoded(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise AccessError(f"{path.name}: the file is not UTF-8 text") from None
