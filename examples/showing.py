"""Code that the boto3 examples share: a client, paging, and the table of access patterns.

The client is that of a boto3 resource: it takes and returns Python values (`"a"`, `5`, `{"x"}`)
where the plain client wants `{"S": "a"}`, and has the same operations and parameters otherwise.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from itertools import islice
from typing import Any

import boto3
from rich import box
from rich.console import Console
from rich.table import Table

import hashrange

Client = Any
Item = dict[str, Any]

BATCH_WRITES_MAX = 25
COLUMNS_UNLESS_TERMINAL = 120
WORD_MIN, WORD_MAX = 14, 17

_BEFORE = "before-parameter-build.dynamodb"
_AFTER = "after-call.dynamodb"


# ---- requests ----


def connect(endpoint: str | None = None) -> Client:
    """A client of an endpoint, with made-up credentials; by default, of a new database."""
    if endpoint is None:
        return hashrange.connect().boto3_session().resource("dynamodb").meta.client
    return boto3.resource(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="example",
        aws_secret_access_key="example",
    ).meta.client


def key_schema(*names: str) -> list[Item]:
    """A partition key and, if given, a sort key."""
    kinds = ("HASH", "RANGE")
    return [{"AttributeName": n, "KeyType": k} for n, k in zip(names, kinds, strict=False)]


def strings(*names: str) -> list[Item]:
    """AttributeDefinitions of key attributes that are all strings."""
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def pages(operation: Callable[..., Any], **request: Any) -> Iterator[Any]:
    """The pages of a Query or Scan: `pages(client.query, TableName=..., ...)`."""
    while True:
        page = operation(**request)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def items(operation: Callable[..., Any], **request: Any) -> list[Item]:
    """All items of a Query or Scan."""
    return [item for page in pages(operation, **request) for item in page["Items"]]


def get_all(client: Client, table: str, keys: Sequence[Item]) -> list[Item]:
    """The items of at most 100 keys, in the order of the keys; missing items are left out."""
    items: list[Item] = []
    requests: Any = {table: {"Keys": keys}} if keys else {}
    while requests:
        response = client.batch_get_item(RequestItems=requests)
        items += response["Responses"][table]
        requests = response["UnprocessedKeys"]
    return [item for key in keys for item in items if key.items() <= item.items()]


def put_all(client: Client, table: str, new: Iterable[Item]) -> Iterator[int]:
    """Put the items in batches. Yields the size of each batch once the batch is stored."""
    rest = iter(new)
    while batch := list(islice(rest, BATCH_WRITES_MAX)):
        requests: Any = {table: [{"PutRequest": {"Item": item}} for item in batch]}
        while requests:
            requests = client.batch_write_item(RequestItems=requests)["UnprocessedItems"]
        yield len(batch)


# ---- what a call costs ----


@dataclass
class Meter:
    """Within its `with` block, counts a client's requests and the capacity that they consume."""

    client: Client
    requests: int = field(default=0, init=False)
    capacity: float = field(default=0.0, init=False)

    def __enter__(self) -> "Meter":
        self.client.meta.events.register(_BEFORE, self._ask)
        self.client.meta.events.register(_AFTER, self._count)
        return self

    def __exit__(self, *error: object) -> None:
        self.client.meta.events.unregister(_BEFORE, self._ask)
        self.client.meta.events.unregister(_AFTER, self._count)

    def _ask(self, params: Item, model: Any, **_: Any) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def _count(self, parsed: Item, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        tables = consumed if isinstance(consumed, list) else [consumed]
        self.requests += 1
        self.capacity += sum(table["CapacityUnits"] for table in tables)


# ---- access patterns ----


@dataclass(frozen=True)
class Pattern:
    """A row of the table of access patterns, and the call that it describes."""

    name: str
    source: str
    operation: str
    partition_key: str
    sort_key: str
    other: str
    run: Callable[[Client], Sequence[Any]]


HEADINGS = (
    "Access pattern",
    "Base table\n/ GSI / LSI",
    "Operation",
    "Partition key value",
    "Sort key value",
    "Other conditions / filters",
)
SHORT = ("Base table\n/ GSI / LSI", "Operation")
MEASURED = ("Items\nfound", "Pages\nread", "Capacity\nconsumed")


def measured(client: Client, patterns: Iterable[Pattern]) -> Table:
    """Run the patterns. Returns a table: how each is served, and what it found, read and cost."""
    rows = list(patterns)
    table = Table(
        box=box.HORIZONTALS,
        border_style="dim",
        show_lines=True,
        expand=True,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for heading, column in zip(HEADINGS, zip(*map(astuple, rows), strict=True), strict=False):
        if heading in SHORT:
            table.add_column(heading, no_wrap=True)
            continue
        longest = max(len(word) for text in (heading, *column) for word in text.split())
        width = max(WORD_MIN, min(longest, WORD_MAX)) + 1  # padding is part of it
        table.add_column(heading, ratio=width, overflow="fold")
    for heading in MEASURED:
        table.add_column(heading, justify="right", style="cyan", no_wrap=True)
    for pattern in rows:
        with Meter(client) as meter:
            results = pattern.run(client)
        *described, _ = astuple(pattern)
        numbers = (f"{len(results):,}", f"{meter.requests:,}", f"{meter.capacity:,.1f}")
        table.add_row(*described, *numbers)
    return table


def console() -> Console:
    """A console as wide as the terminal or, without a terminal, wide enough for the table."""
    console = Console()
    return console if console.is_terminal else Console(width=COLUMNS_UNLESS_TERMINAL)


def main(title: str, prepare: Callable[[Client], object], patterns: Iterable[Pattern]) -> None:
    """The command line of an example: creates and fills its tables, and runs its patterns."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--endpoint", metavar="URL", help="default: a database in this process")
    client = connect(parser.parse_args().endpoint)
    prepare(client)
    out = console()
    out.print(f"\n[bold]{title}[/bold]")
    out.print(measured(client, patterns))
