"""Deleting or copying the items that were selected on a page of items."""

import time
from typing import Any

from botocore.exceptions import ClientError
from starlette.responses import Response

from hashrange.tools.console import writing
from hashrange.tools.console.shapes import Item, TableShape
from hashrange.tools.console.values import key_at
from hashrange.tools.console.visits import Mistake, Page, Visit, writes

BATCH = 25
"""The largest number of deletions in a BatchWriteItem."""

ATTEMPTS = 8
"""The number of requests for a batch with unprocessed members. The pause doubles each time."""

TABLES_MAX = 100
"""The largest number of tables that are offered as targets of a copy."""


def ask(visit: Visit) -> Response:
    """Show the selected items, and ask what to do with them."""
    shape, keys = _selected(visit)
    names = visit.console.call("list_tables", Limit=TABLES_MAX)["TableNames"]
    return visit.page(
        "selected.html",
        shape=shape,
        keys=list(zip(visit.parameters.getlist("key"), keys, strict=True)),
        tables=[name for name in names if name != shape.name],
        outcome=None,
    )


def _selected(visit: Visit) -> tuple[TableShape, list[Item]]:
    shape = visit.console.table(visit.path["table"])
    keys = [key_at(text) for text in visit.parameters.getlist("key")]
    if not keys:
        raise Mistake("No item is selected.")
    return shape, keys


def delete(visit: Visit) -> Response:
    """Delete the items, even if they have changed since they were shown."""
    shape, keys = _selected(visit)
    left = sum(
        _delete(visit, shape, keys[start : start + BATCH]) for start in range(0, len(keys), BATCH)
    )
    outcome = [
        (len(keys) - left, "deleted"),
        (left, "not deleted: the table is throttled, try again"),
    ]
    return _done(visit, shape, outcome)


def _delete(visit: Visit, shape: TableShape, keys: list[Item]) -> int:
    """Delete the items with these keys. Returns the number of items that remained unprocessed."""
    asked: list[dict[str, Any]] = [{"DeleteRequest": {"Key": key}} for key in keys]
    for attempt in range(ATTEMPTS):
        answer = visit.console.call("batch_write_item", RequestItems={shape.name: asked})
        asked = answer.get("UnprocessedItems", {}).get(shape.name, [])
        if not asked:
            return 0
        time.sleep(0.05 * 2**attempt)
    return len(asked)


def copy(visit: Visit) -> Response:
    """Copy the items' present state to another table. Existing items are not replaced."""
    shape, keys = _selected(visit)
    other = visit.console.table(visit.parameters.get("to", ""))
    outcomes = visit.console.each(lambda key: _copy(visit, shape, other, key), keys)
    counts = dict.fromkeys(("copied", *outcomes), 0)
    for outcome in outcomes:
        counts[outcome] += 1
    return _done(visit, shape, [(count, text) for text, count in counts.items()], other.name)


def _copy(visit: Visit, shape: TableShape, other: TableShape, key: Item) -> str:
    """Copy one item. Returns the outcome as the page shows it."""
    call = visit.console.call
    item = call("get_item", TableName=shape.name, Key=key, ConsistentRead=True).get("Item")
    if item is None:
        return "no longer there"
    try:
        writing.put_new(visit.console, other, item)
    except writing.LostRace:
        return "not copied: an item with the key exists"
    except ClientError as error:
        return f"not copied: {error.response['Error'].get('Message', '')}"
    return "copied"


def _done(
    visit: Visit, shape: TableShape, outcome: list[tuple[int, str]], to: str = ""
) -> Response:
    counted = [(count, text) for count, text in outcome if count]
    return visit.page("selected.html", shape=shape, keys=[], tables=[], outcome=counted, to=to)


PATH = "/table/{table}/selected"
PAGE = Page(
    "", PATH, (writes(PATH, ask), writes(PATH + "/delete", delete), writes(PATH + "/copy", copy))
)
