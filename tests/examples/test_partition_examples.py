"""What the examples about partitions show is so: the figures that the page about them tells."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from waiting import SECONDS_MAX

EXAMPLES = Path(__file__).parents[2] / "examples" / "partitions"
PICTURES = EXAMPLES.parents[1] / "docs" / "pictures"
GSI4 = "arn:aws:dynamodb:us-east-1:000000000000:table/sensor-management/index/GSI4"


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def load(name: str, seconds: int = 60) -> Any:
    """A run of hot_index, with measurements for `seconds` seconds."""
    run = import_module("hot_index").Run(name, load_seconds=seconds)
    for _ in run.steps():
        pass
    return run


def test_one_hot_key_of_an_index_makes_its_table_refuse_writes() -> None:
    one, sharded, left_out = map(load, import_module("hot_index").DESIGNS)
    assert list(one.reasons) == [("IndexWriteKeyRangeThroughputExceeded", GSI4)]
    assert sum(one.refused) > 1000
    assert one.seconds > 1.9 * sharded.seconds
    assert not sharded.reasons
    assert not left_out.reasons
    assert sharded.seconds == left_out.seconds == 60
    assert one.units == sharded.units == (1200, 1200)
    assert left_out.units == (1200, 0)


def test_the_fourth_large_write_is_refused() -> None:
    writes = import_module("large_writes").four_writes()
    reason = "TableWriteKeyRangeThroughputExceeded"
    assert [write.reason for write in writes] == [None, None, None, reason, None, reason]


def test_a_table_saves_units_for_five_minutes() -> None:
    seconds = import_module("large_writes").burst()
    assert max(second.credit for second in seconds) == 30_000
    assert {second.written for second in seconds[300:398]} == {400}
    assert {second.written for second in seconds[-100:]} == {100}


@pytest.mark.deep
def test_a_split_helps_many_keys_and_not_one() -> None:
    hot_keys = import_module("hot_keys")
    many, one = hot_keys.many_keys(), hot_keys.one_key()
    assert many[0].refused == one[0].refused == one[-1].refused == pytest.approx(4)
    assert len(many[-1].written) == 2
    assert many[-1].refused == 0


@pytest.mark.deep
def test_the_neighbours_of_a_hot_key_get_partitions_without_it() -> None:
    windows = import_module("hot_keys").one_among_others()
    assert windows[0].refused == pytest.approx(4)
    assert len(windows[-1].written) == 3
    assert windows[-1].refused == pytest.approx(14 * 0.8 - 10)


@pytest.mark.deep
def test_an_index_that_falls_behind_refuses_writes_of_its_table() -> None:
    outcome = import_module("index_behind").run()
    [(reason, resource)] = outcome.reasons
    assert reason == "IndexWriteProvisionedThroughputExceeded"
    assert resource.endswith(":table/orders/index/by_customer")
    assert min(second.credit for second in outcome.seconds) < -100
    assert outcome.seconds[-1].credit > 400


def test_the_same_items_lie_in_other_boxes() -> None:
    boxes = import_module("projects_in_boxes").boxes()
    names = {
        source: [{row["name"] for row in box.rows} for box in found]
        for source, found in boxes.items()
    }
    assert names["table"] == names["by_last_updated"] != names["by_owner"]
    assert [len(each) for each in names["table"]] == [3, 2, 0, 1]
    dates = [row["last_updated"] for row in boxes["by_last_updated"][1].rows]
    assert dates == sorted(dates)


def test_numbers_need_zeros_in_front() -> None:
    ranges = import_module("key_ranges")
    for pattern in (*ranges.prefixes().patterns, *ranges.numbers(ranges.PADDED).patterns):
        assert pattern.found == pattern.wanted
    assert all(p.found != p.wanted for p in ranges.numbers(ranges.UNPADDED).patterns)


def test_a_copy_costs_a_unit_in_the_table_and_one_in_the_index() -> None:
    renames = import_module("renames")
    assert renames.user() == (50, 50, 50, 0)
    assert renames.server(2000) == (2000, 2000, 2000, 1)


def test_a_table_grows_into_partitions() -> None:
    moments = import_module("growth").grow()
    assert [len(moment.partitions) for moment in moments] == [1, 2, 4, 5, 8]
    for moment in moments:
        assert sum(part["items"] for part in moment.partitions) == moment.items


@pytest.mark.skipif(not os.environ.get("HASHRANGE_SOAK"), reason="only with HASHRANGE_SOAK")
def test_the_demo_shows_three_designs_side_by_side() -> None:
    command = [sys.executable, str(EXAMPLES / "demo_hot.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
    rows = re.findall(r"^ (\S.*?) +█+ +[▁-█]+ +(.*?) *$", ran.stdout, re.MULTILINE)
    assert [(name, figures.split()) for name, figures in rows] == [
        ("Measurement", ["24,000", "24,000", "47,916", "39:59"]),
        ("Measurement#0-15", ["24,000", "24,000", "0", "20:00"]),
        ("not in GSI4", ["24,000", "0", "0", "20:00"]),
    ]
    assert "IndexWriteKeyRangeThroughputExceeded\n" in ran.stdout
    assert GSI4 in ran.stdout


def test_entries_of_an_index_in_debt_are_late() -> None:
    shown = {each.seconds: each.shown for each in import_module("late_index").run()}
    assert shown[0] == 1  # what the index could serve at once
    assert (shown[400], shown[780], shown[800]) == (401, 781, 800)


def test_a_collection_grows_unless_there_is_a_local_index() -> None:
    large_collection = import_module("large_collection")
    local, divided = large_collection.grow(True), large_collection.grow(False)
    assert local.refusal == "ItemCollectionSizeLimitExceededException"
    assert local.moments[-1].bytes <= large_collection.LIMIT_BYTES
    assert divided.refusal is None
    assert divided.moments[-1].partitions == 4


def test_the_pictures_are_as_wide_as_a_page() -> None:
    pictures = [*PICTURES.glob("partitions-*.svg"), *PICTURES.glob("ranges-*.svg")]
    assert len(pictures) == 16
    for picture in pictures:
        assert ' width="720" ' in picture.read_text(), picture.name
