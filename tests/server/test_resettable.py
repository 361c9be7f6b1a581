"""Reset and snapshots at the admin port, for tests in other languages."""

import http.client
from pathlib import Path

import pytest
from programs import fault, serving
from waiting import SECONDS_MAX

pytestmark = pytest.mark.slow


def test_a_database_in_memory_goes_back_for_tests() -> None:
    with serving("--resettable", "--admin-port", 0) as server:
        port, token = server.admin()
        client = server.client()
        table = {
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        }

        def post(path: str, method: str = "POST", token: str = token) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
            connection.request(method, path, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode().strip()

        client.create_table(TableName="first", **table)
        assert post("/snapshots/keep?name=one") == (200, "kept one")
        client.create_table(TableName="second", **table)
        assert post("/snapshots/load?name=one") == (
            200,
            "the database is as it was in the snapshot one",
        )
        assert client.list_tables()["TableNames"] == ["first"]
        assert post("/reset") == (200, "the database is as it was at the start")
        assert client.list_tables()["TableNames"] == []
        assert post("/snapshots/keep?name=../x")[0] == 400
        assert post("/snapshots/load?name=two") == (
            404,
            "no snapshot of that name; the snapshots are: one",
        )
        assert post("/reset", "GET") == (405, "this path answers only POST")
        assert post("/reset", token="wrong")[0] == 401


def test_only_a_database_in_memory_goes_back(tmp_path: Path) -> None:
    assert "only a database in memory" in fault("serve", tmp_path / "a.db", "--resettable")
    assert "--admin-port" in fault("serve", "--resettable")
    worst = ("--eventual", "worst", "--admin-port", 0)
    assert "cannot be combined with --eventual" in fault("serve", "--resettable", *worst)
