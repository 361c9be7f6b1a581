"""What an agent may do with a database: look, query, explain, and with `--write` write."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError
from msgspec import json

from hashrange.amounts import counted
from hashrange.expressions import partiql
from hashrange.expressions.partiql import tree
from hashrange.model.errors import ApiError
from hashrange.tools.agents.untrusted import item_line, json_line, marked
from hashrange.tools.shell import plans
from hashrange.tools.shell.catalog import Catalog
from hashrange.tools.shell.execution import Consumed, pages
from hashrange.tools.shell.faults import ERRORS, Failed, failure
from hashrange.tools.shell.parameters import parameter
from hashrange.tools.shell.values import printable
from hashrange.tools.target import Target

TABLES_MAX, DESCRIBED_MAX = 100, 25
ITEMS_MAX = 100
SAMPLE_ITEMS = 5
UNITS_MAX = 100.0
"""The read units after which a query reads no further page. A page takes at most 128 units."""
NO_TABLE = "ResourceNotFoundException"
STATEMENT_LETTERS_MAX = 8_192
"""The largest length of a statement in characters, the same as in DynamoDB's API."""

_DESCRIBED = [
    "KeySchema",
    "AttributeDefinitions",
    "BillingModeSummary",
    "ProvisionedThroughput",
    "ItemCount",
    "TableSizeBytes",
    "TableStatus",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "VectorIndexes",
    "StreamSpecification",
]


class Refused(Exception):
    """A tool refuses the call; the message is for the agent."""


class DatabaseTools:
    """Each method is a tool: its docstring is what the agent reads. The methods raise Refused."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._catalog = Catalog(target)

    def tools(self, write: bool) -> list[Callable[..., str]]:
        reading: list[Callable[..., str]] = [self.look, self.query, self.explain]
        return [*reading, self.write] if write else reading

    def look(self, table: str | None = None) -> str:
        """Show the tables of the database; or with a table its keys, indexes and a few items."""
        return _answer(self._table, table) if table else _answer(self._tables)

    def query(self, statement: str, parameters: list[Any] | None = None, limit: int = 25) -> str:
        """Run one PartiQL SELECT, such as SELECT * FROM "orders" WHERE pk = ?, and tell its cost.

        A condition on the partition key with = or IN makes it a query; without one the whole table
        is read. An index is named "table"."index". The parameters are the values of the ?, as JSON
        or in DynamoDB's own JSON. At most `limit` items are shown, and reading stops after 100
        capacity units.
        """
        if not isinstance(_statement(statement), tree.Select):
            raise Refused("the tool `query` runs only a SELECT; nothing was run")
        return _answer(self._select, statement, _values(parameters), limit)

    def explain(self, statement: str) -> str:
        """Tell what a PartiQL statement would read, write and consume, without running it."""
        _statement(statement)
        return _answer(plans.explain, statement, self._target, self._catalog)

    def write(self, statement: str, parameters: list[Any] | None = None) -> str:
        """Run one PartiQL INSERT, UPDATE or DELETE, which writes one item, and tell its cost."""
        if not isinstance(_statement(statement), tree.Insert | tree.Update | tree.Delete):
            raise Refused("the tool `write` runs only an INSERT, UPDATE or DELETE; nothing was run")
        return _answer(self._write, statement, _values(parameters))

    def _tables(self) -> str:
        client = self._target.client
        names = client.list_tables(Limit=TABLES_MAX)["TableNames"]
        described = [client.describe_table(TableName=name) for name in names[:DESCRIBED_MAX]]
        lines = [json_line(_short(each["Table"])) for each in described]
        lines += [json_line({"TableName": name}) for name in names[DESCRIBED_MAX:]]
        more = " (only the first tables are shown)" if len(names) == TABLES_MAX else ""
        return f"{counted(len(names), 'table')}{more}\n{marked(lines)}"

    def _table(self, table: str) -> str:
        client = self._target.client
        description = client.describe_table(TableName=table)["Table"]
        page = client.scan(TableName=table, Limit=SAMPLE_ITEMS, ReturnConsumedCapacity="INDEXES")
        consumed = Consumed()
        consumed.add(page.get("ConsumedCapacity"))
        lines = [json_line({name: description[name]}) for name in _DESCRIBED if name in description]
        items = map(item_line, page["Items"])
        return f"The table and its first items; {consumed}\n{marked([*lines, *items])}"

    def _select(self, statement: str, parameters: Sequence[Mapping[str, Any]], limit: int) -> str:
        client, most = self._target.client, max(1, min(limit, ITEMS_MAX))
        items: list[Any] = []
        consumed, units, more = Consumed(), 0.0, False
        result_pages = pages(client, statement, parameters, first=most, capacity=True)
        for page in result_pages:
            consumed.add(page.consumed)
            units += (page.consumed or {}).get("CapacityUnits", 0)
            items += page.items
            more = page.more or len(items) > most
            if len(items) >= most or units >= UNITS_MAX:
                break
        rest = "; there may be more" if more else ""
        return f"{counted(min(len(items), most))}{rest}; {consumed}\n" + marked(
            map(item_line, items[:most])
        )

    def _write(self, statement: str, parameters: Sequence[Mapping[str, Any]]) -> str:
        [page] = pages(self._target.client, statement, parameters, capacity=True)
        consumed = Consumed()
        consumed.add(page.consumed)
        returned = f"\n{marked(map(item_line, page.items))}" if page.items else ""
        return f"done; {consumed}{returned}"


def _short(table: Mapping[str, Any]) -> dict[str, Any]:
    keys = {each["KeyType"]: each["AttributeName"] for each in table["KeySchema"]}
    sizes = {name: table.get(name) for name in ("ItemCount", "TableSizeBytes")}
    return {"TableName": table["TableName"], **keys, **sizes}


def _statement(text: str) -> tree.Statement:
    if len(text) > STATEMENT_LETTERS_MAX:
        raise Refused(f"a statement may have at most {STATEMENT_LETTERS_MAX:,} characters")
    try:  # refuse what this parser cannot read: it might be a write
        return partiql.parse(text)
    except ApiError as error:
        raise Refused(f"{failure(error, text)}\nnothing was run") from None


def _values(values: Iterable[Any] | None) -> list[dict[str, Any]]:
    try:
        return [
            {"S": value} if isinstance(value, str) else parameter(json.encode(value).decode())
            for value in values or ()
        ]
    except Failed as error:
        raise Refused(str(error)) from None


def _answer(work: Callable[..., str], *arguments: Any) -> str:
    try:
        return work(*arguments)
    except ClientError as error:
        fault = error.response["Error"]
        hint = "; the tool `look` lists the tables" if fault["Code"] == NO_TABLE else ""
        raise Refused(f"{fault['Code']}: {printable(fault['Message'])}{hint}") from None
    except ERRORS as error:
        raise Refused(str(failure(error))) from None
    except Failed as error:
        raise Refused(str(error)) from None
