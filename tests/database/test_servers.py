"""`hashrange serve postgresql://…`: several servers on one database, restarts, and outages."""

import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError
from waiting import SECONDS_MAX, wait_until

from hashrange.testing.postgres_server import PostgresServer

from .serving import Serving, client_of, serving
from .test_databases import CREATE, TABLE, get, put

INCREMENT: dict[str, Any] = get("n") | {
    "UpdateExpression": "ADD n :n",
    "ExpressionAttributeValues": {":n": {"N": "1"}},
}


def number(client: Any) -> int:
    item = client.get_item(**get("n"), ConsistentRead=True)["Item"]
    return int(item["n"]["N"])


def readiness(server: Serving) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"{server.admin}/readyz") as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_two_servers_are_one_database(dsn: str) -> None:
    with serving(dsn) as first, serving(dsn) as second:
        one, other = client_of(first.url), client_of(second.url)
        for at in range(5):
            table = {"TableName": f"{TABLE}{at}"}
            one.create_table(**CREATE | table)
            other.put_item(**put("a") | table)
            assert "Item" in one.get_item(**get("a") | table)
            other.delete_table(**table)
            assert table["TableName"] not in one.list_tables()["TableNames"]
        one.create_table(**CREATE)
        for client in (one, other, one):
            client.transact_write_items(
                TransactItems=[{"Update": INCREMENT}], ClientRequestToken="once"
            )
        assert number(other) == 1
        assert not first.end()
        assert not second.end()


def test_the_lag_of_an_index_is_a_metric(dsn: str) -> None:
    """Global indexes are updated from a log, and the entries are there soon."""
    index = {
        "IndexName": "by-color",
        "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    color = {"AttributeName": "color", "AttributeType": "S"}
    definitions = [*CREATE["AttributeDefinitions"], color]
    with serving(dsn + "&dialect=citus") as server:
        client = client_of(server.url)
        wanted = {"AttributeDefinitions": definitions, "GlobalSecondaryIndexes": [index]}
        client.create_table(**CREATE | wanted)
        for number in range(5):
            client.put_item(
                TableName=TABLE, Item=put(f"{number}")["Item"] | {"color": {"S": "red"}}
            )
        entries = {"TableName": TABLE, "IndexName": "by-color"}
        wait_until(lambda: client.scan(**entries)["Count"] == 5)
        labels = f'global_secondary_index_name="by-color",table_name="{TABLE}"'
        shown = f"\nhashrange_index_lag_seconds{{{labels}}} 0.0\n"
        wait_until(lambda: shown in metrics(server))


def metrics(server: Serving) -> str:
    headers = {"Authorization": f"Bearer {server.token}"}
    request = urllib.request.Request(f"{server.admin}/metrics", headers=headers)
    with urllib.request.urlopen(request) as response:
        text: str = response.read().decode()
        return text


class Load:
    """Threads that increment a number, each time with a token, through any of several servers.

    A server that does not accept the connection is avoided, as a load balancer does. Two loads of
    one database need different names.
    """

    def __init__(self, urls: list[str], threads: int = 6, name: str = "") -> None:
        self.urls = urls
        self.name = name
        self.acknowledged = 0
        self.longest = 0.0
        """The longest wait for an answer, in seconds."""
        self.problems: list[str] = []
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._work, args=(at,)) for at in range(threads)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _work(self, at: int) -> None:
        clients = [client_of(url, attempts=1) for url in self.urls]
        sent = 0
        while not self._ending.is_set():
            sent += 1
            self._increment(clients, at, f"{self.name}{at}-{sent}")

    def _increment(self, clients: list[Any], at: int, token: str) -> None:
        update = INCREMENT | {"Key": {"pk": {"S": f"n{self.name}{at}"}}}
        end = time.monotonic() + 60
        while time.monotonic() < end:
            client, began = clients[0], time.monotonic()
            try:
                client.transact_write_items(
                    TransactItems=[{"Update": update}], ClientRequestToken=token
                )
            except (ConnectionError, HTTPClientError):
                clients.append(clients.pop(0))
                continue
            except ClientError as error:
                with self._lock:
                    self.problems.append(error.response["Error"]["Code"])
                continue
            finally:
                self.longest = max(self.longest, time.monotonic() - began)
            with self._lock:
                self.acknowledged += 1
            return


def total(client: Any) -> int:
    items = client.scan(TableName=TABLE, ConsistentRead=True)["Items"]
    return sum(int(item["n"]["N"]) for item in items)


def test_a_rolling_restart_under_load_fails_no_request(dsn: str) -> None:
    with serving(dsn) as first, serving(dsn) as second:
        client_of(first.url).create_table(**CREATE)
        servers = [first, second]
        load = Load([server.url for server in servers])
        for round_ in range(4):
            done = load.acknowledged
            wait_until(lambda done=done: load.acknowledged > done + 20)  # type: ignore[misc]
            old = servers[round_ % 2]
            assert not old.end()
            servers[round_ % 2] = Serving(dsn, old.port)
        load.end()
        assert not load.problems
        assert total(client_of(servers[0].url)) == load.acknowledged
        for server in servers:
            assert not server.end()


def test_a_database_that_goes_away_is_waited_for(mortal_postgres_server: PostgresServer) -> None:
    """Requests get errors that SDKs retry, and the server recovers by itself."""
    postgres = mortal_postgres_server
    with serving(postgres.new_schema()) as server:
        client_of(server.url).create_table(**CREATE)
        load = Load([server.url])
        wait_until(lambda: load.acknowledged > 20)
        assert readiness(server) == (200, "ready\n")
        postgres.kill()
        wait_until(lambda: "cannot be reached" in readiness(server)[1])
        assert readiness(server)[0] == 503
        postgres.start()
        done = load.acknowledged
        wait_until(lambda: load.acknowledged > done + 20)
        wait_until(lambda: readiness(server)[0] == 200)
        load.end()
        assert set(load.problems) <= {"InternalServerError"}
        assert total(client_of(server.url)) == load.acknowledged
        assert "Traceback" not in server.end()


# ---- databases that cannot be opened ----


def told(*arguments: str) -> str:
    """The one line with which a command fails."""
    ended = subprocess.run(
        [sys.executable, "-m", "hashrange", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    [line] = ended.stderr.splitlines()
    return line


SECRET = "correct-horse"


@pytest.mark.parametrize("command", ["serve --port 0", "check"])
def test_a_database_that_cannot_be_opened_is_one_line(
    command: str, durable_postgres_server: PostgresServer
) -> None:
    server = durable_postgres_server
    foreign = server.new_schema()
    schema = foreign.rpartition("=")[2]
    server.run(f"CREATE TABLE {schema}.rows (other text)")
    latin = server.new_database("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    stranger = server.dsn().replace("hashrange@", f"stranger:{SECRET}@")
    addresses = {
        server.dsn("absent"): "does not exist",
        stranger: "stranger",
        foreign: "hashrange",
        latin: "UTF8",
        f"postgresql://u:{SECRET}@[::1/name": "not valid",
    }
    for address, words in addresses.items():
        line = told(*command.split(), address)
        assert words in line
        assert SECRET not in line


def test_an_error_names_no_password(durable_postgres_server: PostgresServer) -> None:
    server = durable_postgres_server
    server.run(f"CREATE ROLE careful LOGIN PASSWORD '{SECRET}'")
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    try:
        rules.write_text(f"local all careful scram-sha-256\n{before}")
        server.run("SELECT pg_reload_conf()")
        wait_until(lambda: "password" in told("check", server.dsn(user="careful:wrong")))
        line = told("check", server.dsn(user=f"careful:{SECRET}x"))
        assert SECRET not in line
    finally:
        rules.write_text(before)
        server.run("SELECT pg_reload_conf()")
