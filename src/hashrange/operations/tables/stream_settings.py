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


def check_new(specification: requests.StreamSpecification | None) -> None:
    """Check the StreamSpecification of a new table."""
    if specification is None:
        return
    if specification.stream_enabled and specification.stream_view_type is None:
        raise invalid_parameter(
            "Table is being created with a stream enabled, UpdateViewType is required"
        )
    if not specification.stream_enabled and specification.stream_view_type is not None:
        raise invalid_parameter(
            "Table is being created with a stream disabled, UpdateViewType should not be specified"
        )


def check_change(specification: requests.StreamSpecification | None) -> None:
    """Check the StreamSpecification for an existing table."""
    if specification is None:
        return
    if specification.stream_enabled and specification.stream_view_type is None:
        raise invalid_parameter("If stream is being enabled then UpdateViewType is required")
    if not specification.stream_enabled and specification.stream_view_type is not None:
        raise invalid_parameter(
            "If stream is being disabled, then UpdateViewType must not be specified"
        )


def is_enabled(table: Table) -> bool:
    return table.stream is not None and table.stream.disabled_at is None


Changes = list[StreamChange | LogChange]


def changed(
    table: Table,
    specification: requests.StreamSpecification | None,
    spaces: Iterator[int],
    moment: Moment,
) -> Fetch[tuple[Table, Changes]]:
    """The table with its stream enabled or disabled, and the other changes that this needs.

    A stream reads the table's change log. If the log is not open yet, it is opened in the next of
    `spaces`.
    """
    if specification is None:
        return table, []
    if not specification.stream_enabled:
        if not is_enabled(table):
            raise ValidationException(f"Table has no stream to disable: TableName: {table.name}")
        return disabled(table, moment)
    if is_enabled(table):
        raise ValidationException(f"Table already has an enabled stream: TableName: {table.name}")
    assert specification.stream_view_type, "an enabled stream must have a view type"
    shard_milliseconds = int(moment.settings.shard_seconds * 1000)
    stream, opened = yield from new_reader(
        table, specification.stream_view_type, shard_milliseconds, table.stream, spaces, moment
    )
    while (yield from streams.find(stream.arn)) is not None:
        # No two streams have the same label, even if they are enabled within a millisecond.
        stream = replace(stream, enabled_at=stream.enabled_at + 1)
    return replace(table, stream=stream), [StreamChange(None, stream), *opened]


def new_reader(
    table: Table,
    view: requests.StreamViewType,
    shard_milliseconds: int,
    previous: Stream | None,
    spaces: Iterator[int],
    moment: Moment,
) -> Fetch[tuple[Stream, list[LogChange]]]:
    """A new reader of the table's change log, and the change that opens the log if it is not open
    yet.

    The reader begins now: it gets no earlier record, and no record of the `previous` reader of the
    same kind.
    """
    enabled_at = ceil(moment.now * 1000)
    if previous is not None and previous.disabled_at is not None:
        enabled_at = max(enabled_at, previous.disabled_at + 1)
    log, opened = table.log, []
    if log is None:
        log = Log(next(spaces), first_slots(table.partition_starts, enabled_at), enabled_at)
        opened.append(LogChange(None, log))
    else:
        enabled_at = max(enabled_at, log.since + 1, (yield from streams.latest_commit()) + 1)
    reader = Stream(
        table_name=table.name,
        table_arn=table.arn,
        view=view,
        space=log.space,
        hash=table.hash[0],
        range=table.range[0] if table.range else None,
        enabled_at=enabled_at,
        shard_milliseconds=shard_milliseconds,
        slots=log.slots,
    )
    return reader, opened


def disabled(table: Table, moment: Moment) -> tuple[Table, Changes]:
    """The table with its stream disabled, if it was enabled, and the changes for this. The
    records stay readable for a day."""
    if table.stream is None or table.stream.disabled_at is not None:
        return table, []
    closed = disabled_reader(table, table.stream, moment)
    return replace(table, stream=closed), [StreamChange(table.stream, closed)]


def disabled_reader(table: Table, reader: Stream, moment: Moment) -> Stream:
    """The reader of the table's log, disabled. It ends with the last record that the log has
    now."""
    assert table.log is not None, "a table with an enabled reader must have a log"
    return replace(reader, disabled_at=max(ceil(moment.now * 1000), table.log.since))
