"""The guard of the console: what gets in, what is refused, and what a read-only console writes."""

import logging
from functools import cache
from itertools import product
from typing import Any

import pytest
from starlette.routing import Route

import hashrange
from console.asking import Browserless, Open
from hashrange.server.listener import ServerError
from hashrange.tools.console import Console, serving
from hashrange.tools.console.app import application
from hashrange.tools.target import Target, target_of

TABLE = {
    "TableName": "table",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
SECRET = "a value that nobody should see in a log"


@pytest.fixture
def stored(client: Any) -> dict[str, Any]:
    """The item that must stay as it is."""
    client.create_table(**TABLE)
    item = {"pk": {"S": SECRET}}
    client.put_item(TableName="table", Item=item)
    return item


@cache
def routes(method: str) -> list[str]:
    """The paths of all routes of the application, with a table in place of parameters."""
    with hashrange.connect() as database:
        guard = application(Console(target_of(database, ""), write=True), 1, "token")
    paths = [
        route.path
        for route in guard.app.routes
        if isinstance(route, Route) and method in (route.methods or ())
    ]
    return [path.replace("{table}", "table") for path in paths]


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(opened: Open) -> None:
    console = opened()
    answer = console.ask(f"/table/x?index=i&token={console.token}")
    assert answer.status == 303
    assert answer.headers["location"] == "/table/x?index=i"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert console.token not in cookie
    assert console.enter().ask("/").status == 200


def test_a_token_does_not_lead_to_another_host(opened: Open) -> None:
    console = opened()
    answer = console.ask(f"//example.com/?token={console.token}")
    assert answer.headers["location"] == "/example.com/"


def test_without_the_token_there_is_nothing(opened: Open) -> None:
    console = opened()
    for path in (*routes("GET"), "/static/console.css", "/nowhere", "/?token=x"):
        for cookie in ("", "=x", f"={console.token}"):
            console.cookie = f"{_cookie_name(console)}{cookie}"
            answer = console.ask(path)
            assert answer.status == 401
            assert "?token=" in answer.text, "it says how to get in"


def _cookie_name(console: Browserless) -> str:
    return f"hashrange_console_{console.parts.port}"


def test_a_console_does_not_open_another(opened: Open) -> None:
    first, second = opened().enter(), opened()
    second.cookie = first.cookie.replace(_cookie_name(first), _cookie_name(second))
    assert second.ask("/").status == 401


def test_requests_of_other_sites_are_refused(opened: Open) -> None:
    console = opened().enter()
    for headers, status in (
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ):
        assert console.ask("/", headers=headers).status == status
        entering = console.ask(f"/?token={console.token}", headers=headers).status
        assert entering == (303 if status == 200 else status)


def test_localhost_is_the_console_too(opened: Open) -> None:
    console = opened().enter()
    host = f"localhost:{console.parts.port}"
    assert console.ask("/", headers={"Host": host, "Origin": f"http://{host}"}).status == 200
    assert console.ask("/", headers={"Origin": f"http://{host}"}).status == 403


def test_every_answer_restricts_the_browser(opened: Open) -> None:
    consoles = opened(), opened().enter()
    for console, path in product(consoles, ("/", "/static/console.js", "/nowhere")):
        headers = console.ask(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_a_read_only_console_writes_nothing(
    opened: Open, client: Any, stored: dict[str, Any]
) -> None:
    console = opened().enter()
    assert len(routes("POST")) > 5
    for path in routes("POST"):
        answer = console.post(path, statement="DELETE FROM \"table\" WHERE pk = 'x'")
        assert answer.status == 403
        assert "--write" in answer.text
    assert client.scan(TableName="table")["Items"] == [stored]


def test_a_form_needs_the_secret_of_the_console(
    opened: Open, client: Any, stored: dict[str, Any]
) -> None:
    console = opened(write=True).enter()
    for path in routes("POST"):
        for secret in ("", "x", console.token):
            assert console.ask(path, {"csrf": secret}).status == 403
    assert client.scan(TableName="table")["Items"] == [stored]


def test_a_writing_address_cannot_be_followed(opened: Open) -> None:
    """A GET has no secret, so none may write."""
    console = opened(write=True).enter()
    for path in set(routes("POST")) - set(routes("GET")):
        assert console.ask(path).status == 405


def test_every_method_that_may_write_is_refused(client: Any, of_db: Target) -> None:
    console = Console(of_db)
    for method in client.meta.method_to_api_mapping:
        if not method.startswith(
            ("describe_", "list_", "get_", "batch_get_", "query", "scan", "search_")
        ):
            given = {"Statement": "INSERT"} if method == "execute_statement" else {}
            with pytest.raises(PermissionError):
                console.call(method, **given)


def test_no_value_is_logged(
    opened: Open, stored: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    console = opened(write=True).enter()
    for path in routes("GET"):
        assert console.ask(f"{path}?key={SECRET.replace(' ', '+')}").status < 500
    for path in routes("POST"):
        console.post(path, key=SECRET, statement=SECRET)
    ours = [record for record in caplog.records if not record.name.startswith("botocore")]
    assert SECRET not in "\n".join(record.getMessage() for record in ours)


def test_pages_are_not_kept_by_the_browser(opened: Open) -> None:
    console = opened().enter()
    assert console.ask("/").headers["cache-control"] == "no-store"
    static = console.ask("/static/console.css").headers
    assert static["cache-control"] == "no-cache"
    kept = {"If-None-Match": static["etag"]}
    assert console.ask("/static/console.css", headers=kept).status == 304


def test_another_port_is_taken_if_that_is_allowed(of_db: Target) -> None:
    with serving(Console(of_db)) as first:
        port = Browserless(first).parts.port
        assert port
        with serving(Console(of_db), port, spare=True) as second:
            assert Browserless(second).enter().parts.port != port
        with pytest.raises(ServerError, match="in use"), serving(Console(of_db), port):
            pass


def test_a_form_has_a_size(opened: Open) -> None:
    console = opened(write=True).enter()
    for path in routes("POST")[:1]:
        assert console.post(path, text="x" * 9 * 2**20).status == 413
