"""hashrange copy: whole tables to another database, and what changes meanwhile."""

import json
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import drawn_items
import pytest
from botocore.awsrequest import AWSResponse
from moving_data import Item, Run, content, fault, fill, folder, numbered, ordered, run
from programs import command
from waiting import SECONDS_MAX, wait_until

import hashrange
from hashrange import Settings
from hashrange.declared import tables

__all__ = ["folder", "run"]  # fixtures
pytestmark = pytest.mark.slow

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def test_tables_are_copied_with_what_belongs_to_them(folder: Path, run: Run) -> None:
    items = drawn_items.odd_items()
    fill("a.db", items)
    with hashrange.connect("a.db") as db:
        db.execute(
            "CreateTable",
            drawn_items.TABLE
            | {
                "TableName": "other",
                "StreamSpecification": STREAM,
                "Tags": [{"Key": "team", "Value": "data"}],
            },
        )
        expiry = {"Enabled": True, "AttributeName": "expires"}
        db.execute("UpdateTimeToLive", {"TableName": "other", "TimeToLiveSpecification": expiry})
    ended = run("copy", "a.db", "b.db")
    assert ended.status == 0, ended.error
    assert f"table: {len(items)} items, each item as it was at some moment between" in ended.out
    assert content("b.db") == ordered(items)
    with hashrange.connect("b.db") as db:
        described = db.execute("DescribeTable", {"TableName": "other"})["Table"]
        assert described["StreamSpecification"] == STREAM
        tags = db.execute("ListTagsOfResource", {"ResourceArn": described["TableArn"]})
        assert tags["Tags"] == [{"Key": "team", "Value": "data"}]
        found = db.execute("DescribeTimeToLive", {"TableName": "other"})
        assert found["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
    assert run("copy", "a.db", "b.db", "table").status == 0, "again, into tables that are there"
    assert [path.name for path in Path().iterdir() if "progress" in path.name] == []


def test_a_server_may_have_no_tags() -> None:
    def refused(**_: object) -> tuple[AWSResponse, dict[str, Any]]:
        """As DynamoDB Local 2.6.1 answers."""
        code = "UnknownOperationException"
        message = "Tagging is not currently supported in DynamoDB Local."
        answer = AWSResponse("http://127.0.0.1:8000", 400, {}, None)
        return answer, {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {}}

    with hashrange.connect() as db:
        db.execute("CreateTable", drawn_items.TABLE)
        client = db.boto3_session().client("dynamodb")
        client.meta.events.register("before-call.dynamodb.ListTagsOfResource", refused)
        found = tables.description(client, "a server", drawn_items.TABLE["TableName"])
    assert "Tags" not in found.table
    assert found.table["KeySchema"] == drawn_items.TABLE["KeySchema"]


def test_between_servers_and_files(folder: Path, run: Run) -> None:
    fill("a.db", [numbered(number) for number in range(2000)])
    with hashrange.serve() as server:
        assert run("copy", "a.db", server.url, "table", "--parallel", 3).status == 0
        assert run("copy", server.url, "b.db", "--parallel", 3).status == 0
    assert content("b.db") == content("a.db")


def test_mistakes(folder: Path, run: Run) -> None:
    fill("a.db", [numbered(1)])
    Path("link.db").symlink_to("a.db")
    for name in ("a.db", "./a.db", "link.db"):
        assert "the same" in fault(run("copy", "a.db", name)), name
    assert "ResourceNotFoundException" in fault(run("copy", "a.db", "b.db", "none"))
    with hashrange.connect("c.db") as db:
        key = drawn_items.TABLE["KeySchema"][:1]
        names = drawn_items.TABLE["AttributeDefinitions"][:1]
        db.execute(
            "CreateTable",
            drawn_items.TABLE | {"KeySchema": key, "AttributeDefinitions": names},
        )
    assert "with another key" in fault(run("copy", "a.db", "c.db"))
    assert "needs a stream with the view" in fault(run("copy", "a.db", "d.db", "--follow"))


@pytest.mark.deep
def test_a_copy_goes_on_where_it_was_ended(folder: Path, run: Run) -> None:
    items = [numbered(number) | {"v": {"S": "x" * 2000}} for number in range(4000)]
    fill("a.db", items)
    for by in (signal.SIGKILL, signal.SIGINT):
        with subprocess.Popen(
            command("copy", "a.db", "b.db", "--rate", "3000"), stderr=subprocess.PIPE, text=True
        ) as process:
            before = done("b.db.progress")
            while done("b.db.progress") <= before:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(by)
            process.communicate(timeout=SECONDS_MAX)
    ended = run("copy", "a.db", "b.db")
    assert ended.status == 0, ended.error
    assert content("b.db") == ordered(items)
    assert not Path("b.db.progress").exists()


def done(progress: str) -> int:
    try:
        state = json.loads(Path(progress).read_bytes())["state"]
    except FileNotFoundError:
        return 0
    return sum(table["items"] for table in state.values())


# ---- following ----


class Writer(threading.Thread):
    """Changes random items of a table again and again, until it is stopped."""

    def __init__(self, client: Any, seed: int) -> None:
        super().__init__()
        self.stopped = threading.Event()
        self.writes = 0
        self._client = client
        self._random = random.Random(seed)

    def run(self) -> None:
        while not self.stopped.is_set():
            number = self._random.randrange(300)
            key = {"pk": {"S": f"p{number % 97}"}, "sk": {"N": str(number)}}
            if self._random.random() < 0.3:
                self._client.delete_item(TableName="table", Key=key)
            else:
                item = key | {"v": {"N": str(self.writes)}, "b": {"B": b"\x00"}}
                self._client.put_item(TableName="table", Item=item)
            self.writes += 1
            time.sleep(0.005)


@contextmanager
def following(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        command("copy", *arguments, "--follow"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        late = threading.Timer(SECONDS_MAX, process.kill)
        late.start()
        try:
            if not any(line.startswith("caught up: ") for line in process.stdout):
                assert process.stderr
                raise AssertionError(process.stderr.read() or "the copy has not caught up")
        finally:
            late.cancel()
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=SECONDS_MAX)
    assert (process.returncode, error) == (0, "")
    assert "s behind; run the same command again to continue from " in out
    assert out.endswith(".progress, or remove that file\n")


def equal_soon(client: Any, copied: Any) -> None:
    """The copy has every change within some seconds after the last one."""
    wait_until(lambda: scanned(copied) == scanned(client))
    assert scanned(client)


def scanned(client: Any) -> dict[str, Item]:
    pages = client.get_paginator("scan").paginate(TableName="table")
    return {item["sk"]["N"]: item for page in pages for item in page["Items"]}


def test_following_brings_the_copy_up_to_date(folder: Path) -> None:
    settings = Settings(shard_seconds=1.0)  # new shards all the while
    source = hashrange.connect(settings=settings)
    with source, hashrange.serve(source) as server, hashrange.serve() as copied:
        client = source.boto3_session().client("dynamodb")
        target = copied.database.boto3_session().client("dynamodb")
        client.create_table(**drawn_items.TABLE, StreamSpecification=STREAM)
        for number in range(200):
            client.put_item(TableName="table", Item=numbered(number))
        writer = Writer(client, seed=7)
        writer.start()
        try:
            with following(server.url, copied.url, "--rate", "400"):
                wait_until(lambda: writer.writes > 300)
                writer.stopped.set()
                writer.join()
                equal_soon(client, target)
            for number in range(50):
                client.delete_item(
                    TableName="table",
                    Key={"pk": {"S": f"p{number % 97}"}, "sk": {"N": str(number)}},
                )
            client.put_item(TableName="table", Item=numbered(1000))
            with following(server.url, copied.url, "--rate", "400"):  # it goes on
                equal_soon(client, target)
        finally:
            writer.stopped.set()
            writer.join()
    assert Path("hashrange-copy.progress").exists()
