"""The progress of a transfer: on a terminal while it runs, and in a file, to continue later."""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import msgspec

from hashrange.formats.files import open_new
from hashrange.formats.items import DataError

_EVERY_SECONDS = 0.2
_SAVED_EVERY_SECONDS = 1.0


class Progress:
    """One line on a terminal that is updated; nothing if stderr is not a terminal.

    `share` turns a number of items into a share of the whole, from 0 to 1. `doing` names the
    current activity, if it is not the transfer itself.
    """

    def __init__(
        self,
        share: Callable[[int], float],
        items: int = 0,
        stream: TextIO | None = None,
        doing: Callable[[], str] = str,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.items = items
        self._before = items
        self._share = share
        self._doing = doing
        self._timer = timer
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._teller = threading.Thread(target=self._tell_often, daemon=True)
        self._began = timer()
        self._from = share(items) if self._shown else 0.0

    def __enter__(self) -> Self:
        if self._shown:
            self.tell()
            self._teller.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._shown:
            self._ended.set()
            self._teller.join()
            self._write("")

    def advance(self, items: int) -> None:
        self.items += items

    def begin_again(self) -> None:
        """Start again at 0 items."""
        self.items = self._before = 0

    def tell(self) -> None:
        self._write(self._line(self._timer()))

    def say(self, text: str) -> None:
        """Print a remark above the progress line."""
        clear = "\r\x1b[K" if self._shown else ""
        with self._lock:
            print(f"{clear}hashrange: {text}", file=self._stream)

    def _tell_often(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            self.tell()

    def _write(self, text: str) -> None:
        with self._lock:
            self._stream.write(f"\r{text}\x1b[K")
            self._stream.flush()

    def _line(self, now: float) -> str:
        took = max(now - self._began, 1e-9)
        share = min(self._share(self.items), 1.0)
        if doing := self._doing():
            return f"{doing}, {share:.0%}"
        rate = (self.items - self._before) / took
        left = ""
        if share > self._from:
            left = f", {_clock(took * (1 - share) / (share - self._from))} left"
        return f"{self.items:,} items, {rate:,.0f}/s, {share:.0%}{left}"

    def speed(self) -> str:
        """The number of items and the elapsed time, for the last line."""
        took = max(self._timer() - self._began, 1e-9)
        return f"in {took:,.1f} s ({(self.items - self._before) / took:,.0f}/s)"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Bookmark:
    """A file that records the progress of a transfer, so that an interrupted transfer can continue.

    `what` identifies the transfer, so that no other transfer continues from this file. Before you
    call `save`, sync the data that the state describes.
    """

    def __init__(self, path: Path, what: dict[str, Any]) -> None:
        self.path = path
        self._what = what
        self._saved = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """The saved state, or None. Raises DataError if it belongs to another transfer."""
        try:
            content = msgspec.json.decode(self.path.read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(
                f"{self.path}: not readable: {error}; remove it to start over"
            ) from None
        if content.get("what") != self._what:
            raise DataError(
                f"{self.path}: belongs to another transfer; finish that one, or remove the file"
            )
        state: dict[str, Any] = content["state"]
        return state

    def due(self) -> bool:
        return time.monotonic() - self._saved >= _SAVED_EVERY_SECONDS

    def save(self, state: dict[str, Any]) -> None:
        content = msgspec.json.encode({"what": self._what, "state": state})
        beside = self.path.with_name(f"{self.path.name}.new")
        with open_new(beside) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)
        self._saved = time.monotonic()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
