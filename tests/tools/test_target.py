"""The databases that commands name: files, addresses, AWS."""

from pathlib import Path

import pytest

import hashrange
from hashrange.database.addresses import kind_of, without_password
from hashrange.tools.target import TargetError, open_target


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("app.db", "file"),
        ("./aws", "file"),
        ("http://127.0.0.1:8000", "server"),
        ("postgresql://me:secret@db/app", "postgresql"),
        ("aws", "aws"),
        ("aws:work@eu-west-1", "aws"),
        ("aws@eu-west-1", "aws"),
    ],
)
def test_the_kind_follows_from_the_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("name", "is_aws"),
    [
        ("aws@eu-west-1", True),
        ("https://dynamodb.eu-west-1.amazonaws.com", True),
        ("https://123.ddb.eu-west-1.api.aws", True),
        ("http://127.0.0.1:8000", False),
        ("https://amazonaws.com.example", False),
    ],
)
def test_what_writes_to_aws(name: str, is_aws: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    with open_target(name) as target:
        assert target.is_aws == is_aws


def test_a_printed_name_has_no_password() -> None:
    assert without_password("postgresql://me:se@cret@db:5432/app?password=x") == (
        "postgresql://me@db:5432/app"
    )
    assert without_password("http://127.0.0.1:8000") == "http://127.0.0.1:8000"


def test_a_file_is_opened_in_this_process(tmp_path: Path) -> None:
    path = str(tmp_path / "app.db")
    with open_target(path, create=True) as target:
        assert target.client.list_tables()["TableNames"] == []
        assert target.streams.list_streams()["Streams"] == []
        assert target.database is not None


def test_a_server_is_reached_without_credentials(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with hashrange.serve() as server, open_target(server.url) as target:
        assert target.client.list_tables()["TableNames"] == []
        assert target.database is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.db", "nowhere.db: no such file"),
        ("aws:nobody@eu-west-1", "nobody"),
        ("http://[", "not valid: Invalid IPv6 URL"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TargetError, match=said) as raised, open_target(name):
        pass
    assert "\n" not in str(raised.value)
