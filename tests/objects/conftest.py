"""Both kinds of object store, and the fake service behind one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_s3 import FakeS3, fake_s3

from hashrange.objects import Objects, open_objects


@pytest.fixture(scope="module")
def service() -> Iterator[FakeS3]:
    """One server for the tests of a module."""
    with fake_s3() as service:
        yield service


@pytest.fixture
def s3(service: FakeS3, monkeypatch: pytest.MonkeyPatch) -> FakeS3:
    """The service as new."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", service.url)
    service.buckets = {"bucket": {}}
    service.uploads, service.calls = {}, []
    service.fault = lambda method, key: None
    service.honours_conditions = service.honours_conditions_of_parts = True
    service.page = 1_000
    return service


@pytest.fixture(params=["folder", "s3"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "folder":
        return open_objects(str(tmp_path / "new" / "folder"))
    request.getfixturevalue("s3")
    return open_objects("s3://bucket/some/prefix")
