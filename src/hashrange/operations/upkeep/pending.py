"""The pending steps of upkeep: each is the name and the body of an operation."""

from itertools import chain
from typing import Any

from hashrange.engine import backups, client_tokens, fetch, partitions
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.indexes import propagation
from hashrange.engine.log import feeds, streams
from hashrange.model.tables import Index, Table, VectorIndex

STREAMS_MAX = 10_000
"""The largest number of streams that are listed. A database has fewer streams: at most one enabled
for each table, and those disabled within the last day."""

Step = dict[str, Any]


def parse(body: bytes) -> None:
    return None


def decide(request: None, moment: Moment) -> Decide:
    steps: list[Step] = [
        {"Operation": "upkeep.EmptySpace", "Body": {"Space": space}}
        for space in (yield from fetch.dropped_spaces())
    ]
    tables = yield from fetch.all_tables()
    sources = {table.name: partitions.sources(table) for table in tables}
    statistics = iter((yield from fetch.partition_statistics(list(chain(*sources.values())))))
    for table in tables:
        for index in table.declared_indexes:
            if index.building:
                steps.append(_build_step(table, index))
        for vectors in table.vector_indexes:
            body = {"TableName": table.name, "IndexName": vectors.name}
            steps.append({"Operation": "upkeep.TrimVectorLog", "Body": body})
        if table.index_log is not None and table.following:
            steps += yield from _propagation(table, moment)
        for source in sources[table.name]:
            step = _partition_step(table, source, next(statistics), moment.settings.partition_bytes)
            steps += [step] if step else []
        if table.ttl:
            steps.append({"Operation": "upkeep.ExpireItems", "Body": {"TableName": table.name}})
        if table.history is not None and table.recovery is not None:
            steps.append({"Operation": "upkeep.TrimHistory", "Body": {"TableName": table.name}})
    for backup in (yield from backups.listed()):
        if backup.copying or backup.restoring or backup.expires_at is not None:
            steps.append({"Operation": "upkeep.TendBackup", "Body": {"BackupArn": backup.arn}})
    for stream in (yield from streams.listed(None, None, STREAMS_MAX)):
        steps.append({"Operation": "upkeep.TrimStream", "Body": {"StreamArn": stream.arn}})
    for _, feed in (yield from feeds.listed()):
        body = {"TableName": feed.table_name, "Label": feed.label}
        steps.append({"Operation": "upkeep.TrimFeed", "Body": body})
    if (yield from client_tokens.forget_old(moment)).tokens:
        steps.append({"Operation": "upkeep.ForgetTokens", "Body": {}})
    return answer({"Steps": steps})


def _build_step(table: Table, index: Index | VectorIndex) -> Step:
    body: Step = {"TableName": table.name, "IndexName": index.name}
    if index.backfilling and index in table.built_from_log:
        body |= {"Space": index.space, "Start": index.built_to}
        return {"Operation": "upkeep.FindUnbuilt", "Body": body}
    return {"Operation": "upkeep.BuildIndex", "Body": body}


def _propagation(table: Table, moment: Moment) -> Fetch[list[Step]]:
    """At most one step, for records of the index log that the server which wrote them has not
    applied."""
    keys = yield from propagation.left_behind(table, int(moment.now * 1000))
    if not keys:
        return []
    body = {"TableName": table.name, "Log": table.index_log, "Keys": keys}
    return [{"Operation": "upkeep.Propagate", "Body": body}]


def _partition_step(
    table: Table, source: Table | Index, sizes: list[tuple[int, int]], partition_bytes: int
) -> Step | None:
    """The next step for the partitions of `source`. There is at most one, because it may change the
    definition.

    Counting a partition comes first, then splitting one for more throughput, then splitting a large
    one.
    """
    where: Step = {
        "TableName": table.name,
        "IndexName": source.name if isinstance(source, Index) else None,
    }
    for partition in source.partitions:
        if partition.counted_in is not None:
            body = {**where, "Number": partition.number}
            return {"Operation": "upkeep.CountPartition", "Body": body}
    if (wider := partitions.split_for_throughput(source)) is not None:
        number, at = wider
        body = {**where, "Number": number, "At": at}
        return {"Operation": "upkeep.SplitPartition", "Body": body}
    for partition, (_, size) in zip(source.partitions, sizes, strict=True):
        if size > partition_bytes:
            body = {**where, "Number": partition.number, "Size": size}
            return {"Operation": "upkeep.HalvePartition", "Body": body}
    return None
