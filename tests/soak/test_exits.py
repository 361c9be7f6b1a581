"""Programs that end while daemon threads write: none crashes, and what they were told is there."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hashrange

from .runs import Violation, chance, times
from .tables import DEFINITION, count

pytestmark = pytest.mark.deep

EXITS = times(4, 1_000)
AT_ONCE = 2

PROGRAM = """
import faulthandler, os, sys, threading, time
import hashrange
from soak.tables import increment, scanned

faulthandler.enable()
database = hashrange.connect(sys.argv[1], durability=sys.argv[2])

def write(name):
    while True:
        database.execute("UpdateItem", increment(name))
        os.write(1, name.encode())

def read():
    while True:
        scanned(database.execute)

threading.excepthook = lambda _: None  # their last request is refused
for name in "abcd":
    threading.Thread(target=write, args=(name,), daemon=True).start()
for _ in range(2):
    threading.Thread(target=read, daemon=True).start()
time.sleep(float(sys.argv[3]))
"""
CRASHES = PROGRAM + "import atexit, signal; atexit.register(os.kill, os.getpid(), signal.SIGSEGV)"
LIES = PROGRAM + "os.write(1, b'a' * 1_000_000)"


def end(program: str, path: Path, durability: str, seconds: float) -> None:
    """Run a program that ends itself; Violation if it crashes or an acknowledged write is lost."""
    with hashrange.connect(path, durability="memory") as database:
        database.execute("CreateTable", DEFINITION)
    words = [sys.executable, "-c", program, str(path), durability, str(seconds)]
    ended = subprocess.run(
        words, capture_output=True, timeout=60, check=False, cwd=Path(__file__).parents[1]
    )
    if ended.returncode:
        raise Violation(f"it ended with {ended.returncode}: {ended.stderr.decode()}")
    if list(path.parent.glob(f"{path.name}-*")):
        raise Violation("the file is not closed")
    with hashrange.connect(path) as database:
        for name in "abcd":
            told, found = ended.stdout.count(name.encode()), count(database.execute, name)
            if not told <= found <= told + 1:
                raise Violation(f"{told} acknowledged writes of {name}, and {found} are there")
        if problems := list(database.check()):
            raise Violation("; ".join(problems))


def test_exits_while_daemon_threads_write(tmp_path: Path) -> None:
    with chance() as random, ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [
            pool.submit(
                end,
                PROGRAM,
                tmp_path / f"{number}.db",
                random.choice(["full", "relaxed"]),
                random.uniform(0.02, 0.3),
            )
            for number in range(EXITS)
        ]
        for run in runs:
            run.result()


@pytest.mark.parametrize(("program", "found"), [(CRASHES, "ended with -11"), (LIES, "are there")])
def test_crashes_and_lost_writes_are_found_out(tmp_path: Path, program: str, found: str) -> None:
    with pytest.raises(Violation, match=found):
        end(program, tmp_path / "a.db", "relaxed", 0.1)
