"""Servers that do not answer, or not as DynamoDB does."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from command_line import command_line as run
from waiting import SECONDS_MAX

from shell.terminals import terminal

pytestmark = pytest.mark.slow


class Answers(BaseHTTPRequestHandler):
    """Knows no table, keeps statements waiting, and serves a page for browsers at /page."""

    ended = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"TableNames": []})
        if self.path == "/page":
            body = "<html>\x1b[31m</html>"
        elif self.headers["X-Amz-Target"].endswith("ExecuteStatement"):
            self.ended.wait(SECONDS_MAX)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        Answers.ended.set()
        server.shutdown()
        thread.join()


def test_ctrl_c_ends_a_statement_that_is_not_answered(url: str, tmp_path: Path) -> None:
    with terminal("shell", url, home=tmp_path) as opened:
        opened.ready()
        for statement, said in (
            ("SELECT * FROM t;", "interrupted\r\n"),
            ("DELETE FROM t WHERE a = 1;", "may have been carried out"),
        ):
            opened.type(f"{statement}\r")
            opened.wait_for("\x1b[?2004l")
            time.sleep(0.5)
            opened.interrupt()
            assert said in opened.ready()
        opened.type(".quit\r")
        assert opened.end() == 0


def test_a_page_for_browsers(url: str) -> None:
    for command in (("query", f"{url}/page", "SELECT * FROM t"), ("shell", f"{url}/page")):
        ended = run(*command, given="SELECT * FROM t;")
        assert ended.returncode == 1
        assert ended.stderr.endswith(f"{url}/page does not answer as DynamoDB does\n")
        assert ended.stderr.count("\n") == 1
