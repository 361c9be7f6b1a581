"""An S3 service that fails, is slow, or carries a request out without an answer."""

import random
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_s3 import FakeS3, Fault

from hashrange import objects as stores
from hashrange.objects import ObjectError, Objects, Unreachable

from .test_objects import LARGE, names


@pytest.fixture
def bucket(s3: FakeS3) -> Objects:
    return stores.open_objects("s3://bucket/p")


def once(fault: Fault, at: int = 0) -> Callable[[str, str], Fault]:
    """The fault for one request, after `at` others."""
    faults = iter([None] * at + [fault])
    return lambda method, key: next(faults, None)


@pytest.mark.parametrize("fault", ["error", "slow", "lost before", "lost after", "conflict"])
def test_a_write_survives_a_fault(bucket: Objects, s3: FakeS3, fault: Fault) -> None:
    s3.fault = once(fault)
    bucket.put("one", b"bytes")
    assert s3.buckets["bucket"] == {"p/one": b"bytes"}


@pytest.mark.parametrize("fault", ["error", "lost before", "lost after"])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.deep
def test_an_upload_in_parts_survives_a_fault_of_each_request(
    bucket: Objects, s3: FakeS3, tmp_path: Path, fault: Fault, at: int
) -> None:
    (tmp_path / "large").write_bytes(LARGE)
    s3.fault = once(fault, at)
    bucket.put_file("large", str(tmp_path / "large"))
    assert s3.buckets["bucket"] == {"p/large": LARGE}


def test_a_failed_upload_leaves_no_parts(bucket: Objects, s3: FakeS3, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(LARGE)
    s3.fault = lambda method, key: "error" if method == "PUT" else None
    with pytest.raises(ObjectError, match="SlowDown"):
        bucket.put_file("large", str(tmp_path / "large"))
    assert s3.uploads == {}


def test_every_call_survives_random_faults(bucket: Objects, s3: FakeS3) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    faults: list[Fault] = ["error", "lost before", "lost after"]

    in_a_row = 0

    def fault(method: str, key: str) -> Fault:
        nonlocal in_a_row
        fails = in_a_row < 4 and rng.random() < 0.3  # the fifth attempt is the last
        in_a_row = in_a_row + 1 if fails else 0
        return rng.choice(faults) if fails else None

    s3.fault = fault
    for number in range(30):
        bucket.put(f"{number:03}", b"%d" % number)
        assert stores.get(bucket, f"{number:03}", 10) == b"%d" % number
        if number % 3 == 0:
            bucket.delete(f"{number:03}")
    assert names(bucket) == [f"{number:03}" for number in range(30) if number % 3]


def test_a_service_that_is_away_is_one_line(bucket: Objects, s3: FakeS3) -> None:
    s3.fault = lambda method, key: "lost before"
    for call in (
        lambda: bucket.put("x", b""),
        lambda: stores.get(bucket, "x", 1),
        lambda: bucket.delete("x"),
        lambda: names(bucket),
    ):
        with pytest.raises(ObjectError, match="s3://bucket/p") as caught:
            call()
        assert "\n" not in str(caught.value)


def test_a_service_that_does_not_listen_may_be_back_later(
    s3: FakeS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{port}")
    with pytest.raises(Unreachable):
        stores.probe(stores.open_objects("s3://bucket"))


def test_a_bucket_that_is_not_there_is_named(s3: FakeS3) -> None:
    with pytest.raises(ObjectError, match="s3://other: there is no bucket other"):
        stores.probe(stores.open_objects("s3://other"))


def test_without_credentials_it_says_so(s3: FakeS3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    with pytest.raises(ObjectError, match="Unable to locate credentials"):
        stores.probe(stores.open_objects("s3://bucket"))
