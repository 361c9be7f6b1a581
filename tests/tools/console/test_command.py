"""`hashrange console` and `hashrange serve --console`: how they start, end and fail."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from programs import fault
from waiting import SECONDS_MAX

import hashrange
from console import shop
from console.asking import Browserless, Open
from hashrange.tools.console import Console, serving
from hashrange.tools.target import open_target

COMMAND = (sys.executable, "-m", "hashrange")


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Browserless]]:
    """A command that prints the address of a console, and a client that has entered it."""
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            lines = (re.search(r"http://\S+token=\S+", line) for line in process.stdout)
            found = next(filter(None, lines))
            yield process, Browserless(found[0]).enter()
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "app.db")
    with hashrange.connect(path) as database:
        shop.make(database.boto3_session().client("dynamodb"))
    return path


def test_a_console_of_a_file(path: str) -> None:
    with started("console", path, "--port", "0") as (process, console):
        page = console.ask("/")
        assert "shop" in page.text
        assert "read only" in page.text
        assert console.post("/table/shop/selected", key="x").status == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS_MAX) == 0


def test_a_console_that_may_write(path: str) -> None:
    with started("console", path, "--port", "0", "--write") as (process, console):
        assert "may write" in console.ask("/").text
        process.terminate()
        assert process.wait(SECONDS_MAX) == 0


def test_a_console_beside_a_server(path: str) -> None:
    with started("serve", path, "--port", "0", "--console") as (process, console):
        assert "read only" in console.ask("/table/shop").text
        process.terminate()
        assert process.wait(SECONDS_MAX) == 0


def test_mistakes_are_told_in_one_line(path: str, tmp_path: Path) -> None:
    assert fault("console", str(tmp_path / "none.db")).endswith("none.db: no such file")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert fault("console", path, "--port", port).endswith(
            f"port {port} of 127.0.0.1 is in use; choose another port"
        )
    (tmp_path / "text.db").write_text("no database" * 100)
    assert "text.db" in fault("console", str(tmp_path / "text.db"), "--port", "0")
    assert "--console needs --workers 1" in fault("serve", path, "--workers", "2", "--console")


def test_a_missing_library_is_named(path: str) -> None:
    program = (
        "import sys; sys.modules['starlette'] = None; "
        f"sys.argv = ['hashrange', 'console', {path!r}]; "
        "from hashrange.tools.cli import main; main()"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert run.returncode == 1
    assert "pip install 'hashrange[console]'" in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_a_server_is_looked_at_from_outside(opened: Open) -> None:
    with hashrange.serve() as server:
        shop.make(server.database.boto3_session().client("dynamodb"))
        with open_target(server.url) as target, serving(Console(target, write=True)) as url:
            console = Browserless(url).enter()
            page = console.ask("/table/shop/query?pk=customer%23ann&run=1").text
            assert f"endpoint_url=&#39;{server.url}&#39;" in page
            assert "its cost is known only after it has run" in page
            assert re.search(r"13 items read, 13 on this page, [\d.]+ read unit", page)


def test_a_server_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    config: dict[str, Any] = {"connect_timeout": 1, "retries": {"total_max_attempts": 1}}
    name = f"http://127.0.0.1:{port}"
    with open_target(name, **config) as target, serving(Console(target)) as url:
        answer = Browserless(url)
        answer.cookie = answer.ask(f"/?token={answer.token}").headers["set-cookie"].split(";")[0]
        page = answer.ask("/")
        assert page.status == 502
        assert f"{name} does not answer" in page.text


def test_aws_has_a_banner(opened: Open) -> None:
    page = opened(kind="aws", name="aws@eu-west-1").enter().ask("/").text
    assert re.search(r'class="banner".*read only', page, re.DOTALL)
    page = opened(write=True, kind="aws", name="aws@eu-west-1").enter().ask("/").text
    assert "what you write here changes real data" in page
