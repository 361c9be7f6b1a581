"""Predictions: recorded and described loads, in scenarios, with ranges."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from command_line import command_line

import hashrange
from hashrange import Settings
from hashrange.metering.trace import Event
from hashrange.model.errors import ApiError
from hashrange.runtime.prediction.prediction import Prediction, Predictor
from hashrange.runtime.prediction.reading import Trace, TraceError
from hashrange.runtime.prediction.replay import Chosen, Replay
from hashrange.testing import TestClock
from hashrange.tools.cli.design.model_files import tables_of
from hashrange.tools.predict.condition import Verdict, condition
from hashrange.tools.predict.description import read
from hashrange.tools.predict.scenarios import AS_IT_IS, scenario

MODEL = """
from typing import Protocol
from hashrange import design as st

class Reading(st.Item):
    key = st.key("sensor#{sensor}", "{at}")
    kind = st.index("GSI4", "Reading", "{at}")
    sensor: str
    at: str

class Store(st.Store, Protocol):
    @st.rate(5)
    def readings(self, sensor: str) -> st.Query[Reading]: ...

table = st.Table(
    "readings", Store, volumes=st.volumes(Reading=st.total(100, size=200)),
    writes=[st.writes(Reading, create=20)],
)
"""


def puts(
    path: Path,
    keys: Callable[[int], str],
    rate: int,
    seconds: int,
    kind: str = "Reading",
    **given: Any,
) -> str:
    """The trace of puts to a table whose index has the same partition key for all items, or, if
    `kind` is empty, another one for each."""
    clock = TestClock("2026-11-21")
    settings = {"throughput": "enforced", "partition_write_units": 10, "record_keys": "exact"}
    found = Settings(record=str(path), **{**settings, **given})
    with hashrange.connect(clock=clock, settings=found) as db:
        index = {
            "IndexName": "GSI4",
            "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
        request = {
            "TableName": "readings",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")
            ],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [index],
        }
        db.execute("CreateTable", request)
        for second in range(seconds):
            for number in range(rate):
                key = keys(second * rate + number)
                item = {"id": key, "kind": kind or key}
                wire = {name: {"S": text} for name, text in item.items()}
                with suppress(ApiError):
                    db.execute("PutItem", {"TableName": "readings", "Item": wire})
            clock.advance(1)
    return str(path)


def predicted(path: str, *scenarios: str) -> Prediction:
    every = [AS_IT_IS, *(scenario(text) for text in scenarios)]
    return Predictor(Trace(path)).predict(every)


@pytest.fixture(scope="module")
def hot_index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twenty puts a second, of which one partition of the index serves ten."""
    path = tmp_path_factory.mktemp("loads") / "hot"
    given: Any = {"index_backlog_units": 20, "throughput": "measured"}
    return puts(path, lambda n: f"r{n}", 20, 12, **given)


@pytest.fixture(scope="module")
def of_hot_index(hot_index: str) -> Prediction:
    return predicted(hot_index, "shard(GSI4, 16)")


def test_a_hot_key_of_an_index_is_to_blame(of_hot_index: Prediction) -> None:
    as_it_is, sharded = of_hot_index.scenarios
    first = as_it_is.outcome.first
    assert first
    assert (first.index, first.reason) == ("GSI4", "IndexWriteKeyRangeThroughputExceeded")
    assert first.key == "'Reading'"
    assert {use.index: use.blamed for use in as_it_is.outcome.uses} == {
        None: None,
        "GSI4": "'Reading'",
    }
    assert as_it_is.outcome.throttled > 0.3
    assert as_it_is.outcome.lag_seconds > 1
    assert sharded.outcome.throttled == 0


def test_a_picture_has_all_units(of_hot_index: Prediction) -> None:
    for each in of_hot_index.scenarios:
        assert each.outcome.timeline
        drawn: Counter[str | None] = Counter()
        for strip in each.outcome.timeline.strips.values():
            drawn[strip.index] += sum(sum(row.units.values()) for row in strip.rows)
        used = {use.index: use.read_units + use.write_units for use in each.outcome.uses}
        assert drawn == used


def test_no_provisioning_helps_one_hot_key(of_hot_index: Prediction) -> None:
    smallest = of_hot_index.smallest
    assert smallest.units is None
    assert "GSI4" in smallest.why
    assert "'Reading'" in smallest.why


def test_the_smallest_provisioning_is_the_smallest(tmp_path: Path) -> None:
    given: Any = {"throughput": "measured", "partition_write_units": 1000}
    path = puts(tmp_path / "load", lambda n: f"r{n}", 7, 40, **given)
    units = predicted(path).smallest.units
    assert units
    write = units["readings"][1]
    assert write is not None
    enough, less = (
        predicted(path, f"provisioned:1/{each}").scenarios[1].outcome for each in (write, write - 1)
    )
    assert enough.first is None
    assert less.first is not None


def test_indexes_of_the_same_name_get_units_that_serve_each(tmp_path: Path) -> None:
    """The second table gets a single item."""
    key = [{"AttributeName": "id", "KeyType": "HASH"}]
    index = {"IndexName": "by-id", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
    table = {
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": key,
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [index],
    }
    path, clock = str(tmp_path / "load"), TestClock("2026-11-21")
    settings = Settings(record=path, record_keys="exact", throughput="measured")
    with hashrange.connect(clock=clock, settings=settings) as db:
        for name in "busy", "quiet":
            db.execute("CreateTable", {"TableName": name, **table})
        for number in range(400):
            item = {"id": {"S": str(number)}}
            db.execute("PutItem", {"TableName": "busy", "Item": item})
            clock.advance(0.1)
        db.execute("PutItem", {"TableName": "quiet", "Item": item})
    units = predicted(path).smallest.units
    assert units
    assert units["busy"][1] == units["by-id"][1] != 1


def test_the_smallest_provisioning_has_partitions_enough(tmp_path: Path) -> None:
    """Twenty units would be enough, but three of the five keys are in one partition."""
    given: Any = {"throughput": "measured", "kind": ""}
    path = puts(tmp_path / "load", lambda n: f"r{n % 5}", 20, 15, **given)
    smallest = predicted(path).smallest
    assert smallest.outcome
    assert smallest.outcome.first is None
    assert smallest.units
    write = smallest.units["readings"][1]
    assert write
    assert write > 20
    less = predicted(path, f"provisioned:1/{write * 9 // 10}").scenarios[1].outcome
    assert less.first is not None


def test_the_same_load_gives_the_same_prediction(hot_index: str, of_hot_index: Prediction) -> None:
    first, second = of_hot_index.scenarios, predicted(hot_index, "shard(GSI4, 16)").scenarios
    assert [each.outcome.throttled for each in first] == [each.outcome.throttled for each in second]
    assert [each.range for each in first] == [each.range for each in second]


def test_a_prediction_of_the_enforced_tables_is_what_was_refused(tmp_path: Path) -> None:
    path = puts(tmp_path / "load", lambda n: "one", 15, 30, index_backlog_units=1000)
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()[1:]]
    refused = sum(bool(line[6][0][5]) for line in lines if isinstance(line, list))
    outcome = predicted(path).scenarios[0].outcome
    assert outcome.refused_requests == refused > 0
    [use, _] = outcome.uses
    assert use.blamed == "'one'"


def test_hidden_keys_give_about_the_same(tmp_path: Path) -> None:
    given: Any = {"throughput": "measured", "record_keys": "hmac"}
    path = puts(tmp_path / "load", lambda n: "one", 15, 30, **given)
    outcome = predicted(path).scenarios[0].outcome
    assert outcome.throttled == pytest.approx(1 / 3, abs=0.05)
    assert outcome.first
    assert outcome.first.key.startswith("position ")


def test_a_range_is_around_the_prediction(of_hot_index: Prediction) -> None:
    as_it_is = of_hot_index.scenarios[0]
    assert as_it_is.range
    low, high = as_it_is.range.throttled
    assert low <= as_it_is.outcome.throttled <= high
    assert low < high, "the backlog of an index matters"
    assert "backlog of an index" in [each.name for each in as_it_is.range.varied]


def test_keys_are_placed_elsewhere_but_apart(tmp_path: Path) -> None:
    """Each key has a place of its own, another one for each seed."""
    path = puts(tmp_path / "load", lambda n: f"r{n}", 20, 2, throughput="measured", kind="")
    trace, places = Trace(path), []
    for seed in (None, 1, 2):
        replay = Replay(trace.head, AS_IT_IS, Chosen(seed=seed))
        for _, line in trace.lines():
            replay.feed(line)
        replay.end(2_000_000)
        assert replay.outcome.timeline
        [table] = [s for s in replay.outcome.timeline.strips.values() if not s.index and s.written]
        places.append(sum((row.units for row in table.rows), Counter[int]()))
    assert [sum(each.values()) for each in places] == [40, 40, 40]
    assert all(max(each.values()) < 20 for each in places), "of four partitions"
    assert places[0] != places[1] != places[2]


def test_verdicts() -> None:
    above = condition("throttled > 0.1%")
    assert above.verdict(0.002, 0.01) == Verdict.FAILS
    assert above.verdict(0.0, 0.01) == Verdict.STRADDLES
    assert above.verdict(0.0, 0.001) == Verdict.HOLDS_NOT
    assert [int(each) for each in Verdict] == [0, 1, 3]
    for bad in ("", "throttled", "throttled > x", "dollars > 1%", "speed > 1", "lag = 1s"):
        with pytest.raises(TraceError, match="fail-if"):
            condition(bad)


@pytest.mark.parametrize(
    "text", ["", "fast", "provisioned:0/1", "provisioned:1", "shard(GSI4)", "index(GSI4).write=0"]
)
def test_no_scenario(text: str) -> None:
    with pytest.raises(TraceError):
        scenario(text)


def test_a_scenario_of_an_unknown_index(hot_index: str) -> None:
    with pytest.raises(TraceError, match="no table or index GSI9"):
        predicted(hot_index, "shard(GSI9, 4)")


# ---- the command ----


def command(*words: object) -> tuple[int, str]:
    ended = command_line(*words)
    return ended.returncode, ended.stdout + ended.stderr


def test_dollars_are_those_of_design_cost(tmp_path: Path) -> None:
    model = tmp_path / "sensors.py"
    model.write_text(MODEL)
    load = tmp_path / "load.toml"
    load.write_text('model = "sensors.py"\nminutes = 1\n')
    status, told = command("predict", load, "--json")
    assert status == 0
    found = json.loads(told)
    _, cost = command("design", "cost", str(model), "--json")
    [table] = json.loads(cost)
    calls = table["calls"]
    as_it_is = found["scenarios"][0]
    assert as_it_is["usd_a_month"] == pytest.approx(sum(each["usd_per_month"] for each in calls))
    assert found["requests"] == 25 * 60


def test_the_command_fails_if_asked(
    tmp_path: Path,
    hot_index: str,
) -> None:
    picture = tmp_path / "partitions.svg"
    given = ("predict", hot_index, "--picture", str(picture), "--fail-if")
    status, told = command(*given, "throttled > 0.1%")
    assert status == 3, "with the largest backlog of an index nothing is refused"
    assert "holds for a part of the range" in told
    status, told = command(*given, "throttled < 99%")
    assert status == 1
    assert "holds for the whole range" in told
    assert "first refusal: 00:00:0" in told
    assert "no provisioned capacity was found" in told
    assert picture.read_text().startswith("<svg")


def test_an_index_by_type_has_one_key_for_each_entity(tmp_path: Path) -> None:
    load = tmp_path / "load.toml"
    model = Path("examples/sensors.py").resolve()
    load.write_text(f'model = "{model}"\nminutes = 0.1\n[rates]\n"create Measurement" = 30\n')
    keys: dict[int, set[bytes]] = {}
    for _, line in read(load, tables_of).described().lines():
        for paid in (line.paid or ()) if isinstance(line, Event) else ():
            keys.setdefault(paid.space, set()).add(paid.raw)
    table, by_type = keys.values()
    assert len(table) > 100
    assert len(by_type) == 1
    assert b"Measurement" in by_type.pop()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "model is missing"),
        ("model = 7", "model is missing"),
        ('model = "sensors.py"\nspeed = 1', "speed: use only"),
        ('model = "sensors.py"\nminutes = 0', "minutes must be a number above 0"),
        ('model = "sensors.py"\nminutes = 1e9', "requests are too many"),
        ('model = "sensors.py"\n[rates]\n"create Reading" = -1', 'rates."create Reading".rate'),
        ('model = "sensors.py"\n[rates]\n"create Reading" = nan', "a number of at least 0"),
        ('model = "sensors.py"\n[rates]\n"create Reading" = "x"', "a number"),
        ('model = "sensors.py"\n[rates]\n"create Nothing" = 1', "the name of a call"),
        (
            'model = "sensors.py"\n[rates]\n"create Reading" = { rate = 1, keys = "zipf" }',
            'rates."create Reading".keys must be "uniform" or',
        ),
        ('model = "sensors.py"\n[rates', "at end of document"),
    ],
)
def test_a_bad_description_gets_one_line(
    tmp_path: Path,
    text: str,
    message: str,
) -> None:
    (tmp_path / "sensors.py").write_text(MODEL)
    load = tmp_path / "load.toml"
    load.write_text(text)
    status, told = command("predict", load)
    assert status == 1
    assert message in told
    assert told.count("\n") == 1
    assert str(load) in told


# ---- hashrange.record ----


def test_a_client_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "load"
    with hashrange.connect() as db:
        client = db.boto3_session().client("dynamodb")
        client.create_table(
            TableName="readings",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")
            ],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "GSI4",
                    "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        with hashrange.record(client, path, keys="exact"):
            for number in range(10):
                item = {"id": {"S": f"r{number}"}, "kind": {"S": "secret-kind"}}
                client.put_item(TableName="readings", Item=item)
            client.get_item(TableName="readings", Key={"id": {"S": "r1"}})
            client.delete_item(TableName="readings", Key={"id": {"S": "r1"}})
            client.query(
                TableName="readings",
                IndexName="GSI4",
                KeyConditionExpression="kind = :k",
                ExpressionAttributeValues={":k": {"S": "secret-kind"}},
            )
        answer = client.get_item(TableName="readings", Key={"id": {"S": "r2"}})
        assert "ConsumedCapacity" not in answer, "it is no longer recorded"
    found = predicted(str(path))
    [table, index] = found.scenarios[0].outcome.uses
    assert (table.write_units, table.read_units) == (11, 0.5)
    assert (index.write_units, index.read_units) == (11, 0.5)
    assert found.assumed.requests == 13
    # Of 23 units, one is that of an entry whose key the deletion does not name.
    assert any("4.3 % of the units" in note for note in found.notes)
    assert "secret" not in path.read_text()
