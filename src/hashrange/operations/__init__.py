"""One file per API operation, read from top to bottom: parse, decide, respond.

`OPERATIONS` is the registry: by API name, what the runtime needs to know to run one.
"""

from operator import attrgetter
from types import ModuleType

from hashrange.operations import (
    batch_execute_statement,
    batch_get_item,
    batch_write_item,
    create_table,
    delete_item,
    delete_table,
    describe_endpoints,
    describe_limits,
    describe_stream,
    describe_table,
    describe_time_to_live,
    execute_statement,
    execute_transaction,
    get_item,
    get_records,
    get_shard_iterator,
    list_streams,
    list_tables,
    put_item,
    query,
    scan,
    tags,
    transact_get_items,
    transact_write_items,
    true_empty,
    update_item,
    update_table,
    update_time_to_live,
)
from hashrange.operations.operation import Operation

READS: dict[str, ModuleType] = {
    "BatchGetItem": batch_get_item,
    "DescribeEndpoints": describe_endpoints,
    "DescribeLimits": describe_limits,
    "DescribeStream": describe_stream,
    "DescribeTable": describe_table,
    "DescribeTimeToLive": describe_time_to_live,
    "GetRecords": get_records,
    "GetShardIterator": get_shard_iterator,
    "ListStreams": list_streams,
    "ListTables": list_tables,
    "TransactGetItems": transact_get_items,
}
TABLE_READS: dict[str, ModuleType] = {"Query": query, "Scan": scan}
TABLE_WRITES: dict[str, ModuleType] = {
    "DeleteItem": delete_item,
    "PutItem": put_item,
    "UpdateItem": update_item,
}
WRITES: dict[str, ModuleType] = {
    "BatchWriteItem": batch_write_item,
    "DeleteTable": delete_table,
    "TransactWriteItems": transact_write_items,
    "UpdateTable": update_table,
    "UpdateTimeToLive": update_time_to_live,
}
STATEMENTS: dict[str, ModuleType] = {
    "BatchExecuteStatement": batch_execute_statement,
    "ExecuteStatement": execute_statement,
    "ExecuteTransaction": execute_transaction,
}
"""What they do is for their statements to say."""

OPERATIONS = {
    "GetItem": Operation(
        "GetItem", get_item.parse, get_item.decide, single_read=True, on_table=True
    ),
    "CreateTable": Operation(
        "CreateTable", create_table.parse, create_table.decide, writes=True, random=True
    ),
    "ListTagsOfResource": Operation("ListTagsOfResource", tags.parse_list, tags.list_),
    "TagResource": Operation("TagResource", tags.parse_tag, tags.change, writes=True),
    "UntagResource": Operation("UntagResource", tags.parse_untag, tags.change, writes=True),
    **{name: Operation(name, it.parse, it.decide) for name, it in READS.items()},
    **{name: Operation(name, it.parse, it.decide, writes=True) for name, it in WRITES.items()},
    **{
        name: Operation(name, it.parse, it.decide, on_table=True)
        for name, it in TABLE_READS.items()
    },
    **{
        name: Operation(name, it.parse, it.decide, writes=True, on_table=True)
        for name, it in TABLE_WRITES.items()
    },
    **{
        name: Operation(name, it.parse, it.decide, writes=attrgetter("writes"))
        for name, it in STATEMENTS.items()
    },
    **true_empty.OPERATIONS,
}
