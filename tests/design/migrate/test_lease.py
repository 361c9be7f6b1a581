"""No attempt of a write is signed after its lease, also not one that the client repeats itself."""

from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse

import hashrange
from hashrange import design as st

from ..test_examples import served
from .models import NEW, OLD, Reading, Readings

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Raw:
    """The body of a response."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def stream(self, **_: Any) -> Any:
        yield self.body


@pytest.mark.usefixtures("no_pauses")
def test_a_lease_that_is_too_short_is_named(database: hashrange.Database) -> None:
    OLD.create(database)
    client = database.boto3_session().client("dynamodb")
    db = st.Migration(OLD, NEW, lease_seconds=0).open(Readings, client)
    with pytest.raises(st.MigrationError, match="within the lease of 0 s"):
        db.create(Reading(device="d", at=AT, serial="s"))


@pytest.mark.parametrize("lost", [False, True])
def test_a_repeated_attempt_is_not_signed_after_the_lease(
    database: hashrange.Database, lost: bool
) -> None:
    OLD.create(database)
    with served(database) as port:
        client = boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="example",
            aws_secret_access_key="example",
        )
        _write_late(client, lost)


def _write_late(client: Any, lost: bool) -> None:
    migration = st.Migration(OLD, NEW)
    now = [0.0]
    db = migration.open(Readings, client, clock=lambda: now[0])
    assert db.reading("d", AT) is None  # takes the lease
    signed: list[float] = []

    def before_sign(**_: Any) -> None:
        signed.append(now[0])

    def before_send(request: Any, **_: Any) -> AWSResponse | None:
        if not lost or b"serial" not in request.body or now[0] > 0:
            return None
        now[0] = migration.lease_seconds + 1  # while the client waits in vain
        return AWSResponse(request.url, 500, {}, Raw(b"{}"))

    client.meta.events.register_last("before-sign.dynamodb", before_sign)
    client.meta.events.register_first("before-send.dynamodb", before_send)
    if lost:
        with pytest.raises(st.MigrationError, match="read the item before you write again"):
            db.create(Reading(device="d", at=AT, serial="s"))
        assert signed == [0.0]
    else:
        db.create(Reading(device="d", at=AT, serial="s"))
        assert db.reading("d", AT) is not None
