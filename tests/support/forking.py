"""Work in a forked process."""

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from waiting import SECONDS_MAX

PAUSE_SECONDS = 0.001


def in_child(work: Callable[[], object], seconds_max: float = SECONDS_MAX) -> None:
    """Run `work` in a forked process, which must end without an error."""
    join(fork(work), seconds_max)


def fork(work: Callable[[], object]) -> int:
    """Begin `work` in a forked process, which ends with it. Returns its id."""
    return os.fork() or _run_and_exit(work)


def join(pid: int, seconds_max: float = SECONDS_MAX) -> None:
    end = time.monotonic() + seconds_max
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_SECONDS)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert ended == 0, "it hangs" if ended == -signal.SIGKILL else f"it ended with {ended}"


def _run_and_exit(work: Callable[[], object]) -> NoReturn:
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
    finally:
        os._exit(code)
