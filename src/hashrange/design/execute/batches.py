"""Reads by key, and batches.

A batch is split into requests. Unprocessed keys and items are sent again, after a random pause,
until a deadline; after the deadline, `Unprocessed` is raised. All other retries are left to the
client.
"""

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.errors import Unprocessed
from hashrange.design.execute.observation import units_of
from hashrange.design.execute.steps import ApiCall, Pause, Steps
from hashrange.model.values import Item

READS_MAX = 100
WRITES_MAX = 25
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 2.0
DEADLINE_SECONDS = 30.0


def get_one(table: str, key: Item) -> Steps[Item | None]:
    """The stored item with this key, from a consistent read; None if there is none."""
    request = {"TableName": table, "Key": key, "ConsistentRead": True}
    response = yield ApiCall("GetItem", {**request, "ReturnConsumedCapacity": "TOTAL"})
    item: Item | None = response.get("Item")
    return item


def get_all(
    table: str, keys: Sequence[Item], took: Explanation | None = None, consistent: bool = False
) -> Steps[list[Item | None]]:
    """The stored items in the order of `keys`; None for a key without an item.

    Adds the requests and their cost to `took`.
    """
    items: dict[Any, Item] = {}
    distinct = list({_identity(key): key for key in keys}.values())
    for start in range(0, len(distinct), READS_MAX):
        wanted = distinct[start : start + READS_MAX]
        for pause in _pauses():
            asked: dict[str, Any] = {"Keys": wanted}
            if consistent:
                asked["ConsistentRead"] = True
            request = {"RequestItems": {table: asked}, "ReturnConsumedCapacity": "TOTAL"}
            response = yield ApiCall("BatchGetItem", request)
            _count(took, "BatchGetItem", request, response)
            for raw in response.get("Responses", {}).get(table, ()):
                items[_identity({name: raw[name] for name in wanted[0]})] = raw
            wanted = response.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            if not wanted:
                break
            if pause is None:
                raise Unprocessed(
                    f"{len(wanted)} keys were not read within {DEADLINE_SECONDS:g} seconds", wanted
                )
            yield pause
    return [items.get(_identity(key)) for key in keys]


def write_all(
    table: str, requests: Sequence[dict[str, Any]], took: Explanation | None = None
) -> Steps[None]:
    """Send put and delete requests, in wire form, by BatchWriteItem, which is not atomic.

    Adds the calls of BatchWriteItem and their cost to `took`.
    """
    for start in range(0, len(requests), WRITES_MAX):
        waiting = list(requests[start : start + WRITES_MAX])
        for pause in _pauses():
            request = {"RequestItems": {table: waiting}, "ReturnConsumedCapacity": "TOTAL"}
            response = yield ApiCall("BatchWriteItem", request)
            _count(took, "BatchWriteItem", request, response)
            waiting = response.get("UnprocessedItems", {}).get(table, [])
            if not waiting:
                break
            if pause is None:
                rest = waiting + list(requests[start + WRITES_MAX :])
                raise Unprocessed(
                    f"{len(rest)} items were not written within {DEADLINE_SECONDS:g} seconds", rest
                )
            yield pause


def _pauses() -> Iterator[Pause | None]:
    """The pauses between attempts: random, with a limit that doubles; None after the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    longest = FIRST_PAUSE_SECONDS
    while True:
        late = time.monotonic() >= deadline
        yield None if late else Pause(random.uniform(0, longest))
        longest = min(longest * 2, LONGEST_PAUSE_SECONDS)


def _identity(key: Item) -> Any:
    return tuple(sorted((name, *value.items()) for name, value in key.items()))


def _count(
    took: Explanation | None, operation: str, request: dict[str, Any], response: dict[str, Any]
) -> None:
    if took is not None:
        took.requests.append((operation, request))
        took.pages += 1
        took.capacity += units_of(response)
