"""StreamSpecification in CreateTable and UpdateTable: enables or disables a stream."""

from collections.abc import Iterator
from math import ceil

from msgspec.structs import replace

from hashrange.engine.decision import LogChange, StreamChange
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.engine.log import streams
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.streams import Log, Stream, first_slots
from hashrange.model.tables import Table


def check_new(given: requests.StreamSpecification | None) -> None:
    """Checks the StreamSpecification of a new table."""
    if given is None:
        return
    if given.stream_enabled and given.stream_view_type is None:
        raise invalid_parameter(
            "Table is being created with a stream enabled, UpdateViewType is required"
        )
    if not given.stream_enabled and given.stream_view_type is not None:
        raise invalid_parameter(
            "Table is being created with a stream disabled, UpdateViewType should not be specified"
        )


def check_change(given: requests.StreamSpecification | None) -> None:
    """Checks the StreamSpecification for an existing table."""
    if given is None:
        return
    if given.stream_enabled and given.stream_view_type is None:
        raise invalid_parameter("If stream is being enabled then UpdateViewType is required")
    if not given.stream_enabled and given.stream_view_type is not None:
        raise invalid_parameter(
            "If stream is being disabled, then UpdateViewType must not be specified"
        )


def is_enabled(table: Table) -> bool:
    return table.stream is not None and table.stream.disabled_at is None


Changes = list[StreamChange | LogChange]


def changed(
    table: Table, given: requests.StreamSpecification | None, spaces: Iterator[int], moment: Moment
) -> Fetch[tuple[Table, Changes]]:
    """The table with its stream enabled or disabled.

    A stream reads the table's change log. If nothing reads the log yet, it is opened in the next
    of `spaces`.
    """
    if given is None:
        return table, []
    if not given.stream_enabled:
        if not is_enabled(table):
            raise ValidationException(f"Table has no stream to disable: TableName: {table.name}")
        return disabled(table, moment)
    if is_enabled(table):
        raise ValidationException(f"Table already has an enabled stream: TableName: {table.name}")
    assert given.stream_view_type, "checked before"
    enabled_at = ceil(moment.now * 1000)
    if table.stream is not None and table.stream.disabled_at is not None:
        # The last record of the previous stream must not belong to this one too.
        enabled_at = max(enabled_at, table.stream.disabled_at + 1)
    log = table.log
    if log is None:
        slots = first_slots(table.partition_starts, enabled_at)
        log = Log(next(spaces), slots, enabled_at)
    stream = Stream(
        table_name=table.name,
        table_arn=table.arn,
        view=given.stream_view_type,
        space=log.space,
        hash=table.hash[0],
        range=table.range[0] if table.range else None,
        enabled_at=enabled_at,
        shard_milliseconds=int(moment.settings.shard_seconds * 1000),
        slots=log.slots,
    )
    while (yield from streams.find(stream.arn)) is not None:
        # No two streams have the same label, even if they are enabled within a millisecond.
        stream = replace(stream, enabled_at=stream.enabled_at + 1)
    changes: Changes = [StreamChange(None, stream)]
    if table.log is None:
        changes.append(LogChange(None, log))
    return replace(table, stream=stream), changes


def disabled(table: Table, moment: Moment) -> tuple[Table, Changes]:
    """The table with its stream, if it has one, disabled. The records stay readable for a day."""
    if table.stream is None or table.stream.disabled_at is not None:
        return table, []
    now = max(ceil(moment.now * 1000), table.stream.log.since)
    closed = replace(table.stream, disabled_at=now)
    return replace(table, stream=closed), [StreamChange(table.stream, closed)]
