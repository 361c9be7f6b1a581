"""The page of partitions: of a database in this process, and of a server by its admin port."""

import os
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from waiting import SECONDS_MAX

import hashrange
from console import shop
from console.asking import Browserless, Open
from console.test_command import started
from console.test_tour import text_of
from hashrange import Settings
from hashrange.tools.console import Console, serving
from hashrange.tools.console.watching import AdminClient
from hashrange.tools.target import Target, target_of

PAGE = "/table/shop/partitions"
TOKEN = "a token for this test alone"


@pytest.fixture
def hot() -> Iterator[hashrange.Database]:
    """A database whose partitions serve ten write units a second."""
    settings = Settings(throughput="enforced", partition_write_units=10)
    with hashrange.connect(settings=settings) as database:
        yield database


def test_the_partitions_of_the_table_and_its_indexes(client: Any, opened: Open) -> None:
    shop.make(client)
    page = opened().enter().ask(PAGE).text
    assert page.count('<svg class="ring"') == 2
    assert "by-status" in page
    assert re.search(r"customer#ann .* 13 ", text_of(page))
    assert "Heat is not measured" in page


def test_heat_hot_keys_and_refusals(hot: hashrange.Database) -> None:
    client = hot.boto3_session().client("dynamodb")
    client.create_table(**shop.TABLE)
    item = shop.order(1)
    refused = 0
    for _ in range(30):
        try:
            hot.execute("PutItem", {"TableName": "shop", "Item": item})
        except Exception:
            refused += 1
    assert refused
    with serving(Console(target_of(hot, "hot"))) as url:
        console = Browserless(url).enter()
        for path in (PAGE, f"{PAGE}/now"):
            page = text_of(console.ask(path).text)
            assert "KeyRangeThroughputExceeded" in page
            assert f"{refused} refused" in page
            assert "a write counts three customer#ann" in page
            assert "Keys that were refused customer#ann" in page


def test_hostile_keys_are_escaped(client: Any, opened: Open) -> None:
    shop.make(client)
    client.put_item(TableName="shop", Item=shop.hostile())
    page = opened().enter().ask(PAGE).text
    assert "<script>window" not in page
    assert "&lt;script&gt;window.hit=1&lt;/script&gt;" in page


def test_keys_that_are_bytes(client: Any, opened: Open) -> None:
    table = {
        "TableName": "shop",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "B"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    client.create_table(**table)
    client.put_item(TableName="shop", Item={"pk": {"B": b"\x00\xff"}})
    assert "00ff" in opened().enter().ask(PAGE).text


def test_no_table_and_no_partitions(client: Any, opened: Open) -> None:
    assert opened().enter().ask(PAGE).status == 404
    shop.make(client)
    remote = opened(database=None).enter()
    assert "/partitions" not in remote.ask("/table/shop").text
    assert remote.ask(PAGE).status == 404


@contextmanager
def server(path: Path) -> Iterator[tuple[str, str]]:
    """The addresses of a server and of its admin port."""
    command = [sys.executable, "-m", "hashrange", "serve", str(path), "--port", "0"]
    command += ["--admin-port", "0"]
    environment = {**os.environ, "HASHRANGE_ADMIN_TOKEN": TOKEN}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        try:
            found: dict[str, str] = {}
            for line in process.stdout:
                if address := re.search(r"http://[\d.]+:\d+", line):
                    found["admin" if "dmin" in line else "api"] = address[0]
                if len(found) == 2:
                    break
            yield found["api"], found["admin"]
        finally:
            process.kill()


def test_a_server_is_watched_by_its_admin_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(tmp_path / "app.db") as (api, admin):
        client = boto3.client(
            "dynamodb",
            endpoint_url=api,
            region_name="us-east-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )
        shop.make(client)
        monkeypatch.setenv("HASHRANGE_ADMIN_TOKEN", TOKEN)
        with started("console", api, "--admin", admin, "--port", "0") as (_, console):
            page = console.ask(PAGE)
            assert "a write counts three customer#ann" in text_of(page.text)
            assert TOKEN not in page.text
        monkeypatch.setenv("HASHRANGE_ADMIN_TOKEN", "another token of some length")
        with started("console", api, "--admin", admin, "--port", "0") as (_, console):
            answer = console.ask(PAGE)
            assert answer.status == 502
            assert "refuses the token" in answer.text


def test_an_admin_port_that_does_not_answer(of_db: Target, client: Any) -> None:
    shop.make(client)
    watched = AdminClient("http://127.0.0.1:1", TOKEN)
    with serving(Console(of_db, inspect=watched.inspect)) as url:
        answer = Browserless(url).enter().ask(PAGE)
        assert answer.status == 502
        assert "does not answer" in answer.text
    for address in ("127.0.0.1:9000", "ftp://127.0.0.1", "http://"):
        with pytest.raises(ValueError, match=r"must be like http://"):
            AdminClient(address, TOKEN)


def test_the_page_is_refreshed_by_itself(client: Any, opened: Open, browser: Any) -> None:
    shop.make(client)
    console = opened().enter()
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.set_default_timeout(1000 * SECONDS_MAX)
    page.goto(console.url.replace("/?", f"{PAGE}?"))
    page.get_by_text("14 items").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    client.put_item(TableName="shop", Item={"pk": {"S": "new"}, "sk": {"S": "new"}})
    page.get_by_text("15 items").first.wait_for()
    context.close()


def test_a_divided_collection_can_be_read(tmp_path: Path) -> None:
    """The partitions of one key show their sort keys: here, in `inspect` and in a picture."""
    path, database = tmp_path / "shop.db", Settings(partition_bytes=30_000)
    with hashrange.connect(path, settings=database) as db:
        db.execute("CreateTable", shop.TABLE)
        for number in range(60):
            item = {"pk": {"S": "one"}, "sk": {"S": f"{number:03}"}, "text": {"S": "x" * 2000}}
            db.execute("PutItem", {"TableName": "shop", "Item": item})
            db.run_upkeep()
        [table] = db.inspect("shop")
        divided = [part for part in table["partitions"] if part["from_key"]]
        assert len(divided) > 3
        firsts = [part["from_key"]["sk"]["S"] for part in divided]
        assert firsts == sorted(set(firsts))
        with serving(Console(target_of(db, "divided"))) as url:
            page = Browserless(url).enter().ask(PAGE)
        labels = re.findall(r'<text class="partition[^>]*>([^<]*)</text>', page.text)
        assert len(labels) == len(table["indexes"][0]["partitions"]), "the index has a ring"
        [picture] = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', page.text)
        drawn = b64decode(picture).decode()
        assert drawn.count("a divided item collection") == 1
        assert drawn.count("<circle") == len(divided) + 2, "a point for each split, and the legend"
        shown = text_of(page.text)
        assert all(f"one {first}" in shown for first in firsts)
        numbers = ", ".join(str(part["number"]) for part in divided)
        assert re.search(rf"\d+, {numbers} 60", shown)
    command = [sys.executable, "-m", "hashrange", "inspect", str(path), "shop"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    bounds = re.findall(r"partition \d+, (.*): \d+ item", printed)
    of_table = bounds[: len(table["partitions"])]
    assert len(of_table) == len(set(of_table)) == len(table["partitions"])
    assert f"sk = '{firsts[0]}' to" in printed
