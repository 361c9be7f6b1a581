"""kill -9: every acknowledged write is there when the file is opened again.

Writers over HTTP, full durability. After each kill no transaction is half there, and every index
and counter equals its recomputation.
"""

import http.client
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from running import count, create_table, get, increment, put, scanned

import hashrange
from hashrange import Database

pytestmark = pytest.mark.slow

KILLS = 20
WRITERS = 4
SECONDS_MAX = 0.2
"""Between the first acknowledged write and the kill."""

HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=A/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=00",
    "X-Amz-Date": "20260101T000000Z",
}


class Writer:
    """Puts, increments a counter, and keeps two items equal by transactions.

    It knows the acknowledged writes; one more of each kind may have been written.
    """

    def __init__(self, number: int) -> None:
        self.name = f"writer {number}"
        self.puts = 0
        self.increments = 0
        self.pair = 0

    def write(self, port: int, acknowledged: Event) -> None:
        """Write until the server is gone."""
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            while True:
                self._turn(connection)
                acknowledged.set()
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    def _turn(self, connection: http.client.HTTPConnection) -> None:
        send(connection, "PutItem", put(self.name, str(self.puts), color="red"))
        self.puts += 1
        send(connection, "UpdateItem", increment(f"{self.name} counts"))
        self.increments += 1
        sets = {
            "UpdateExpression": "SET n = :n",
            "ExpressionAttributeValues": {":n": {"N": str(self.pair + 1)}},
        }
        twins = [{"Update": get(f"{self.name} pair", sk) | sets} for sk in "ab"]
        send(connection, "TransactWriteItems", {"TransactItems": twins})
        self.pair += 1

    def check(self, database: Database) -> None:
        """Then continue from the stored state."""
        response = database.execute(
            "Query",
            {
                "TableName": "items",
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": self.name}},
                "Select": "COUNT",
            },
        )
        assert response["Count"] - self.puts in (0, 1), self.name
        self.puts = response["Count"]
        increments = count(database.execute, f"{self.name} counts")
        assert increments - self.increments in (0, 1), self.name
        self.increments = increments
        twins = [database.execute("GetItem", get(f"{self.name} pair", sk)) for sk in "ab"]
        one, other = (int(twin["Item"]["n"]["N"]) if twin else 0 for twin in twins)
        assert one == other, f"half a transaction of {self.name}"
        assert one - self.pair in (0, 1), self.name
        self.pair = one


def send(connection: http.client.HTTPConnection, operation: str, request: Any) -> None:
    """Returns when it is acknowledged."""
    headers = HEADERS | {"X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    connection.request("POST", "/", json.dumps(request), headers)
    response = connection.getresponse()
    body = response.read()
    assert response.status == 200, body


@contextmanager
def server(path: str) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", "hashrange", "serve", path, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            said = (re.search(r"http://\S+:(\d+)", line) for line in process.stdout)
            found = next(filter(None, said))
            yield int(found[1]), process
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_acknowledged_writes_survive(path: str) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    chance = random.Random(seed)
    definitions = [{"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk", "color")]
    by_color = {
        "IndexName": "by-color",
        "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    with hashrange.connect(path) as database:
        create_table(
            database.execute, AttributeDefinitions=definitions, GlobalSecondaryIndexes=[by_color]
        )
    writers = [Writer(number) for number in range(WRITERS)]
    for _ in range(KILLS):
        acknowledged = Event()
        with ThreadPoolExecutor(WRITERS) as pool, server(path) as (port, process):
            writing = [pool.submit(writer.write, port, acknowledged) for writer in writers]
            assert acknowledged.wait(20)
            time.sleep(chance.uniform(0, SECONDS_MAX))
            process.kill()
            for writer in writing:
                writer.result()
        with hashrange.connect(path) as database:
            for one in writers:
                one.check(database)
            assert not list(database.check())
    with hashrange.connect(path) as database:
        colored = scanned(database.execute, IndexName="by-color", Select="ALL_ATTRIBUTES")
        assert len(colored) == sum(writer.puts for writer in writers) > KILLS
