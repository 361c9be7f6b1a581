"""UpdateTimeToLive: sets the attribute by which items expire, or stops their expiry."""

from typing import Any

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceInUseException, ValidationException
from hashrange.model.limits import TTL_CHANGE_SECONDS
from hashrange.model.tables import Table, TimeToLive
from hashrange.operations.common.parse import decode
from hashrange.operations.tables.update.index_updates import IN_USE


def parse(body: bytes) -> requests.UpdateTimeToLive:
    return decode(body, requests.UpdateTimeToLive)


def decide(request: requests.UpdateTimeToLive, moment: Moment) -> Decide:
    wanted = request.time_to_live_specification
    table = yield from fetch.described_table(request.table_name)
    if moment.now < table.active_at:
        raise ResourceInUseException(f"{IN_USE}Table {table.name} is being created")
    _check(table, wanted, moment)
    [space] = yield from fetch.new_spaces(1)
    ttl = TimeToLive(attribute=wanted.attribute_name, space=space) if wanted.enabled else None
    disabled = None if wanted.enabled else wanted.attribute_name
    changed = replace(table, ttl=ttl, ttl_changed_at=moment.now, ttl_disabled=disabled)
    response: dict[str, Any] = {
        "TimeToLiveSpecification": {
            "Enabled": wanted.enabled,
            "AttributeName": wanted.attribute_name,
        }
    }
    return Decision([TableChange(table, changed)], response)


def _check(table: Table, wanted: requests.TimeToLiveSpecification, moment: Moment) -> None:
    if wanted.enabled and table.ttl:
        if table.ttl.attribute == wanted.attribute_name:
            raise ValidationException("TimeToLive is already enabled")
        raise ValidationException(
            "TimeToLive is active on a different AttributeName: "
            f"current AttributeName is {table.ttl.attribute}"
        )
    if not wanted.enabled and table.ttl is None:
        raise ValidationException("TimeToLive is already disabled")
    if not wanted.enabled and table.ttl and table.ttl.attribute != wanted.attribute_name:
        raise ValidationException(
            "TimeToLive is active on a different AttributeName: "
            f"current AttributeName is {table.ttl.attribute}"
        )
    changed_at = table.ttl_changed_at
    if changed_at is not None and moment.now - changed_at < TTL_CHANGE_SECONDS:
        raise ValidationException(
            "Time to live has been modified multiple times within a fixed interval"
        )
