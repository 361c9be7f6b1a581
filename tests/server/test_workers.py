"""`hashrange serve --workers N`: several processes on one file and one port."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from command_line import command_line as run
from programs import Serving, fault, get, serving
from running_workers import TOKEN, WORKERS, client, connected, create, metric, workers, workers_of
from waiting import wait_until

import hashrange
from hashrange.server.workers.shared import Shared

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.db"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server for tests that end nothing and need no table but their own."""
    with workers(tmp_path_factory.mktemp("workers") / "app.db") as server:
        yield server


# ---- serving ----


def test_connections_are_spread_and_the_log_tells_the_worker(path: Path) -> None:
    with workers(path, "--access-log", "--log-format", "json") as server:
        assert f"with {WORKERS} workers - Ctrl-C ends it" in server.greeting
        clients = [client(server) for _ in range(8)]
        for one in clients:
            one.list_tables()
        status, said = server.end(signal.SIGTERM)
    assert status == 0
    served = Counter(json.loads(line)["worker"] for line in said.splitlines())
    # On a busy machine, one of them may be late for a connection that it was to have.
    assert served.total() == 8
    assert min(served[1], served[2]) >= 2


def test_a_table_is_there_for_all_at_once(shared: Serving) -> None:
    clients = connected(shared)
    for number, one in enumerate(clients):
        name = f"Table{number}"
        create(one, name)
        for key, other in enumerate(clients):
            other.put_item(TableName=name, Item={"pk": {"S": str(key)}})
        for other in clients:
            assert other.scan(TableName=name, ConsistentRead=True)["Count"] == len(clients)
    clients[1].delete_table(TableName="Table0")
    for one in clients:
        with pytest.raises(one.exceptions.ResourceNotFoundException):
            one.get_item(TableName="Table0", Key={"pk": {"S": "0"}})


def test_every_write_is_read_by_the_other_worker(shared: Serving) -> None:
    clients = connected(shared)
    create(clients[0], "Turns")
    for turn in range(40):
        writer, reader = clients[turn % 4], clients[(turn + 1) % 4]
        item = {"pk": {"S": "one"}, "turn": {"N": str(turn)}}
        writer.put_item(TableName="Turns", Item=item)
        assert reader.get_item(TableName="Turns", Key={"pk": {"S": "one"}})["Item"] == item


def test_transactions_of_several_workers_keep_a_sum(shared: Serving) -> None:
    clients = connected(shared)
    create(clients[0], "Accounts")
    for account in range(6):
        item = {"pk": {"S": str(account)}, "cents": {"N": "100"}}
        clients[0].put_item(TableName="Accounts", Item=item)

    def change(account: int, cents: int) -> dict[str, Any]:
        return {
            "Update": {
                "TableName": "Accounts",
                "Key": {"pk": {"S": str(account)}},
                "UpdateExpression": "ADD cents :cents",
                "ExpressionAttributeValues": {":cents": {"N": str(cents)}},
            }
        }

    def move(number: int) -> None:
        for step in range(25):
            one, other = (number + step) % 6, (number + 2 * step + 1) % 6
            if one != other:
                clients[number].transact_write_items(
                    TransactItems=[change(one, -step), change(other, step)],
                    ClientRequestToken=f"{number}-{step}",
                )

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(move, range(len(clients))))
    # A token that another worker has stored holds here.
    clients[1].transact_write_items(
        TransactItems=[change(5, -24), change(0, 24)], ClientRequestToken="another"
    )
    clients[0].transact_write_items(
        TransactItems=[change(5, -24), change(0, 24)], ClientRequestToken="another"
    )
    keys = [{"Get": {"TableName": "Accounts", "Key": {"pk": {"S": str(n)}}}} for n in range(6)]
    found = clients[2].transact_get_items(TransactItems=keys)["Responses"]
    assert sum(int(each["Item"]["cents"]["N"]) for each in found) == 600


def test_pages_and_their_tokens_go_from_worker_to_worker(shared: Serving) -> None:
    clients = connected(shared)
    create(clients[0], "Pages")
    for number in range(20):
        clients[0].put_item(TableName="Pages", Item={"pk": {"S": str(number)}})
    seen: list[str] = []
    more: dict[str, Any] = {}
    for turn in range(20):
        page = clients[turn % 4].execute_statement(
            Statement="SELECT pk FROM Pages", Limit=3, **more
        )
        seen += [item["pk"]["S"] for item in page["Items"]]
        if "NextToken" not in page:
            break
        more = {"NextToken": page["NextToken"]}
    assert sorted(seen, key=int) == [str(number) for number in range(20)]


def test_a_stream_is_read_over_all_workers(shared: Serving) -> None:
    clients, readers = connected(shared), connected(shared, "dynamodbstreams")
    view = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    create(clients[0], "Logged", StreamSpecification=view)
    arn = clients[1].describe_table(TableName="Logged")["Table"]["LatestStreamArn"]

    def write(number: int) -> None:
        for step in range(20):
            item = {"pk": {"S": str(number)}, "step": {"N": str(step)}}
            clients[number].put_item(TableName="Logged", Item=item)

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(write, range(len(clients))))
    seen: dict[str, list[int]] = {}
    shards = readers[0].describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    for shard in shards:
        iterator = readers[1].get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        for turn in range(40):
            page = readers[turn % 4].get_records(ShardIterator=iterator, Limit=7)
            for record in page["Records"]:
                image = record["dynamodb"]["NewImage"]
                seen.setdefault(image["pk"]["S"], []).append(int(image["step"]["N"]))
            iterator = page.get("NextShardIterator")
            if not page["Records"] or iterator is None:
                break
    assert seen == {str(number): list(range(20)) for number in range(4)}


def test_backup_and_check_beside_workers(shared: Serving, tmp_path: Path) -> None:
    one = connected(shared)[0]
    create(one, "Kept")
    one.put_item(TableName="Kept", Item={"pk": {"S": "x"}})
    path = re.search(r"Serving (\S+) ", shared.greeting)
    assert path
    assert run("check", path[1]).returncode == 0
    assert run("backup", path[1], tmp_path / "copy.db").returncode == 0
    assert fault("compact", path[1]) == (
        f"{path[1]}: another process has it open; stop the server first"
    )
    with hashrange.connect(tmp_path / "copy.db") as copy:
        assert copy.execute("Scan", {"TableName": "Kept"})["Count"] == 1


LOGS = """
import logging, sys
from hashrange.server import logs
from hashrange.server.workers.shared import Shared
number = int(sys.argv[2])
logs.configure("json", False, number, Shared(int(sys.argv[1]), 3, number))
sys.stdin.read()
for _ in range(40):
    logging.getLogger("hashrange").warning(str(number) * 50_000)
"""


def test_long_lines_of_the_log_are_never_mixed() -> None:
    shared = Shared.new(3)
    received, sent = os.pipe()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", LOGS, str(shared.descriptor), str(number)],
            stdin=subprocess.PIPE,
            stderr=sent,
            pass_fds=[shared.descriptor],
        )
        for number in (1, 2, 3)
    ]
    os.close(sent)
    for writer in writers:
        assert writer.stdin
        writer.stdin.close()  # now all write at once
    with open(received) as lines:
        found = Counter(json.loads(line)["message"][:50_001] for line in lines)
    for writer in writers:
        assert writer.wait() == 0
    assert found == {str(number) * 50_000: 40 for number in (1, 2, 3)}


# ---- the admin port ----


def test_the_admin_port_tells_of_all_workers(path: Path) -> None:
    with workers(path) as server:
        assert get(server.admin_port, "/healthz") == (200, "alive\n")
        assert get(server.admin_port, "/readyz") == (200, "ready\n")
        clients = connected(server)
        create(clients[0], "Things")
        for one in clients:
            one.put_item(TableName="Things", Item={"pk": {"S": "x"}})
        assert metric(server, "hashrange_workers") == WORKERS
        assert metric(server, "hashrange_connections") == len(clients)
        assert metric(server, "hashrange_request_seconds_count") == 2 * len(clients) + 1
        assert metric(server, "aws_dynamodb_consumed_write_capacity_units_total") == len(clients)
        [shown] = json.loads(get(server.admin_port, "/inspect", TOKEN)[1])["tables"]
        assert shown["load"]["write_units"] == len(clients)
        [hottest] = shown["load"]["accessed"]["partition_keys"]
        a_write_counts = 3
        assert hottest == {"key": {"pk": {"S": "x"}}, "count": a_write_counts * len(clients)}

        os.kill(workers_of(server)[0], signal.SIGKILL)
        wait_until(lambda: metric(server, "hashrange_worker_restarts_total") == 1)
        wait_until(lambda: metric(server, "hashrange_workers") == WORKERS)
        # What the worker that has ended had counted still counts.
        assert metric(server, "aws_dynamodb_consumed_write_capacity_units_total") == len(clients)
        assert get(server.admin_port, "/readyz") == (200, "ready\n")


def test_a_worker_that_hangs_is_not_alive(
    path: Path,
) -> None:
    with workers(path) as server:
        hanging = workers_of(server)[0]
        os.kill(hanging, signal.SIGSTOP)
        try:
            status, line = get(server.admin_port, "/healthz")
        finally:
            os.kill(hanging, signal.SIGCONT)
        assert status == 503
        assert re.fullmatch(r"worker [12] has not answered for 5 seconds\n", line)
        assert get(server.admin_port, "/healthz") == (200, "alive\n")


# ---- what all must know ----


def test_damage_that_one_finds_stops_the_writes_of_all(path: Path) -> None:
    with hashrange.connect(path) as database:
        definition: dict[str, Any] = {
            "TableName": "Things",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        database.execute("CreateTable", definition)
        for number in range(5):
            item = {"pk": {"S": str(number)}}
            database.execute("PutItem", {"TableName": "Things", "Item": item})
    with closing(sqlite3.connect(path)) as file:
        spaces = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 's[1-9]*'"
        for (name,) in file.execute(spaces).fetchall():
            file.execute(f"UPDATE {name} SET value = x'0000000000' || value")
        file.commit()

    def refuses(one: Any) -> bool:
        try:
            one.put_item(TableName="Things", Item={"pk": {"S": "new"}})
        except one.exceptions.InternalServerError:
            return True
        return False

    with workers(path) as server:
        clients = [client(server, retries={"total_max_attempts": 1}) for _ in range(4)]
        wait_until(lambda: all(refuses(one) for one in clients))
        assert get(server.admin_port, "/readyz")[0] == 503
        restarted = workers_of(server)[0]
        os.kill(restarted, signal.SIGKILL)
        wait_until(lambda: metric(server, "hashrange_workers") == WORKERS)
        wait_until(lambda: all(refuses(client(server)) for _ in range(4)))


def test_new_keys_hold_at_every_worker(path: Path) -> None:
    keys = path.with_name("keys")
    keys.touch(0o600)
    keys.write_text("x y\n")
    with workers(path, "--keys", keys) as server:
        clients = connected(server)
        keys.write_text("x another\n")
        server.process.send_signal(signal.SIGHUP)

        def refused(one: Any) -> bool:
            try:
                one.list_tables()
            except ClientError as error:
                return bool(error.response["Error"]["Code"] == "InvalidSignatureException")
            return False

        wait_until(lambda: all(refused(one) for one in clients))
        _, said = server.end(signal.SIGTERM)
    assert said.count("SIGHUP: the file of keys was read again") == 1  # for all


# ---- bad input ----


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "--workers needs a file: a database in memory has one process"),
        (
            ("app.db", "--throughput", "enforced"),
            "--throughput enforced needs --workers 1: each worker would have its own meter",
        ),
        (
            ("app.db", "--eventual", "drawn"),
            "--eventual needs --workers 1: old values are kept in one process",
        ),
    ],
)
def test_what_workers_cannot_do(arguments: tuple[str, ...], line: str, tmp_path: Path) -> None:
    placed = [tmp_path / each if each == "app.db" else each for each in arguments]
    assert fault("serve", "--port", 0, "--workers", 2, *placed) == line
    assert not (tmp_path / "app.db").exists()


@pytest.mark.parametrize("number", ["0", "65", "-1", "two", "1.5", ""])
def test_a_number_of_workers_that_makes_no_sense(number: str) -> None:
    ended = run("serve", "--workers", number)
    assert ended.returncode == 2
    assert ended.stderr.endswith(
        f"error: argument --workers: {number!r} is not a number from 1 to 64\n"
    )


def test_the_number_of_workers_by_environment(path: Path) -> None:
    with serving(path, HASHRANGE_WORKERS="2") as server:
        assert "with 2 workers" in server.greeting
        assert len(workers_of(server)) == 2
    assert fault("serve", HASHRANGE_WORKERS="none") == (
        "HASHRANGE_WORKERS: 'none' is not a number from 1 to 64"
    )


def test_one_worker_is_the_server_itself(path: Path) -> None:
    with serving(path, "--workers", 1) as server:
        assert "workers" not in server.greeting
        assert workers_of(server) == []
