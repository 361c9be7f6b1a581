"""The policy of `plan` keeps programs out that do not follow, and nobody else."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pytest
from access_files import access_file, client_of, document, statement

import hashrange
from hashrange import design as st

from .models import NEW, OLD, Device, Reading, Readings, Samples

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    path = access_file(tmp_path, {"app": document(statement("Allow", "*"))})
    with hashrange.connect(settings=hashrange.Settings(access=path)) as database:
        yield client_of(database, "app")


def reading(number: int) -> Reading:
    return Reading(device="d1", at=START.replace(hour=number), serial=f"s{number}")


def denied(call: Any, *arguments: Any, **parameters: Any) -> bool:
    from botocore.exceptions import ClientError

    try:
        call(*arguments, **parameters)
    except ClientError as error:
        return bool(error.response["Error"]["Code"] == "AccessDeniedException")
    return False


@pytest.mark.usefixtures("no_pauses")
def test_programs_that_do_not_follow_are_kept_out(client: Any) -> None:
    migration = st.Migration(OLD, NEW, lease_seconds=0.2, signature_seconds=0)
    OLD.create(client)
    plan = migration.plan(client)
    assert not plan.kept_out
    assert "is not kept out, unless" in str(plan)
    assert plan.policy is not None
    [arn] = {each["Resource"] for each in plan.policy["Statement"]}
    client.put_resource_policy(ResourceArn=arn, Policy=json.dumps(plan.policy))
    assert migration.plan(client).kept_out
    stray, readings = OLD.open(Readings, client), migration.open(Readings, client)
    stray.put(Device(device="d1"))
    for phase in ("old", "expand", "dual", "backfill", "verify", "read-new", "new"):
        while migration.status(client).phase != phase:
            if migration.status(client).phase == "old":
                migration.start(client)
            else:
                migration.advance(client)
        number = ("expand", "dual", "backfill", "verify", "read-new", "new", "old").index(phase) + 1
        one = readings.create(reading(number))
        readings.save(one.replace(value=Decimal(number)))
        readings.add(one, tags={"a"})
        readings.put(Device(device="d2", place=phase))
        assert denied(stray.create, reading(0))
        assert denied(stray.add, one, tags={"b"})
        assert denied(stray.delete, stray.reading("d1", one.at))
        puts = [{"PutRequest": {"Item": OLD.dump(one)}}]
        assert denied(client.batch_write_item, RequestItems={"fleet": puts})
        with pytest.raises(Exception, match="AccessDenied"), stray.transaction() as t:
            t.put(reading(2))
        statement = f"DELETE FROM fleet WHERE pk = 'day#d1#2026-01-01' AND sk = '{number}'"
        assert denied(client.execute_statement, Statement=statement)
    assert migration.verify(client) == []
    assert migration.advance(client).phase == "contracting"
    samples = migration.open(Samples, client)
    samples.delete(samples.sample, "d1", START.replace(hour=8))
    assert migration.finish(client).phase == "done"
    client.delete_resource_policy(ResourceArn=arn)


def test_the_probe_deletes_no_item_that_has_its_key(client: Any) -> None:
    OLD.create(client)
    keys = [
        {"pk": {"S": text}, "sk": {"S": "~probe"}}
        for text in ("day#~probe#~probe", "samples#~probe")
    ]
    for key in keys:
        client.put_item(TableName="fleet", Item={**key, "~epoch": {"N": "1"}})
    migration = st.Migration(OLD, NEW)
    plan = migration.plan(client)
    assert plan.policy is not None
    assert not plan.kept_out
    arn = plan.policy["Statement"][0]["Resource"]
    client.put_resource_policy(ResourceArn=arn, Policy=json.dumps(plan.policy))
    assert migration.keeps_out(client)
    assert all("Item" in client.get_item(TableName="fleet", Key=key) for key in keys)


class Shelf(st.Item):
    key = st.key("day#{device}", "shelf")
    device: str


def test_changed_items_in_partitions_of_others_have_no_policy(client: Any) -> None:
    """A device's text may be like the text of a reading's partition."""

    class Both(Readings, Protocol):
        def shelf(self, device: str) -> Shelf | None: ...

    class BothOfNew(Samples, Protocol):
        def shelf(self, device: str) -> Shelf | None: ...

    old, new = st.Table("fleet", Both), st.Table("fleet", BothOfNew)
    old.create(client)
    plan = st.Migration(old, new).plan(client)
    assert plan.policy is None
    assert "would also deny writes of Shelf items" in str(plan)
