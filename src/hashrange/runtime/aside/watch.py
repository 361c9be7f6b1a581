"""Ends a process that does not answer, because it hangs or was stopped.

It measures processor time, not elapsed time: on a busy machine, a process may have to wait long for
a processor.
"""

import logging
import subprocess
import sys
import threading
import time

LOOK_SECONDS = 1.0
"""The interval of the checks. The limit on idleness is a number of checks, not of seconds, because
the machine may be suspended between two checks."""

STILL_LOOKS_MAX = 10
"""The number of consecutive checks after which a process is ended, if it owes an answer but has
used no processor time."""

ANSWER_SECONDS_MAX = 60.0
"""The largest processor time that a process may use for one answer. After that it is ended. The
costliest condition on the largest item uses half a second."""

_log = logging.getLogger("hashrange")


class Watch:
    """Watches one process from a thread of its own, until it is closed."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._asked = 0
        self._answered = 0
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="hashrange-watch", daemon=True).start()

    def asked(self) -> None:
        """Note that a message was sent to the process: from now on, an answer is expected."""
        self._asked += 1

    def answered(self) -> None:
        self._answered = self._asked

    def close(self) -> None:
        self._closed.set()

    def _run(self) -> None:
        number, began, before, still = 0, 0.0, 0.0, 0
        while not self._closed.wait(LOOK_SECONDS):
            try:
                used = _processor_seconds(self._process.pid)
            except OSError:
                return  # it has ended by itself
            asked = self._asked
            if number != asked or asked == self._answered:
                number, began, still = asked, used, 0
            else:
                still = 0 if used > before else still + 1
            before = used
            if still >= STILL_LOOKS_MAX:
                self._end(f"did nothing for {still * LOOK_SECONDS:g} seconds")
            elif used - began > ANSWER_SECONDS_MAX:
                self._end(f"took {used - began:.0f} seconds of processor time for one step")

    def _end(self, told: str) -> None:
        _log.error("the process for costly requests %s; another process takes its place", told)
        self._process.kill()
        self._closed.set()


def _processor_seconds(pid: int) -> float:
    """The processor time that a process has used. Raises OSError if there is no such process.

    On a system that does not provide this time, the elapsed time is returned instead.
    """
    if sys.platform != "linux":
        return time.monotonic()
    return time.clock_gettime(~pid << 3 | 2)  # the number that clock_getcpuclockid(3) returns
