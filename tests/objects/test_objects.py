"""What every object store promises."""

import os
import threading
from pathlib import Path

import pytest
from fake_s3 import FakeS3

from hashrange import objects as stores
from hashrange.objects import NoSuchObject, ObjectError, Objects, ObjectTooLarge, Taken

LARGE = bytes(range(256)) * (80 << 10)  # 20 MB: several ranges, and more than one part


def names(objects: Objects, prefix: str = "", after: str = "") -> list[str]:
    return [listed.name for listed in objects.list(prefix, after)]


def test_an_object_is_read_as_it_was_written(objects: Objects) -> None:
    for name, body in (("a/b", b"some bytes"), ("empty", b""), ("a/ä ö+%2F&<é>", b"\0" * 100)):
        objects.put(name, body)
        assert stores.get(objects, name, 100) == body


def test_the_largest_size_that_is_read_is_exact(objects: Objects) -> None:
    objects.put("ten", bytes(10))
    assert stores.get(objects, "ten", 10) == bytes(10)
    with pytest.raises(ObjectTooLarge, match="ten is larger than 9 bytes"):
        stores.get(objects, "ten", 9)


def test_an_object_is_never_replaced(objects: Objects) -> None:
    objects.put("one", b"first")
    with pytest.raises(Taken, match="one exists already, with other content"):
        objects.put("one", b"second")
    assert stores.get(objects, "one", 100) == b"first"


def test_the_same_bytes_may_be_written_again(objects: Objects) -> None:
    objects.put("one", b"first")
    objects.put("one", b"first")


def test_of_many_writers_of_a_name_one_succeeds(objects: Objects) -> None:
    winners: list[int] = []

    def write(number: int) -> None:
        try:
            objects.put("contended", b"%d" % number)
        except Taken:
            return
        winners.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [b"%d" % number for number in winners] == [stores.get(objects, "contended", 100)]


def test_a_large_file_is_written_and_never_replaced(
    objects: Objects, service: FakeS3, tmp_path: Path
) -> None:
    """Some services look at the condition of a put, but not when an upload in parts ends."""
    service.honours_conditions_of_parts = False
    path = tmp_path / "large"
    path.write_bytes(LARGE)
    objects.put_file("large", str(path))
    objects.put_file("large", str(path))
    assert stores.get(objects, "large", len(LARGE)) == LARGE
    path.write_bytes(LARGE[:-1] + b"x")
    with pytest.raises(Taken):
        objects.put_file("large", str(path))
    assert stores.get(objects, "large", len(LARGE)) == LARGE


def test_a_small_file_is_written(objects: Objects, tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"few")
    objects.put_file("few", str(path))
    assert stores.get(objects, "few", 3) == b"few"


def test_objects_are_listed_in_the_order_of_their_bytes(objects: Objects) -> None:
    for name in ("b/2", "a-", "a/1", "a/10", "a/2", "a.b", "é", "b/1", "Z"):
        objects.put(name, name.encode())
    assert names(objects) == ["Z", "a-", "a.b", "a/1", "a/10", "a/2", "b/1", "b/2", "é"]
    assert names(objects, "a/1") == ["a/1", "a/10"]
    assert names(objects, "b/", after="b/1") == ["b/2"]
    assert names(objects, "nothing") == names(objects, "no/thing") == []
    assert [listed.size_bytes for listed in objects.list("é")] == [2]


def test_many_objects_are_listed_page_by_page(s3: FakeS3) -> None:
    s3.page = 2
    objects = stores.open_objects("s3://bucket/p")
    for number in range(5):
        objects.put(f"{number}", b"")
    assert names(objects) == ["0", "1", "2", "3", "4"]


def test_a_deleted_object_is_gone_and_may_be_deleted_again(objects: Objects) -> None:
    objects.put("a/b", b"1")
    objects.delete("a/b")
    objects.delete("a/b")
    assert names(objects) == []
    with pytest.raises(NoSuchObject, match="there is no object a/b"):
        stores.get(objects, "a/b", 1)
    objects.put("a/b", b"2")


def test_the_probe_leaves_nothing(objects: Objects) -> None:
    stores.probe(objects)
    assert names(objects) == []


def test_a_service_that_replaces_objects_is_refused(s3: FakeS3) -> None:
    s3.honours_conditions = False
    with pytest.raises(ObjectError, match="ignores the header If-None-Match") as caught:
        stores.probe(stores.open_objects("s3://bucket/p"))
    assert "\n" not in str(caught.value)
    assert s3.buckets["bucket"] == {}


@pytest.mark.parametrize("name", ["../x", "a/../x", "/x", "a//b", "", ".", "a/.b", "a\0b"])
def test_a_name_never_leaves_the_folder(tmp_path: Path, name: str) -> None:
    folder = stores.open_objects(str(tmp_path / "folder"))
    (tmp_path / "x").write_bytes(b"not an object")
    for call in (folder.put, lambda name, _: stores.get(folder, name, 100)):
        with pytest.raises(ObjectError, match="cannot be the name of an object"):
            call(name, b"")
    with pytest.raises(ObjectError):
        folder.delete(name)
    assert (tmp_path / "x").exists()


def test_an_unfinished_object_of_a_folder_is_not_listed(tmp_path: Path) -> None:
    folder = stores.open_objects(str(tmp_path))
    folder.put("one", b"1")
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o600
    (tmp_path / ".unfinished" / "killed").write_bytes(b"half")
    assert names(folder) == ["one"]


def test_only_files_of_a_folder_are_read(tmp_path: Path) -> None:
    """Neither a pipe that nobody writes to nor a device that never ends."""
    (tmp_path / "device").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    folder = stores.open_objects(str(tmp_path))
    for name in ("device", "pipe"):
        with pytest.raises(ObjectError, match=f"{name} is not a file"):
            list(folder.chunks(name))


@pytest.mark.parametrize("address", ["", "s3://", "s3:///prefix", "gs://bucket", "http://x/y"])
def test_a_wrong_address_is_refused_in_one_line(address: str) -> None:
    with pytest.raises(ObjectError) as caught:
        stores.open_objects(address)
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for address in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ObjectError, match="file") as caught:
            stores.probe(stores.open_objects(str(address)))
        assert "\n" not in str(caught.value)
