"""The connections that read are few, and a lack of descriptors is named as what it is."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from waiting import SECONDS_MAX

from hashrange import kv
from hashrange.storage.sqlite import SqliteStore
from hashrange.storage.sqlite.readers import READERS_MAX

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

KEY = (kv.SYSTEM_SPACE, b"k")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_many_threads_share_few_connections(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "test.db"), durability="relaxed")
    before = descriptors()
    together = threading.Barrier(4 * READERS_MAX)
    most = [0]
    listing = threading.Lock()

    def read() -> None:
        together.wait()
        snapshot = store.snapshot()
        snapshot.read(kv.Get((KEY,)))
        time.sleep(0.05)
        with listing:
            most[0] = max(most[0], descriptors() - before)
        snapshot.close()

    threads = [threading.Thread(target=read) for _ in range(4 * READERS_MAX)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] <= 2 * READERS_MAX + 4
    assert descriptors() - before <= 2 * READERS_MAX
    store.close()


def test_a_reader_that_gets_no_connection_in_time_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "test.db"), durability="relaxed", busy_seconds=0.05)
    snapshots = [store.snapshot() for _ in range(READERS_MAX)]
    with pytest.raises(kv.Busy, match="readers are active"):
        store.snapshot()
    for snapshot in snapshots:
        snapshot.close()
    store.snapshot().close()
    store.close()


SCARCE = """
import os, resource, sys
from hashrange.storage.sqlite import SqliteStore
from hashrange.kv import StoreError

store = SqliteStore(sys.argv[1], durability="relaxed")
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
try:
    store.snapshot()
except StoreError as error:
    print(error)
for descriptor in taken:
    os.close(descriptor)
store.snapshot().close()
store.close()
print(len(os.listdir("/proc/self/fd")) < 10)
"""


def test_a_lack_of_descriptors_is_not_blamed_on_permissions(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCARCE, str(tmp_path / "test.db")],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS_MAX,
    )
    said, released = done.stdout.splitlines()
    assert "too many open files" in said
    assert "permission" not in said
    assert released == "True"
