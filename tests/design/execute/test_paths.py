"""Paths of any depth in keys: tuples, of which a prefix is a number of whole segments."""

from typing import Protocol

import pytest

import hashrange
from hashrange import design as st

Path = tuple[st.Slug, ...]


class File(st.Item):
    key = st.key("drive#{drive}", "file{path}#{name}")
    in_folder = st.index("GSI1", "folder#{drive}#{path}", "{name}")
    below = st.index("GSI2", "files#{drive}", "{path}")
    drive: st.Slug
    path: Path
    name: st.Slug


class Drive(st.Store, Protocol):
    def file(self, drive: str, path: Path, name: str) -> File | None: ...
    def folder(self, drive: str, path: Path) -> st.Query[File]: ...
    def tree(self, drive: str, path: st.Prefix[Path]) -> st.Query[File]: ...


table = st.Table("drive", Drive)
PATHS: list[Path] = [(), ("a",), ("a", "b"), ("a", "b", "c"), ("a", "bc"), ("a-b",), ("b",)]


@pytest.fixture
def db(database: hashrange.Database) -> Drive:
    table.create(database)
    db = table.open(Drive, database)
    for number, path in enumerate(PATHS):
        db.put(File(drive="d", path=path, name=f"f{number}"))
    return db


def test_a_prefix_is_of_whole_segments(db: Drive) -> None:
    def below(*path: str) -> set[Path]:
        return {file.path for file in db.tree("d", path)}

    assert below() == set(PATHS)
    assert below("a") == {("a",), ("a", "b"), ("a", "b", "c"), ("a", "bc")}
    assert below("a", "b") == {("a", "b"), ("a", "b", "c")}
    assert below("c") == set()


def test_one_folder_and_one_file(db: Drive) -> None:
    assert [file.name for file in db.folder("d", ("a", "b"))] == ["f2"]
    assert [file.name for file in db.folder("d", ())] == ["f0"]
    file = db.file("d", ("a", "b", "c"), "f3")
    assert file
    assert file.path == ("a", "b", "c")


def test_a_segment_is_a_whole_name(db: Drive) -> None:
    for wrong in (("a/b",), ("",), ("a#b",)):
        with pytest.raises(st.BadValue, match="segment of a path"):
            list(db.tree("d", wrong))


def test_prove_covers_them() -> None:
    with hashrange.connect() as database:
        proof = st.prove(table, database)
    assert proof.differences == []
    assert set(proof.asked) >= set(table.plans)


def test_ranges_of_paths_are_refused() -> None:
    class Ranges(st.Store, Protocol):
        def files(self, drive: str, path: st.AtLeast[Path]) -> st.Query[File]: ...

    [unserved] = st.Table("ranges", Ranges).unserved
    assert "path" in unserved.reason
