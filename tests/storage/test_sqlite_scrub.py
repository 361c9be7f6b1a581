"""The search for damage in a file, a part at a time."""

from pathlib import Path

from hashrange.kv import CreateSpace, Put
from hashrange.testing.store_access import commit
from hashrange.testing.store_model import value_of

from .conftest import OpenStore


def test_damage_is_found_in_every_part(open_store: OpenStore, path: Path) -> None:
    """Here a part is a row."""
    store = open_store()
    commit(
        store, CreateSpace(5), *(Put(5, b"%d" % n, value_of(n, b"row %d" % n)) for n in range(9))
    )
    assert [problem for part in store.scrub(0.0) for problem in part] == []
    store.close()
    for number in (0, 8):
        content = path.read_bytes()
        assert content.count(b"row %d" % number) == 1
        path.write_bytes(content.replace(b"row %d" % number, b"rot %d" % number))
    found = [problem for part in open_store().scrub(0.0) for problem in part]
    assert [problem.rpartition(", ")[2] for problem in found] == [
        f"key {key.hex()}: wrong checksum" for key in (b"0", b"8")
    ]
