"""The operations of the API, one file for each. Each file parses, decides and responds, in this
order.

`OPERATIONS` is the registry: it maps the name of each operation to its `Operation`.
"""

from operator import attrgetter
from types import ModuleType
from typing import Any

from hashrange.engine.vectors.arrays import numpy
from hashrange.operations import backups, resource_policies, resources, unsupported
from hashrange.operations.contributor_insights import (
    describe_contributor_insights,
    list_contributor_insights,
    update_contributor_insights,
)
from hashrange.operations.items import (
    batch_get_item,
    batch_write_item,
    delete_item,
    get_item,
    put_item,
    update_item,
)
from hashrange.operations.operation import Operation
from hashrange.operations.partiql import (
    batch_execute_statement,
    execute_statement,
    execute_transaction,
)
from hashrange.operations.queries import query, scan, search_vectors
from hashrange.operations.streams import (
    describe_stream,
    get_records,
    get_shard_iterator,
    list_streams,
)
from hashrange.operations.tables import (
    create_table,
    delete_table,
    describe_endpoints,
    describe_limits,
    describe_table,
    describe_time_to_live,
    kinesis,
    list_tables,
    list_tags_of_resource,
    tag_resource,
    untag_resource,
    update_time_to_live,
)
from hashrange.operations.tables.update import update_table
from hashrange.operations.transactions import transact_get_items, transact_write_items
from hashrange.operations.transfers import bulk_put_items, export_table, import_table

READS: dict[str, ModuleType] = {
    "BatchGetItem": batch_get_item,
    "DescribeContributorInsights": describe_contributor_insights,
    "DescribeEndpoints": describe_endpoints,
    "DescribeLimits": describe_limits,
    "DescribeStream": describe_stream,
    "DescribeTable": describe_table,
    "DescribeTimeToLive": describe_time_to_live,
    "GetRecords": get_records,
    "GetShardIterator": get_shard_iterator,
    "ListContributorInsights": list_contributor_insights,
    "ListStreams": list_streams,
    "ListTables": list_tables,
    "ListTagsOfResource": list_tags_of_resource,
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
    "TagResource": tag_resource,
    "TransactWriteItems": transact_write_items,
    "UntagResource": untag_resource,
    "UpdateContributorInsights": update_contributor_insights,
    "UpdateTable": update_table,
    "UpdateTimeToLive": update_time_to_live,
}
STATEMENTS: dict[str, ModuleType] = {
    "BatchExecuteStatement": batch_execute_statement,
    "ExecuteStatement": execute_statement,
    "ExecuteTransaction": execute_transaction,
}
"""Maps the operations of PartiQL, which may read or write depending on their statements, to their
modules."""


def _operation(name: str, module: ModuleType, **settings: Any) -> Operation:
    if hasattr(module, "weight"):
        settings["weight"] = module.weight
    if hasattr(module, "DIVISION"):
        settings["division"] = module.DIVISION
    return Operation(name, module.parse, module.decide, resources=resources.of(name), **settings)


OPERATIONS = {
    "GetItem": _operation("GetItem", get_item, single_read=True, on_table=True),
    "CreateTable": _operation("CreateTable", create_table, writes=True, random=True),
    "SearchVectors": _operation("SearchVectors", search_vectors, long=True, prepare=numpy),
    **{name: _operation(name, it) for name, it in READS.items()},
    **{name: _operation(name, it, writes=True) for name, it in WRITES.items()},
    **{name: _operation(name, it, on_table=True) for name, it in TABLE_READS.items()},
    **{name: _operation(name, it, writes=True, on_table=True) for name, it in TABLE_WRITES.items()},
    **{name: _operation(name, it, writes=attrgetter("writes")) for name, it in STATEMENTS.items()},
    **backups.OPERATIONS,
    **kinesis.OPERATIONS,
    **resource_policies.OPERATIONS,
    **unsupported.OPERATIONS,
    **import_table.OPERATIONS,
    **export_table.OPERATIONS,
    **bulk_put_items.OPERATIONS,
}
