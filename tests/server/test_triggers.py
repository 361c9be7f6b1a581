"""Triggers: functions are called with the records of streams, each at least once and in order."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from small import no_pauses as no_pauses
from waiting import wait_until

import hashrange
from hashrange.server.triggers.functions import (
    Failed,
    NotReached,
)
from hashrange.server.triggers.settings import Filter, FilterCriteria, Trigger
from hashrange.server.triggers.worker import Calls
from hashrange.testing import TestClock

pytestmark = pytest.mark.usefixtures("no_pauses")

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


class Recorder:
    """A function in this process, which fails as often as a test wants."""

    def __init__(self) -> None:
        self.events: list[list[dict[str, Any]]] = []
        self.failing: list[BaseException | Any] = []
        self.poison = ""

    def load(self) -> None: ...

    def call(self, event: bytes) -> Any:
        records = json.loads(event)["Records"]
        self.events.append(records)
        if self.poison in names([records]) and self.poison:
            raise Failed("poison")
        answer = self.failing.pop(0) if self.failing else None
        if isinstance(answer, BaseException):
            raise answer
        return answer(records) if callable(answer) else answer

    def abandon(self) -> None: ...

    def close(self) -> None: ...


def names(events: list[list[dict[str, Any]]]) -> list[str]:
    return [record["dynamodb"]["Keys"]["pk"]["S"] for records in events for record in records]


def create(database: hashrange.Database, **more: Any) -> None:
    database.execute(
        "CreateTable",
        {
            "TableName": "orders",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
            ],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            "StreamSpecification": STREAM,
            **more,
        },
    )


def put(database: hashrange.Database, *pks: str, **attributes: Any) -> None:
    for pk in pks:
        item = {"pk": {"S": pk}, **attributes}
        database.execute("PutItem", {"TableName": "orders", "Item": item})


def calls(database: hashrange.Database, function: Any, **settings: Any) -> Calls:
    return Calls(database, Trigger("orders", "app:handler", **settings), function)


def go_on(worker: Calls, happened: Callable[[], object] = lambda: True) -> None:
    """Until nothing more is to be done now, and `happened`."""

    def has_ended() -> bool:
        while worker.run_once():
            pass
        return bool(happened())

    wait_until(has_ended)


def call_all(database: hashrange.Database, function: Any, **settings: Any) -> None:
    """A process that calls until nothing more is to be done now, and ends."""
    with closing(calls(database, function, **settings)) as worker:
        go_on(worker)


@contextmanager
def table(path: Path | None = None, clock: Any = None) -> Iterator[hashrange.Database]:
    with closing(hashrange.connect(path, clock=clock)) as database:
        create(database)
        yield database


def test_an_event_is_lambdas() -> None:
    clock = TestClock(1_700_000_000.25)
    with table(clock=clock) as database:
        function = Recorder()
        worker = calls(database, function)
        database.execute(
            "UpdateTimeToLive",
            {
                "TableName": "orders",
                "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "ends"},
            },
        )
        put(database, "a", ends={"N": "1700000001"})
        go_on(worker)
        clock.advance(10)
        database.run_upkeep()
        go_on(worker)
        arn = database.execute("DescribeTable", {"TableName": "orders"})["Table"]["LatestStreamArn"]
        [[first], [second]] = function.events
        number, size = first["dynamodb"].pop("SequenceNumber"), first["dynamodb"].pop("SizeBytes")
        assert number.isdecimal()
        assert size > 0
        assert re.fullmatch("[0-9a-f]{32}", first.pop("eventID"))
        image = {"pk": {"S": "a"}, "ends": {"N": "1700000001"}}
        assert first == {
            "eventName": "INSERT",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_700_000_000,
                "Keys": {"pk": {"S": "a"}},
                "NewImage": image,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": arn,
        }
        assert second["eventName"] == "REMOVE"
        assert second["userIdentity"] == {
            "type": "Service",
            "principalId": "dynamodb.amazonaws.com",
        }


def test_batches_go_on_after_a_restart(tmp_path: Path) -> None:
    function = Recorder()
    path = tmp_path / "app.db"
    with table(path) as database:
        put(database, *"abcde")
        call_all(database, function, batch_size=2)
    assert sorted(names(function.events)) == [*"abcde"]
    assert max(map(len, function.events)) == 2
    with closing(hashrange.connect(path)) as database:
        put(database, *"fg")
        call_all(database, function, batch_size=2)
    assert sorted(names(function.events)) == [*"abcdefg"]


def test_latest_begins_once() -> None:
    with table() as database:
        put(database, "before")
        function = Recorder()
        call_all(database, function, starting_position="LATEST")
        put(database, "after")  # another process goes on from where the first one began
        call_all(database, function, starting_position="LATEST")
        assert names(function.events) == ["after"]


def test_latest_is_all_of_a_stream_that_begins_later() -> None:
    with closing(hashrange.connect()) as database:
        function = Recorder()
        worker = calls(database, function, starting_position="LATEST")
        go_on(worker)
        create(database)
        put(database, "first")
        go_on(worker)
        assert names(function.events) == ["first"]


def test_records_of_an_item_come_in_order_after_failures() -> None:
    with table() as database:
        function = Recorder()
        function.failing = [Failed("once"), NotReached("away"), {}, Failed("again")]
        worker = calls(database, function, batch_size=3)
        for number in range(10):
            put(database, "a", n={"N": str(number)})
        go_on(worker, lambda: len(function.events) == 7)
        found = [
            int(record["dynamodb"]["NewImage"]["n"]["N"])
            for records in function.events
            for record in records
        ]
        assert found == [0, 1, 2] * 3 + [3, 4, 5] * 2 + [6, 7, 8, 9]


def test_a_batch_is_halved_until_the_bad_record_is_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with table() as database:
        function = Recorder()
        function.poison = "c"
        worker = calls(
            database,
            function,
            bisect_batch_on_function_error=True,
            maximum_retry_attempts=0,
        )
        one_item_each(database, "abcde")
        go_on(worker, lambda: "gave up" in caplog.text)
        go_on(worker)
        good = [event for event in function.events if "c" not in names([event])]
        assert sorted(set(names(good))) == [*"abde"]
        assert ["c"] in [names([event]) for event in function.events]
        assert "gave up 1 record: poison" in caplog.text


def one_item_each(database: hashrange.Database, pks: str) -> None:
    """In one transaction, so that they are there together."""
    puts = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": pk}}}} for pk in pks]
    database.execute("TransactWriteItems", {"TransactItems": puts})


def test_a_partial_answer_names_the_first_failure() -> None:
    with table() as database:
        function = Recorder()
        worker = calls(database, function, function_response_types=["ReportBatchItemFailures"])
        for number in range(4):
            put(database, "a", n={"N": str(number)})

        def third(records: list[dict[str, Any]]) -> dict[str, Any]:
            number = records[2]["dynamodb"]["SequenceNumber"]
            return {"batchItemFailures": [{"itemIdentifier": number}]}

        function.failing = [third, {"batchItemFailures": [{}]}, {"batchItemFailures": []}]
        go_on(worker, lambda: len(function.events) == 3)
        assert [len(event) for event in function.events] == [4, 2, 2]
        go_on(worker)
        assert len(function.events) == 3


def test_filters_pass_records_over() -> None:
    with table() as database:
        function = Recorder()
        pattern = {"eventName": ["INSERT"], "dynamodb": {"Keys": {"pk": {"S": [{"prefix": "b"}]}}}}
        criteria = FilterCriteria([Filter(json.dumps(pattern))])
        worker = calls(database, function, filter_criteria=criteria)
        put(database, "a", "b1", "c", "b2")
        put(database, "b1", n={"N": "1"})
        go_on(worker)
        assert sorted(names(function.events)) == ["b1", "b2"]


def test_a_window_collects_records() -> None:
    with table() as database:
        function = Recorder()
        worker = calls(database, function, maximum_batching_window_in_seconds=300, batch_size=3)
        for number in range(4):
            put(database, "a", n={"N": str(number)})
            go_on(worker)
        assert [len(event) for event in function.events] == [3]


def test_old_records_are_given_up() -> None:
    clock = TestClock(1_700_000_000)
    with table(clock=clock) as database:
        function = Recorder()
        put(database, "old")
        clock.advance(100)
        put(database, "new")
        go_on(calls(database, function, maximum_record_age_in_seconds=60))
        assert names(function.events) == ["new"]


def test_the_records_of_a_deleted_table_come_before_those_of_the_next() -> None:
    with table(clock=(clock := TestClock(1_700_000_000))) as database:
        function = Recorder()
        worker = calls(database, function)
        put(database, "a")
        go_on(worker)
        put(database, "b")
        database.execute("DeleteTable", {"TableName": "orders"})
        clock.advance(1)
        create(database)
        put(database, "c")
        go_on(worker)
        assert names(function.events) == ["a", "b", "c"]
        # A trigger that begins now has nothing to do with the deleted table.
        later = Recorder()
        go_on(Calls(database, Trigger("orders", "app:other"), later))
        assert names(later.events) == ["c"]


def test_one_process_calls_and_another_takes_over() -> None:
    with table() as database:
        function = Recorder()
        first, second = calls(database, function), calls(database, function)
        put(database, "a")
        go_on(first)
        put(database, "b")
        go_on(second)  # the first one has a lease
        assert names(function.events) == ["a"]
        first.close()
        go_on(second)
        assert names(function.events) == ["a", "b"]
        second.close()


def test_a_stream_that_is_forgotten_takes_its_checkpoints_along() -> None:
    clock = TestClock(1_700_000_000)
    with table(clock=clock) as database:
        put(database, "a")
        worker = calls(database, Recorder())
        go_on(worker)
        [stream] = database.execute("ListStreams", {})["Streams"]
        assert worker._reader(stream["StreamArn"])["Handled"]
        database.execute("DeleteTable", {"TableName": "orders"})
        clock.advance(2 * 86_400)
        database.run_upkeep()
        assert database.execute("ListStreams", {})["Streams"] == []
        assert not worker._reader(stream["StreamArn"])["Handled"]
