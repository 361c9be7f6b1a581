"""Operations that the server sends to itself.

Their work is done in small steps, so that other requests need not wait. Each step is decided on the
current state, like any request. So any process may run a step, and repeating it does no harm.
"""

from hashrange.operations.operation import Operation
from hashrange.operations.upkeep import (
    build_from_log,
    build_index,
    bulk_put,
    count_partition,
    empty_space,
    expire_items,
    feed,
    forget_tokens,
    halve_partition,
    import_items,
    jobs,
    lease,
    open_index_logs,
    pending,
    propagate,
    raise_warm_throughput,
    read_stream,
    split_partition,
    tend_backup,
    trim_feed,
    trim_history,
    trim_stream,
    trim_vector_log,
)

UPKEEP = {
    operation.name: operation
    for operation in (
        Operation("upkeep.Lease", lease.parse, lease.decide, writes=True),
        Operation("upkeep.Pending", pending.parse, pending.decide),
        Operation("upkeep.BuildIndex", build_index.parse, build_index.decide, writes=True),
        Operation("upkeep.FindUnbuilt", build_from_log.parse_find, build_from_log.decide_find),
        Operation(
            "upkeep.AppendBuild",
            build_from_log.parse_append,
            build_from_log.decide_append,
            writes=True,
        ),
        Operation("upkeep.HalvePartition", halve_partition.parse, halve_partition.decide),
        Operation(
            "upkeep.SplitPartition", split_partition.parse, split_partition.decide, writes=True
        ),
        Operation(
            "upkeep.CountPartition", count_partition.parse, count_partition.decide, writes=True
        ),
        Operation(
            "upkeep.RaiseWarmThroughput",
            raise_warm_throughput.parse,
            raise_warm_throughput.decide,
            writes=True,
        ),
        Operation(
            "upkeep.OpenIndexLogs", open_index_logs.parse, open_index_logs.decide, writes=True
        ),
        Operation("upkeep.Propagate", propagate.parse, propagate.decide, writes=True),
        Operation("upkeep.EmptySpace", empty_space.parse, empty_space.decide, writes=True),
        Operation("upkeep.ExpireItems", expire_items.parse, expire_items.decide, writes=True),
        Operation("upkeep.TendBackup", tend_backup.parse, tend_backup.decide, writes=True),
        Operation("upkeep.TrimHistory", trim_history.parse, trim_history.decide, writes=True),
        Operation("upkeep.TrimStream", trim_stream.parse, trim_stream.decide, writes=True),
        Operation("upkeep.Jobs", jobs.parse, jobs.decide_listed),
        Operation("upkeep.BeginExport", jobs.parse, jobs.decide_begin_export, writes=True),
        Operation("upkeep.JobEnded", jobs.parse, jobs.decide_ended, writes=True),
        Operation(
            "upkeep.BeginImport",
            import_items.parse_begin,
            import_items.decide_begin,
            writes=True,
            random=True,
        ),
        Operation("upkeep.BeginBulk", bulk_put.parse_begin, bulk_put.decide_begin, writes=True),
        Operation("upkeep.BulkItems", bulk_put.parse, bulk_put.decide, writes=True),
        Operation("upkeep.ImportItems", import_items.parse, import_items.decide, writes=True),
        Operation("upkeep.TrimFeed", trim_feed.parse, trim_feed.decide, writes=True),
        Operation("upkeep.Feeds", feed.parse_listed, feed.decide_listed),
        Operation("upkeep.FeedBatch", feed.parse, feed.decide_batch),
        Operation("upkeep.FeedSent", feed.parse, feed.decide_sent, writes=True),
        Operation("upkeep.FeedFailed", feed.parse, feed.decide_failed, writes=True),
        Operation("upkeep.Reader", read_stream.parse, read_stream.decide),
        Operation("upkeep.BeginReading", read_stream.parse, read_stream.decide_begin, writes=True),
        Operation("upkeep.Handled", read_stream.parse, read_stream.decide_handled, writes=True),
        Operation(
            "upkeep.TrimVectorLog", trim_vector_log.parse, trim_vector_log.decide, writes=True
        ),
        Operation("upkeep.ForgetTokens", forget_tokens.parse, forget_tokens.decide, writes=True),
    )
}
