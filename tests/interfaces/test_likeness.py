"""A server in the place of LocalStack: its health check, and all else as before."""

import http.client
import json

import pytest
from test_command_line import serving
from waiting import SECONDS_MAX

from hashrange.interfaces.service.likeness import LIKENESSES

pytestmark = pytest.mark.slow


def test_the_port_is_that_of_localstack() -> None:
    assert LIKENESSES["localstack"].port == 4566


@pytest.mark.parametrize("like", [True, False])
def test_the_health_of_localstack(like: bool) -> None:
    def get(path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS_MAX)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()

    with serving(*(["--like", "localstack"] if like else [])) as server:
        status, body = get("/_localstack/health")
        assert status == (200 if like else 404)
        if like:
            services = json.loads(body)["services"]
            assert services == {"dynamodb": "running", "dynamodbstreams": "running"}
        assert get("/")[0] == 200
        assert get("/_localstack/other")[0] == 404
