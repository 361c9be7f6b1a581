"""What triggers call: functions in processes, and addresses; and how a server is told of them."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from command_line import command_line as run
from programs import serving
from test_triggers import STREAM
from waiting import wait_until

from hashrange.server.listener import ServerError
from hashrange.server.triggers.functions import (
    Abandoned,
    ChildFunction,
    Failed,
    HttpFunction,
    NotReached,
    called,
)
from hashrange.server.triggers.settings import triggers

APP = """
import os, sys, time

def good(event, context):
    print("printed")
    return [context.function_name, context.get_remaining_time_in_millis() > 0, event]

def bad(event, context):
    raise ValueError("no\\nway")

def gone(event, context):
    os._exit(3)

def slow(event, context):
    time.sleep(600)

def large(event, context):
    return "x" * 7_000_000

def strange(event, context):
    return object()

def environment(event, context):
    return dict(os.environ)
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def child(name: str, **environment: str) -> ChildFunction:
    return ChildFunction(f"app:{name}", 60, environment)


def test_a_child_answers_and_fails(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHRANGE_KEYS", "secret")
    with closing(child("good")) as function:
        assert function.call(b'{"a": 1}') == ["app-good", True, {"a": 1}]
        assert function.call(b"{}")[2] == {}
    for name, reason in (
        ("bad", "ValueError: no way"),
        ("gone", "its process ended with status 3"),
        ("large", "its answer has more than 6,291,456 bytes"),
        ("strange", "TypeError: Object of type object is not JSON serializable"),
        ("nothing", "AttributeError: module 'app' has no attribute 'nothing'"),
    ):
        with closing(child(name)) as function, pytest.raises(Failed, match=re.escape(reason)):
            function.call(b"{}")
    with closing(child("environment", AWS_ENDPOINT_URL_DYNAMODB="http://x")) as function:
        found = function.call(b"{}")
        assert found["AWS_ENDPOINT_URL_DYNAMODB"] == "http://x"
        assert "HASHRANGE_KEYS" not in found


def test_a_child_that_leaves_a_process_behind_is_given_up(app: Path) -> None:
    """The process that it has started holds the pipe open, and left its group."""
    (app / "app.py").write_text(
        "import os, time\n"
        "def forks(event, context):\n"
        "    if not os.fork():\n"
        "        os.setsid()\n"
        "        time.sleep(5)\n"
        "        os._exit(0)\n"
        "    time.sleep(600)\n"
        "def good(event, context):\n"
        "    return 1\n"
    )
    with closing(child("forks")) as function:
        with pytest.raises(Failed, match="no answer within"):
            called(lambda: function.call(b"{}"), function.abandon, 1, lambda: True, 0.5)
        function.close()
        function._name = "app:good"
        assert function.call(b"{}") == 1


def test_a_child_that_hangs_is_ended(app: Path) -> None:
    with closing(child("slow")) as function:
        with pytest.raises(Failed, match=r"no answer within 0\.5 s"):
            called(lambda: function.call(b"{}"), function.abandon, 0.5, lambda: True)
        function.close()
        with pytest.raises(Abandoned):
            called(lambda: function.call(b"{}"), function.abandon, 60, lambda: False)


@contextmanager
def http(answer: bytes, status: int = 200, **headers: str) -> Iterator[tuple[str, list[Any]]]:
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/2015-03-31/functions/f/invocations", asked
        server.shutdown()


def test_an_address_answers_and_fails() -> None:
    with http(b'{"batchItemFailures": []}') as (url, asked):
        assert HttpFunction(url, 5).call(b"{}") == {"batchItemFailures": []}
        assert asked == [("/2015-03-31/functions/f/invocations", b"{}")]
    for answer, status, headers, reason in (
        (b"x" * 7_000_000, 200, {}, "its answer has more than"),
        (b"busy\n\x1b[31m", 500, {}, "HTTP status 500: busy"),
        (b"", 302, {"Location": "http://127.0.0.1:1/"}, "HTTP status 302"),
        (b"<html>", 200, {}, "its answer is not JSON"),
        (b"[" * 100_000, 200, {}, "its answer is not JSON"),
        (b'"x"', 200, {"X_Amz_Function_Error": "Unhandled"}, "Unhandled"),
        (b'{"errorType": "E", "errorMessage": "no"}', 200, {}, "E: no"),
    ):
        with http(answer, status, **headers) as (url, _), pytest.raises(Failed, match=reason):
            HttpFunction(url, 5).call(b"{}")
    with pytest.raises(NotReached):
        HttpFunction("http://127.0.0.1:1/", 5).call(b"{}")


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    def refusal(*given: str, hosts: tuple[str, ...] = ()) -> str:
        with pytest.raises(ServerError) as error:
            triggers(given, hosts)
        return str(error.value)

    def written(content: object) -> str:
        (tmp_path / "t.json").write_text(json.dumps(content))
        return str(tmp_path / "t.json")

    one = {"TableName": "orders", "Function": "app:handler"}
    assert "--trigger-host example.com" in refusal("orders=http://example.com/x")
    assert triggers(["orders=http://example.com/x"], ["Example.com"])
    assert "a user or a fragment" in refusal("orders=http://a@127.0.0.1/")
    assert "not a URL" in refusal("orders=ftp://127.0.0.1/")
    assert "not a URL" in refusal("orders=http://127.0.0.1/a b")
    assert "module:handler" in refusal("orders=app; rm")
    assert "is given twice" in refusal("orders=app:handler", "orders=app:handler")
    assert "No such file" in refusal("nothing.json")
    assert "BatchSize" in refusal(written([{**one, "BatchSize": 0}]))
    assert "unknown field" in refusal(written([{**one, "TumblingWindowInSeconds": 1}]))
    assert "not an operator" in refusal(
        written([{**one, "FilterCriteria": {"Filters": [{"Pattern": '{"a": [{"like": 1}]}'}]}}])
    )
    assert "60" in refusal(written([{**one, "MaximumRecordAgeInSeconds": 5}]))
    [found] = triggers([written([{**one, "BatchSize": 5, "StartingPosition": "LATEST"}])], [])
    assert (found.batch_size, found.starting_position) == (5, "LATEST")


@pytest.mark.slow
def test_a_server_calls_a_function(app: Path) -> None:
    (app / "app.py").write_text(
        "import json, os\n"
        "def handler(event, context):\n"
        "    keys = [record['dynamodb']['Keys'] for record in event['Records']]\n"
        "    with open('seen', 'a') as file:\n"
        "        print(os.environ['AWS_ENDPOINT_URL_DYNAMODB'], json.dumps(keys), file=file)\n"
    )
    with serving(app / "a.db", "--trigger", "orders=app:handler") as server:
        client = server.client()
        client.create_table(
            TableName="orders",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification=STREAM,
        )
        client.put_item(TableName="orders", Item={"pk": {"S": "a"}})
        wait_until((app / "seen").exists)
        wait_until((app / "seen").read_text)
        expected = f'http://127.0.0.1:{server.port} [{{"pk": {{"S": "a"}}}}]\n'
        assert (app / "seen").read_text() == expected
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait() == 0
    refused = run("serve", "--trigger", "orders=app:nothing")
    assert refused.returncode == 1
    assert refused.stderr.endswith("AttributeError: module 'app' has no attribute 'nothing'\n")
