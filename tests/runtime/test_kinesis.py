"""The changes of tables reach Kinesis: each at least once, those of an item in order."""

import json
import random
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import hashrange
from hashrange import Settings
from hashrange.model.errors import ValidationException
from hashrange.testing import TestClock
from hashrange.upkeep.upkeep import Upkeep

STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
PRECISION = "ApproximateCreationDateTimePrecision"
Record = dict[str, Any]


def opened(place: object, path: Path | None = None, **settings: Any) -> hashrange.Database:
    clock = settings.pop("clock", None)
    return hashrange.connect(path, clock=clock, settings=Settings(kinesis=str(place), **settings))


def created(database: hashrange.Database, name: str = "orders", **members: Any) -> None:
    database.execute(
        "CreateTable",
        {
            "TableName": name,
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
            **members,
        },
    )


def enable(database: hashrange.Database, **members: Any) -> None:
    request = {"TableName": "orders", "StreamArn": STREAM, **members}
    database.execute("EnableKinesisStreamingDestination", request)


def put(database: hashrange.Database, pk: str, **attributes: Any) -> None:
    database.execute("PutItem", {"TableName": "orders", "Item": {"pk": {"S": pk}, **attributes}})


def destination(database: hashrange.Database) -> dict[str, Any]:
    described = database.execute("DescribeKinesisStreamingDestination", {"TableName": "orders"})
    [found] = described["KinesisDataStreamDestinations"]
    return dict(found)


def lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def numbers(records: list[Record]) -> dict[str, list[int]]:
    """The numbers of each item, in the order of the records; a repetition counts once."""
    found: dict[str, list[int]] = {}
    for record in records:
        image = record["dynamodb"]["NewImage"]
        values = found.setdefault(image["pk"]["S"], [])
        number = int(image["n"]["N"])
        if number not in values:
            values.append(number)
    return found


def test_a_record_is_the_services(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "sent", clock=TestClock(1_700_000_000.25))) as database:
        created(database)
        put(database, "before")
        enable(database)
        put(database, "a", photo={"B": "EgIIew=="}, more={"L": [{"BS": ["AQ=="]}]})
        put(database, "a", n={"N": "1"})
        database.execute("DeleteItem", {"TableName": "orders", "Key": {"pk": {"S": "a"}}})
        database.run_upkeep()
    first, second, third = lines(tmp_path / "sent")
    assert list(first) == [
        *("awsRegion", "eventID", "eventName", "userIdentity", "recordFormat", "tableName"),
        *("dynamodb", "eventSource"),
    ]
    image = first["dynamodb"].pop("NewImage")
    assert b64decode(image["photo"]["B"]) == b"EgIIew=="  # encoded twice, as a real record is
    assert image["more"] == {"L": [{"BS": ["QVE9PQ=="]}]}
    assert first["dynamodb"] == {
        "ApproximateCreationDateTime": 1_700_000_000_250,
        "Keys": {"pk": {"S": "a"}},
        "SizeBytes": first["dynamodb"]["SizeBytes"],
        PRECISION: "MILLISECOND",
    }
    assert [each["eventName"] for each in (first, second, third)] == ["INSERT", "MODIFY", "REMOVE"]
    assert second["dynamodb"]["OldImage"] == image | second["dynamodb"]["OldImage"]
    assert second["dynamodb"]["NewImage"] == {"pk": {"S": "a"}, "n": {"N": "1"}}
    assert third["userIdentity"] is None
    assert first["eventID"] != second["eventID"]


def test_precision_can_be_changed_and_expiry_is_the_services(tmp_path: Path) -> None:
    clock = TestClock(1_700_000_000)
    with closing(opened(tmp_path / "sent", clock=clock)) as database:
        created(database)
        database.execute(
            "UpdateTimeToLive",
            {
                "TableName": "orders",
                "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"},
            },
        )
        enable(database)
        database.execute(
            "UpdateKinesisStreamingDestination",
            {
                "TableName": "orders",
                "StreamArn": STREAM,
                "UpdateKinesisStreamingConfiguration": {PRECISION: "MICROSECOND"},
            },
        )
        put(database, "a", until={"N": "1699999999"})
        database.run_upkeep()
    _, expired = lines(tmp_path / "sent")
    assert expired["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    assert expired["dynamodb"]["ApproximateCreationDateTime"] == 1_700_000_000_000_000
    assert expired["dynamodb"][PRECISION] == "MICROSECOND"


def shown(database: hashrange.Database) -> list[dict[str, Any]]:
    """The content of all records of the table's latest stream."""
    table = database.execute("DescribeTable", {"TableName": "orders"})["Table"]
    stream = {"StreamArn": table["LatestStreamArn"]}
    records = []
    for shard in database.execute("DescribeStream", stream)["StreamDescription"]["Shards"]:
        start = {**stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = database.execute("GetShardIterator", start)
        records += database.execute("GetRecords", iterator)["Records"]
    return [record["dynamodb"] for record in records]


def test_a_stream_and_a_destination_share_a_log(tmp_path: Path) -> None:
    """Each has the records of its own time, although all is done within one moment."""
    with closing(opened(tmp_path / "sent", clock=TestClock(1_700_000_000))) as database:

        def stream(**specification: Any) -> None:
            update = {"TableName": "orders", "StreamSpecification": specification}
            database.execute("UpdateTable", update)

        created(database)
        stream(StreamEnabled=True, StreamViewType="KEYS_ONLY")
        put(database, "a", n={"N": "0"})
        enable(database)
        put(database, "a", n={"N": "1"})
        database.run_upkeep()
        stream(StreamEnabled=False)
        put(database, "a", n={"N": "2"})
        database.run_upkeep()
        assert [list(each["Keys"]) for each in shown(database)] == [["pk"], ["pk"]]
        assert all("NewImage" not in each for each in shown(database))
        stream(StreamEnabled=True, StreamViewType="NEW_IMAGE")
        put(database, "a", n={"N": "3"})
        end = {"TableName": "orders", "StreamArn": STREAM}
        database.execute("DisableKinesisStreamingDestination", end)
        put(database, "a", n={"N": "4"})
        database.run_upkeep()
        assert [each["NewImage"]["n"]["N"] for each in shown(database)] == ["3", "4"]
        assert list(database.check()) == []
    assert numbers(lines(tmp_path / "sent")) == {"a": [1, 2, 3]}


@pytest.mark.usefixtures("by_hand")
def test_order_survives_splits_restarts_and_unfinished_sends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a fifth of the steps the process ends after it has sent and before it knows that.

    In every second run the destination is away, so that partitions are split before their records
    are sent.
    """
    from hashrange.transfers import kinesis

    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    monkeypatch.setattr("hashrange.engine.log.streams.VIEW_BYTES_MAX", 1500)

    class Sometimes(kinesis.FileSink):
        def send(self, arn: str, entries: Any) -> None:
            if away:
                raise kinesis.NotSent("away")
            super().send(arn, entries)
            if rng.random() < 0.2:
                raise kinesis.NotSent("the process has ended")

    sent, path = tmp_path / "sent", tmp_path / "a.db"
    written: dict[str, list[int]] = {}
    away = False
    for run in range(4):
        away = run % 2 == 1
        settings = {"partition_bytes": 500 if run else 1 << 30, "clock": TestClock(1000 + run)}
        with (
            closing(opened(sent, path, **settings)) as db,
            closing(kinesis.Deliveries(db.runtime, Sometimes(sent))) as deliveries,
        ):
            upkeep = Upkeep(db.runtime)
            if not run:
                created(db)
                enable(db)
            for number in range(60):
                pk = f"item {rng.randrange(20)}"
                put(db, pk, n={"N": str(run * 60 + number)}, text={"S": "x" * 300})
                written.setdefault(pk, []).append(run * 60 + number)
                if rng.random() < 0.1:
                    while upkeep.run_once() or deliveries.run_once():
                        pass
    away, rng.random = False, lambda: 1.0  # type: ignore[method-assign]
    with closing(opened(sent, path, clock=TestClock(2000))) as database:
        assert len(database.inspect("orders")[0]["partitions"]) > 6
        database.run_upkeep()
        assert list(database.check()) == []
    records = lines(sent)
    assert numbers(records) == written
    assert len({record["eventID"] for record in records}) == 240


def test_what_was_written_before_the_end_is_sent_and_nothing_is_left(tmp_path: Path) -> None:
    clock = TestClock(1_700_000_000)
    path, sent = tmp_path / "a.db", tmp_path / "sent"
    with closing(opened(sent, path, clock=clock)) as database:
        created(database)
        enable(database)
        database.run_upkeep()
    with closing(hashrange.connect(path, clock=clock)) as database:  # which sends nothing
        put(database, "a", n={"N": "1"})
        database.execute("DeleteTable", {"TableName": "orders"})
        created(database)
        put(database, "a", n={"N": "2"})
        database.run_upkeep()
    assert not sent.exists()
    with closing(opened(sent, path, clock=clock)) as database:
        database.run_upkeep()
        assert database.runtime.call_upkeep("upkeep.Feeds", b"{}") == b'{"Feeds":[]}'
        enable(database)
        put(database, "a", n={"N": "3"})
        request = {"TableName": "orders", "StreamArn": STREAM}
        database.execute("DisableKinesisStreamingDestination", request)
        put(database, "a", n={"N": "4"})
        enable(database)
        put(database, "a", n={"N": "5"})
        database.run_upkeep()
        assert list(database.check()) == []
    assert numbers(lines(sent)) == {"a": [1, 3, 5]}


def test_a_line_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    sent.write_text('{"whole":1}\n{"awsRegi')
    with closing(opened(sent)) as database:
        created(database)
        enable(database)
        put(database, "a")
        database.run_upkeep()
    assert [sorted(record)[0] for record in lines(sent)] == ["whole", "awsRegion"]


def test_without_a_place_it_is_refused(tmp_path: Path) -> None:
    with closing(hashrange.connect(tmp_path / "a.db")) as database:
        created(database)
        with pytest.raises(ValidationException, match="started without --kinesis"):
            enable(database)


class Service:
    """Takes PutRecords as Kinesis does; `refuses` draws which records it does not take."""

    def __init__(self) -> None:
        self.streams = {"changes"}
        self.taken: list[Record] = []
        self.rng = random.Random(4)
        self.refuses = 0.0

    def put_records(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if request["StreamName"] not in self.streams:
            error = {"__type": "ResourceNotFoundException", "message": "Stream not found"}
            return 400, error
        answers = []
        for record in request["Records"]:
            if self.rng.random() < self.refuses:
                answers.append({"ErrorCode": "ProvisionedThroughputExceededException"})
            else:
                self.taken.append(json.loads(b64decode(record["Data"])))
                answers.append({"SequenceNumber": "1", "ShardId": "shardId-000000000000"})
        return 200, {"Records": answers}


@contextmanager
def serving(service: Service) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = service.put_records(body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_service_takes_the_records_of_an_item_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    service = Service()
    with serving(service) as url, closing(opened(url)) as database:
        created(database)
        service.streams.clear()
        enable(database)
        put(database, "lost", n={"N": "0"})
        database.run_upkeep()
        assert destination(database)["DestinationStatus"] == "ENABLE_FAILED"
        assert destination(database)["DestinationStatusDescription"] == "Stream not found"
        service.streams.add("changes")
        enable(database)
        service.refuses = 0.3
        written: dict[str, list[int]] = {}
        for number in range(60):
            put(database, str(number % 5), n={"N": str(number)})
            written.setdefault(str(number % 5), []).append(number)
        for _ in range(30):
            database.run_upkeep()
        assert destination(database) == {"StreamArn": STREAM, "DestinationStatus": "ACTIVE"}
    assert numbers(service.taken) == written
