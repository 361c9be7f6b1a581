"""How much processor time programs have used, from Linux's clocks and /proc."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
BUSY = (0, 1, 2, 7)
"""The fields of /proc/stat that count: user, nice, system, stolen by other virtual machines."""


def seconds_of(pid: int) -> float:
    """Processor time that a process and its descendants have used so far, in all threads."""
    seconds = 0.0
    for member in family(pid):
        with suppress(OSError):  # it has just ended
            seconds += time.clock_gettime(clock_of(member))
    return seconds


def clock_of(pid: int) -> int:
    """The number of a process's clock of processor time, as clock_getcpuclockid(3) makes it."""
    return ~pid << 3 | 2


def family(pid: int) -> Iterator[int]:
    """A running process and all its descendants."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError):  # the process, or a thread of it, has just ended
            for child in children.read_text().split():
                yield from family(int(child))


def seconds_of_all() -> float:
    """Processor time that the machine was busy with programs, on all cores, since its start."""
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(int(ticks[field]) for field in BUSY) / TICKS_PER_SECOND
