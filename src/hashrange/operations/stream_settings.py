"""StreamSpecification in CreateTable and UpdateTable: a stream comes, or is closed."""

from collections.abc import Iterator

from msgspec.structs import replace

from hashrange.engine.decision import StreamChange
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceInUseException, ValidationException
from hashrange.model.streams import Stream
from hashrange.model.tables import Table


def check(given: requests.StreamSpecification | None) -> None:
    if given is None:
        return
    if given.stream_enabled and given.stream_view_type is None:
        raise ValidationException(
            "One or more parameter values were invalid: "
            "StreamSpecification: StreamViewType is required when StreamEnabled is true"
        )
    if not given.stream_enabled and given.stream_view_type is not None:
        raise ValidationException(
            "One or more parameter values were invalid: Table is not enabled for streaming, "
            "so StreamViewType cannot be specified"
        )


def is_enabled(table: Table) -> bool:
    return table.stream is not None and table.stream.disabled_at is None


def changed(
    table: Table, given: requests.StreamSpecification | None, spaces: Iterator[int], moment: Moment
) -> tuple[Table, list[StreamChange]]:
    """The table with its stream enabled, in the next of `spaces`, or disabled."""
    if given is None:
        return table, []
    if not given.stream_enabled:
        return disabled(table, moment)
    if is_enabled(table):
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: "
            f"Table already has an enabled stream: TableName: {table.name}"
        )
    assert given.stream_view_type, "checked before"
    stream = Stream(
        table_name=table.name,
        table_arn=table.arn,
        view=given.stream_view_type,
        space=next(spaces),
        hash=table.hash[0],
        range=table.range[0] if table.range else None,
        enabled_at=int(moment.now * 1000),
        shard_milliseconds=int(moment.settings.shard_seconds * 1000),
    )
    return replace(table, stream=stream), [StreamChange(None, stream)]


def disabled(table: Table, moment: Moment) -> tuple[Table, list[StreamChange]]:
    """The table with its stream closed, if it has one; records stay readable for a day."""
    if table.stream is None or table.stream.disabled_at is not None:
        return table, []
    closed = replace(table.stream, disabled_at=int(moment.now * 1000))
    return replace(table, stream=closed), [StreamChange(table.stream, closed)]
