"""A program may end without closing its database."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import atexit, sys

def too_late():
    try:
        database.execute("ListTables", {})
    except hashrange.StoreError as error:
        print(error)

atexit.register(too_late)  # called last
import hashrange

database = hashrange.connect(sys.argv[1])
database.execute("ListTables", {})
"""


def test_the_database_is_closed_at_the_end(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "a.db")]
    told = subprocess.check_output(words, stderr=subprocess.STDOUT, text=True)
    assert "closed" in told
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
