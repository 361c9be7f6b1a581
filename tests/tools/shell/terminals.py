"""A command in a pseudo-terminal, typed at and read from as a user does."""

import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path

from waiting import SECONDS_MAX

_READING, _READ = "\x1b[?2004h", "\x1b[?2004l"
"""Sent when the prompt begins to read, and when it ends: a switch of how pasted text comes."""


_OF_OURS = ("COLUMNS", "LINES", "NO_COLOR")


class Terminal:
    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master = master
        self.process = process
        self.raw = b""
        self._seen = 0

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> str:
        """Everything that came up to and with the text, since the last call."""
        wanted = text.encode()
        deadline = time.monotonic() + SECONDS_MAX
        while (at := self.raw.find(wanted, self._seen)) < 0:
            assert time.monotonic() < deadline, f"no {text!r} in {self.raw[self._seen :]!r}"
            assert self._read(), f"ended without {text!r}: {self.raw[self._seen :]!r}"
        found = self.raw[self._seen : at + len(wanted)]
        self._seen = at + len(wanted)
        return found.decode(errors="replace")

    def ready(self) -> str:
        """Wait for a prompt, and return what came before it."""
        return self.wait_for(_READING).removesuffix(_READING)

    def run(self, line: str) -> str:
        """Type a line at the prompt, and return what comes before the next prompt."""
        self.type(f"{line}\r")
        self.wait_for(_READ)
        return self.ready()

    def settle(self) -> None:
        """Wait until nothing has come for a while, as a user who looks at the screen does."""
        seen = -1
        while seen < len(self.raw):
            seen = len(self.raw)
            for _ in range(3):
                self._read()

    def interrupt(self) -> None:
        self.type("\x03")

    def end(self) -> int:
        """The exit status."""
        deadline = time.monotonic() + SECONDS_MAX
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.raw[self._seen :]
            self._read()
        return self.process.returncode

    def _read(self) -> bool:
        """Wait a little for output. False at its end."""
        if not select.select([self._master], [], [], 0.2)[0]:
            return True
        try:
            got = os.read(self._master, 65_536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.raw += got
        return bool(got)


@contextmanager
def terminal(
    *arguments: object, home: Path, columns: int = 100, lines: int = 30, **variables: str
) -> Iterator[Terminal]:
    """Run `hashrange` with the arguments; `home` is where its state goes."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    program = (
        "import os; os.close(os.open(os.ttyname(0), os.O_RDWR))\n"  # where Ctrl-C comes from
        "from hashrange.tools.cli import main; main()"
    )
    environment = {name: text for name, text in os.environ.items() if name not in _OF_OURS}
    environment |= {"TERM": "xterm-256color", "XDG_STATE_HOME": str(home)}
    environment |= {"PROMPT_TOOLKIT_NO_CPR": "1"} | variables
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(master)
