"""The statements of earlier sessions, in a file that only its owner can read.

Statements contain the user's data, so `.history off` stops recording, and `.history clear` deletes
the recorded statements. If the file cannot be written, the shell works without a history.
"""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory

BYTES_MAX = 1 << 20
_KEPT = BYTES_MAX // 2


def state_folder() -> Path:
    """The user's folder for state, by the system's conventions."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "hashrange"
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if state else Path.home() / ".local" / "state") / "hashrange"


class History(FileHistory):
    """The history of the prompt. `on` says whether statements are recorded."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path
        self.on = True
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
            path.chmod(0o600)
            self._shorten()
        except OSError:
            self.on = False

    def _shorten(self) -> None:
        """If the file is large, keep only its later half, beginning with a whole statement."""
        if self.path.stat().st_size > BYTES_MAX:
            tail = self.path.read_bytes()[-_KEPT:]
            self.path.write_bytes(tail[max(0, tail.find(b"\n\n# ")) :])

    def load_history_strings(self) -> Iterable[str]:
        try:
            return [*super().load_history_strings()]
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        if self.on and not string.lstrip().startswith(".history"):
            with suppress(OSError):
                super().store_string(string)

    def clear(self) -> None:
        """Delete all statements, including those of this session."""
        self._loaded_strings = []
        with suppress(OSError):
            os.truncate(self.path, 0)
