"""Stream readers as users write them, over HTTP, while writers run and shards roll over."""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import boto3
import pytest
from botocore.config import Config
from stream_readers import LEASES, Change, Client, Ledger, Poller, Worker, shards
from waiting import SECONDS_MAX, wait_until

pytestmark = pytest.mark.deep

SHARD_SECONDS = 0.3
SHARDS_MIN = 12
"""How often shards roll over while all this goes on: three times each, at least."""

WRITERS = 3
ITEMS_EACH = 5
CHANGES_EACH = 160
Connect = Callable[[str], Client]


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    """Makes a client of a server of our own."""
    command = [sys.executable, str(Path(__file__).parent / "rolling_server.py"), str(SHARD_SECONDS)]
    session = boto3.Session("key", "secret", region_name="us-east-1")
    config = Config(retries={"total_max_attempts": 1})
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        yield lambda service: session.client(service, endpoint_url=url, config=config)
        process.terminate()


def create(db: Client, name: str, key: str, **parameters: Any) -> dict[str, Any]:
    made: dict[str, Any] = db.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        **parameters,
    )["TableDescription"]
    return made


class Writer(Thread):
    """Changes items of its own in every possible way, and remembers the changes of each."""

    def __init__(self, db: Client) -> None:
        super().__init__()
        self.db = db
        self.done: defaultdict[str, list[Change]] = defaultdict(list)

    def run(self) -> None:
        keys = [f"{self.name}.{number}" for number in range(ITEMS_EACH)]
        there: dict[str, int] = {}
        for number in range(CHANGES_EACH):
            key = keys[number * 7 % ITEMS_EACH]
            if key in there and number % 4 == 3:
                self.db.delete_item(TableName="table", Key={"pk": {"S": key}})
                self.done[key].append(("REMOVE", there.pop(key)))
                continue
            self.write(key, number)
            self.done[key].append(("MODIFY" if key in there else "INSERT", number))
            there[key] = number

    def write(self, key: str, number: int) -> None:
        item = {"pk": {"S": key}, "n": {"N": str(number)}}
        match number % 4:
            case 0:
                self.db.put_item(TableName="table", Item=item)
            case 1:
                self.db.update_item(
                    TableName="table",
                    Key={"pk": {"S": key}},
                    UpdateExpression="SET n = :n",
                    ExpressionAttributeValues={":n": item["n"]},
                )
            case 2:
                put = {"Put": {"TableName": "table", "Item": item}}
                self.db.transact_write_items(TransactItems=[put])
            case _:
                request = {"table": [{"PutRequest": {"Item": item}}]}
                self.db.batch_write_item(RequestItems=request)


def test_every_reader_sees_every_change_once_and_in_order(connect: Connect) -> None:
    """A poller, and workers of which one crashes and one comes late."""
    db = connect("dynamodb")
    create(db, LEASES, "leaseKey")
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    arn = create(db, "table", "pk", StreamSpecification=stream)["LatestStreamArn"]
    closed, ledger = Event(), Ledger()
    poller = Poller(connect, arn, closed)
    workers = [Worker(connect, arn, closed, ledger) for _ in range(4)]
    writers = [Writer(connect("dynamodb")) for _ in range(WRITERS)]
    *early, late = workers
    for thread in (*writers, poller, *early):
        thread.start()
    wait_until(lambda: all(worker.taken for worker in early))
    early[0].crashed.set()
    late.start()
    for thread in writers:
        thread.join()
    wait_until(lambda: late.taken)
    wait_until(lambda: len(list(shards(connect("dynamodbstreams"), arn))) >= SHARDS_MIN)
    db.update_table(TableName="table", StreamSpecification={"StreamEnabled": False})
    closed.set()
    for thread in (poller, *workers):
        thread.join(timeout=SECONDS_MAX)
        assert not thread.is_alive()
        assert thread.error is None
    done = {key: changes for writer in writers for key, changes in writer.done.items()}
    assert poller.ledger.seen == done
    assert ledger.seen == done
