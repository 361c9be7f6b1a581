"""A database file with an archive in a folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_s3 import FakeS3, fake_s3
from small import small_archive as small_archive

from .archiving import Archived


@pytest.fixture
def archived(tmp_path: Path) -> Archived:
    return Archived(tmp_path)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeS3]:
    """A service that boto3 finds."""
    with fake_s3() as service:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", service.url)
        yield service
