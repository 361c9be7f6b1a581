"""`.explain`: the reads and the units of a statement."""

from collections.abc import Mapping
from typing import Any

from hashrange.amounts import counted, size
from hashrange.expressions import partiql
from hashrange.expressions.partiql import keys as partiql_keys
from hashrange.tools.explained import lines_of
from hashrange.tools.shell.catalog import Catalog, indexes_of
from hashrange.tools.shell.faults import Failed
from hashrange.tools.shell.values import printable
from hashrange.tools.target import Target

Described = Mapping[str, Any]


def explain(statement: str, target: Target, catalog: Catalog) -> str:
    """Explain what the statement would consume, without running it. Raises ApiError if the
    statement is faulty.

    A database in this process evaluates the statement on a snapshot. For other databases, one line
    is derived from the description of the table.
    """
    bound = partiql.bind(partiql.parse(statement), ())
    if isinstance(bound, partiql.Select):
        bound.check_columns()
    if target.database is not None:
        explanation = target.database.explain("ExecuteStatement", {"Statement": statement})
        return "\n".join(map(printable, lines_of(explanation)))
    if not isinstance(bound, partiql.Select):
        return "the statement writes one item by its key; use .capacity on to see what it consumes"
    table = catalog.describe(bound.table_name)
    return printable(_read(bound, table))


def _read(select: partiql.Select, table: Described) -> str:
    source, kind = table, "Table"
    if select.index_name is not None:
        kind = "Index"
        named = [each for each in indexes_of(table) if each["IndexName"] == select.index_name]
        if not named:
            raise Failed(f"{select.table_name} has no index {select.index_name}")
        source = named[0]
    key = {each["KeyType"]: each["AttributeName"] for each in source["KeySchema"]}
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    plan = partiql_keys.plan(select.where, key["HASH"], key.get("RANGE"), types)
    name = ".".join(filter(None, (select.table_name, select.index_name)))
    if plan.queries is None:
        total = source.get(f"{kind}SizeBytes", 0)
        return (
            f"Scan of all of {name}: about {counted(source.get('ItemCount', 0))}, {size(total)}, "
            f"{counted(-(-total // 8192), 'read unit')}, because {_reason(select, key)}"
        )
    count = len({str(query.hash_values) for query in plan.queries})
    by_sort = any(query.range_equals or query.operator for query in plan.queries)
    conditions = f"{key['HASH']} and {key['RANGE']}" if by_sort else key["HASH"]
    rest = "; the other conditions are evaluated on the items read" if plan.filter else ""
    return (
        f"Query of {count} {'partition' if count == 1 else 'partitions'} of {name} by "
        f"{conditions}{rest}"
    )


def _reason(select: partiql.Select, key: Mapping[str, str]) -> str:
    if partiql_keys.names_partitions(select.where, key["HASH"]):
        return f"its conditions on {' and '.join(key.values())} cannot be used in a query"
    return f"no condition names {key['HASH']} with ="
