"""One file per API operation, read from top to bottom: parse, decide, respond.

`OPERATIONS` is the registry: by API name, what the runtime needs to know to run one.
"""

from hashrange.operations import (
    batch_get_item,
    batch_write_item,
    create_table,
    delete_item,
    delete_table,
    describe_table,
    get_item,
    list_tables,
    put_item,
    query,
    scan,
    transact_get_items,
    transact_write_items,
    update_item,
    update_table,
)
from hashrange.operations.operation import Operation

OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("BatchGetItem", batch_get_item.parse, batch_get_item.decide),
        Operation("BatchWriteItem", batch_write_item.parse, batch_write_item.decide, writes=True),
        Operation("CreateTable", create_table.parse, create_table.decide, writes=True),
        Operation("DeleteItem", delete_item.parse, delete_item.decide, writes=True),
        Operation("DeleteTable", delete_table.parse, delete_table.decide, writes=True),
        Operation("DescribeTable", describe_table.parse, describe_table.decide),
        Operation("GetItem", get_item.parse, get_item.decide, single_read=True),
        Operation("ListTables", list_tables.parse, list_tables.decide),
        Operation("PutItem", put_item.parse, put_item.decide, writes=True),
        Operation("Query", query.parse, query.decide),
        Operation("Scan", scan.parse, scan.decide),
        Operation("TransactGetItems", transact_get_items.parse, transact_get_items.decide),
        Operation(
            "TransactWriteItems",
            transact_write_items.parse,
            transact_write_items.decide,
            writes=True,
        ),
        Operation("UpdateItem", update_item.parse, update_item.decide, writes=True),
        Operation("UpdateTable", update_table.parse, update_table.decide, writes=True),
    )
}
