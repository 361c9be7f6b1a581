"""The access log and the form of the lines on stderr."""

import asyncio
import json
import logging
from typing import Any

import pytest
from serving import request, running

from hashrange.server.access_log import access_log, log_access
from hashrange.server.logs import Fields, JsonFormatter


def logged(caplog: pytest.LogCaptureFixture, *requests: bytes) -> list[dict[str, Any]]:
    """The lines for these requests, each as its fields."""
    with (
        caplog.at_level(logging.INFO, logger=access_log.name),
        running(asyncio.new_event_loop(), observer=log_access) as server,
    ):
        client = server.connect()
        for each in requests:
            client.ask(each)
        client.close()
    assert all(message.isprintable() for message in caplog.messages)
    return [json.loads(JsonFormatter().format(record)) for record in caplog.records]


def test_a_line_for_each_call(caplog: pytest.LogCaptureFixture) -> None:
    first, second = logged(caplog, request("GetItem"), request("DeleteItem"))
    assert first["operation"] == "GetItem"
    assert first["status"] == 200
    assert first["access_key"] == "AKID"
    assert first["client"].startswith("127.0.0.1:")
    assert first["request_bytes"] == 2
    assert len(first["request_id"]) == 52
    assert first["request_id"] != second["request_id"]
    assert (second["operation"], second["status"]) == ("DeleteItem", 400)
    assert second["ms"] >= 0


@pytest.mark.parametrize(
    ("body", "table"),
    [
        ('{"TableName": "Things"}', "Things"),
        (
            '{"TableName": "arn:aws:dynamodb:us-east-1:0:table/T"}',
            "arn:aws:dynamodb:us-east-1:0:table/T",
        ),
        ('{"RequestItems": {"A": {"Keys": []}, "B": []}}', "A,B"),
        ('{"TransactItems": [{"Put": {"TableName": "A"}}, {"Update": {"TableName": "B"}}]}', "A,B"),
        ('{"Statement": "SELECT * FROM A"}', ""),
        ('{"TableName": 1}', ""),
        ("not json", ""),
        ('{"TableName": "a\\nb c=d"}', "a%0Ab%20c%3Dd"),
    ],
)
def test_the_tables_of_a_request(caplog: pytest.LogCaptureFixture, body: str, table: str) -> None:
    [line] = logged(caplog, request("GetItem", body.encode()))
    assert line["table"] == table


def test_requests_that_are_no_calls_are_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    health = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    unsigned = request("GetItem").replace(b"Authorization: ", b"X-Nothing: ")
    lines = logged(caplog, health, unsigned, request("GetItem"))
    assert all(len(each["request_id"]) == 52 for each in lines)
    assert [(each["operation"], each["status"]) for each in lines] == [
        ("", 200),
        ("", 400),
        ("GetItem", 200),
    ]
    assert len({each["request_id"] for each in lines}) == 3
    assert [each.get("error") for each in lines] == [
        None,
        "MissingAuthenticationTokenException",
        None,
    ]


def test_a_refused_signature_is_logged_with_its_error_and_claimed_key(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for_query = (
        "POST /?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=LINK%0Aa%2F20260101 HTTP/1.1\r\n"
    )
    asked = request("GetItem")
    linked = for_query.encode() + asked.partition(b"\r\n")[2].replace(b"Authorization", b"X-No")
    short = asked.replace(b"/aws4_request", b"")
    unknown = asked.replace(b".GetItem", b".NoItem")
    lines = logged(caplog, linked, short, unknown, request("DeleteItem"))
    assert [(each["error"], each["access_key"]) for each in lines] == [
        ("IncompleteSignatureException", "LINK%0Aa"),
        ("IncompleteSignatureException", "AKID"),
        ("UnknownOperationException", "AKID"),
        ("ResourceNotFoundException", "AKID"),
    ]


def test_values_of_items_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    logged(caplog, request("GetItem", b'{"TableName": "T", "Key": {"pk": {"S": "secret"}}}'))
    assert "secret" not in caplog.text


def test_a_record_as_json() -> None:
    record = logging.LogRecord("hashrange", logging.ERROR, "", 1, "a %s\n", ("line",), None)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["logger"], found["message"]) == ("ERROR", "hashrange", "a line\n")


def test_fields_as_text() -> None:
    assert str(Fields(a=1, b="x")) == "a=1 b=x"
