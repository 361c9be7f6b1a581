"""A transfer goes on only if what it has moved before is still what it would move now."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from moving_data import Item, Run, content, fault, fill, folder, numbered, ordered, run

import hashrange
from hashrange.formats.items import DataError, Record
from hashrange.tools.moving import exporting
from hashrange.tools.moving.progress import Bookmark
from hashrange.tools.moving.sink import Sink

__all__ = ["folder", "run"]  # fixtures
pytestmark = pytest.mark.slow

ITEMS = [numbered(number) for number in range(300)]
BEGUN_AGAIN = "starting over"
FROM_BEGINNING = "copying it from the beginning"


def lines(items: list[Item]) -> str:
    return "".join(json.dumps({"Item": item}) + "\n" for item in items)


def interrupted(run: Run) -> None:
    """An import of `ITEMS` that has stored 200 of them, into `a.db`."""
    fill("a.db", [])
    Path("a.jsonl").write_text(lines(ITEMS[:220]) + "?\n")
    assert ":221: " in fault(run("import", "a.db", "table", "a.jsonl", "--rate", 400))
    assert len(content("a.db")) == 200
    assert Path("a.jsonl.progress").exists()


def finished(run: Run, *arguments: str) -> str:
    ended = run("import", "a.db", "table", "a.jsonl", *arguments)
    assert ended.status == 0, ended.error
    return ended.out + ended.error


def test_a_file_that_is_repaired_behind_the_stored_records_goes_on(folder: Path, run: Run) -> None:
    interrupted(run)
    Path("a.jsonl").write_text(lines(ITEMS))
    assert "200 of them before" in finished(run)
    assert content("a.db") == ordered(ITEMS)


def test_another_file_of_this_name_is_imported_from_its_beginning(folder: Path, run: Run) -> None:
    interrupted(run)
    others = [numbered(number) for number in range(1000, 1271)]
    Path("a.jsonl").write_text(lines(others))
    assert BEGUN_AGAIN in finished(run)
    assert content("a.db") == ordered(ITEMS[:200] + others)


def test_a_shorter_file_is_imported_from_its_beginning(folder: Path, run: Run) -> None:
    interrupted(run)
    Path("a.jsonl").write_text(lines(ITEMS[250:]))
    assert BEGUN_AGAIN in finished(run)
    assert content("a.db") == ordered(ITEMS[:200] + ITEMS[250:])


def test_another_file_of_the_same_size_and_time(folder: Path, run: Run) -> None:
    interrupted(run)
    path = Path("a.jsonl")
    path.write_text(lines(ITEMS))
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    changed = [*ITEMS[:7], numbered(7) | {"v": {"S": "y7"}}, *ITEMS[8:]]
    path.write_text(lines(changed))
    os.utime(path, ns=times)
    assert BEGUN_AGAIN in finished(run)
    assert content("a.db") == ordered(changed)


def test_other_types_begin_again(folder: Path, run: Run) -> None:
    fill("a.db", [])
    rows = [f"a,{number},{number}\n" for number in range(300)]
    path = Path("a.jsonl")
    path.write_text("pk,sk,v\n" + "".join(rows[:220]) + "a,b,c,d\n")
    arguments = ("--format", "csv", "--types")
    assert ":222: " in fault(
        run("import", "a.db", "table", "a.jsonl", *arguments, "v:N", "--rate", 400)
    )
    path.write_text("pk,sk,v\n" + "".join(rows))
    assert BEGUN_AGAIN in finished(run, *arguments, "v:S")
    assert {next(iter(item["v"])) for item in content("a.db")} == {"S"}


@pytest.mark.parametrize("what", ["all", "one", "the table"])
def test_records_that_the_table_has_lost_are_imported_again(
    what: str, folder: Path, run: Run
) -> None:
    interrupted(run)
    Path("a.jsonl").write_text(lines(ITEMS))
    if what == "the table":
        Path("a.db").unlink()
        fill("a.db", [])
    else:
        with hashrange.connect("a.db") as db:
            for item in ITEMS[:200] if what == "all" else ITEMS[99:100]:
                key = {"pk": item["pk"], "sk": item["sk"]}
                db.execute("DeleteItem", {"TableName": "table", "Key": key})
    assert BEGUN_AGAIN in finished(run)
    assert content("a.db") == ordered(ITEMS)


def test_a_folder_whose_finished_file_has_changed(folder: Path, run: Run) -> None:
    from hashrange.formats import s3_export

    fill("b.db", ITEMS)
    before = s3_export.FILE_ITEMS
    s3_export.FILE_ITEMS = 100
    try:
        assert run("export", "b.db", "table", "-o", "f", "--format", "s3-export").status == 0
        others = [item | {"v": {"S": "other"}} for item in ITEMS]
        fill("c.db", others)
        assert run("export", "c.db", "table", "-o", "g", "--format", "s3-export").status == 0
    finally:
        s3_export.FILE_ITEMS = before
    fill("a.db", [])
    last = s3_export.data_files(Path("f"))[-1].path
    whole = last.read_bytes()
    last.write_bytes(whole[:-1])
    assert "checksum" in fault(run("import", "a.db", "table", "f"))
    assert len(content("a.db")) == 200
    Path("f").rename("old")
    Path("g").rename("f")
    ended = run("import", "a.db", "table", "f")
    assert (ended.status, BEGUN_AGAIN in ended.error) == (0, True), ended.error
    assert content("a.db") == ordered(others)


# ---- one key in two spellings ----


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"pk":{"S":"a"},"sk":{"N":"1"}', '{"pk":{"S":"a"},"sk":{"N":"1.0"}'),
        ('{"pk":{"S":"a"},"sk":{"N":"10"}', '{"pk":{"S":"a"},"sk":{"N":"1e1"}'),
        ('{"pk":{"S":"a"},"sk":{"N":"0"}', '{"pk":{"S":"a"},"sk":{"N":"-0"}'),
        ('{"pk":{"S":"a"},"sk":{"N":"1"}', '{"pk":{"S":"\\u0061"},"sk":{"N":"1"}'),
        ('{"pk":{"S":"a"},"sk":{"N":"1"}', '{"sk": { "N" : "1" }, "pk":{"S": "a"}'),
    ],
)
@pytest.mark.parametrize("server", [False, True])
def test_the_last_of_two_spellings_of_a_key_is_stored(
    first: str, second: str, server: bool, folder: Path, run: Run
) -> None:
    fill("a.db", [])
    others = [numbered(number) for number in range(200)]
    with hashrange.connect("a.db") as db, hashrange.serve(db) as serving:
        for one, other in ((first, second), (second, first)):
            spellings = (one, other, one)
            text = "".join(
                f'{{"Item":{spelling},"v":{{"S":"{number}"}}}}}}\n' + lines(others)
                for number, spelling in enumerate(spellings)
            )
            Path("a.jsonl").write_text(text)
            into = serving.url if server else "a.db"
            assert run("import", into, "table", "a.jsonl").status == 0
            found = [item for item in content("a.db") if item["pk"] == {"S": "a"}]
            assert [item["v"]["S"] for item in found] == ["2"]


# ---- exports whose file is there ----


@pytest.mark.deep
@pytest.mark.parametrize("name", ["b.jsonl", "b.csv", "b.jsonl.gz", "folder"])
@pytest.mark.parametrize("after", ["write", "unlink", "remove"])
def test_an_export_that_is_killed_after_its_file_appeared(
    name: str, after: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill("a.db", ITEMS)
    chosen = ["--format", "s3-export"] if name == "folder" else []
    arguments = ("export", "a.db", "table", "-o", name, *chosen)

    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        if after == "write":  # nothing after the file's name is given
            patch.setattr(exporting, "_clean", kill)
        elif after == "unlink":  # before the items that were collected are removed
            patch.setattr(Bookmark, "remove", kill)
        else:
            removed = Bookmark.remove

            def remove(bookmark: Bookmark) -> None:
                removed(bookmark)
                kill()

            patch.setattr(Bookmark, "remove", remove)
        with pytest.raises(Killed):
            run(*arguments)
    assert Path(name).exists()
    ended = run(*arguments)
    if after == "remove":
        assert ended.error == f"hashrange: {name}: exists already; name a new file\n"
    else:
        assert (ended.status, ended.error) == (0, "")
    assert run("import", "b.db", "table", name, "--create").status == 0
    assert content("b.db") == ordered(ITEMS)
    left = {path.name for path in Path().iterdir()} - {"a.db", "b.db"}
    assert left == {name, f"{name}.table.json"}


# ---- copies ----

LARGE_ITEMS = [numbered(number) | {"v": {"S": "x" * 2000}} for number in range(1500)]


def interrupted_copy(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of `a.db` to `b.db` of which one page of three is written."""
    fill("a.db", LARGE_ITEMS)
    write = Sink.write
    written: list[int] = []

    def write_once(self: Sink, group: Sequence[Record]) -> None:
        if written:
            raise DataError("interrupted")
        written.append(len(group))
        write(self, group)

    with monkeypatch.context() as patch:
        patch.setattr(Sink, "write", write_once)
        assert "run the same command again" in fault(run("copy", "a.db", "b.db", "--parallel", 1))
    assert 0 < len(content("b.db")) < len(LARGE_ITEMS)


def copied(run: Run) -> str:
    ended = run("copy", "a.db", "b.db", "--parallel", 1)
    assert ended.status == 0, ended.error
    assert content("b.db") == ordered(LARGE_ITEMS)
    return ended.error


def test_a_copy_goes_on(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_copy(run, monkeypatch)
    assert FROM_BEGINNING not in copied(run)


def test_a_copy_to_a_new_file_begins_again(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_copy(run, monkeypatch)
    for path in Path().glob("b.db*"):
        if path.suffix != ".progress":
            path.unlink()
    assert FROM_BEGINNING in copied(run)


def test_a_copy_to_an_emptied_table_begins_again(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_copy(run, monkeypatch)
    there = content("b.db")
    with hashrange.connect("b.db") as db:
        for item in there:
            key = {name: item[name] for name in ("pk", "sk")}
            db.execute("DeleteItem", {"TableName": "table", "Key": key})
    assert FROM_BEGINNING in copied(run)


def test_a_copy_goes_on_although_its_last_item_was_deleted_in_the_source(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_copy(run, monkeypatch)
    state = json.loads(Path("b.db.progress").read_bytes())["state"]["table"]
    [position] = state["positions"]
    with hashrange.connect("a.db") as db:
        db.execute("DeleteItem", {"TableName": "table", "Key": position["after"]})
    with hashrange.connect("b.db") as db:
        db.execute("DeleteItem", {"TableName": "table", "Key": position["after"]})
    ended = run("copy", "a.db", "b.db", "--parallel", 1)
    assert ended.status == 0, ended.error
    assert FROM_BEGINNING not in ended.error
    assert content("b.db") == content("a.db")
