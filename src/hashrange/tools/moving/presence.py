"""Checks that a table has the items that an earlier run has written to it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hashrange.clients.connection import THROTTLED, JsonConnection, Refused
from hashrange.formats.item_keys import ItemKeys
from hashrange.formats.items import Record, encode
from hashrange.tools.moving.pace import ATTEMPTS_MAX, Pace, pause
from hashrange.tools.moving.sink import Keyed

_KEYS_MAX = 100
"""The largest number of keys in a BatchGetItem request."""
GROUP_ITEMS = 2_000


class Presence:
    def __init__(self, connection: JsonConnection, table: Keyed, pace: Pace) -> None:
        self._connection = connection
        self._name = table.name
        self._keys = ItemKeys(table.key)
        self._pace = pace
        placeholders = {f"#{number}": name for number, name in enumerate(table.key)}
        self._form = {
            "ProjectionExpression": ",".join(placeholders),
            "ExpressionAttributeNames": placeholders,
            "ConsistentRead": True,
        }

    def has_all(self, records: Sequence[Record]) -> bool:
        """Whether the table has an item with the key of each record. Raises Refused."""
        keys = {repr(key): key for record in records if (key := self._keys.of(record.item))}
        wanted = [msgspec.Raw(self._keys.json(key)) for key in keys.values()]
        waiting = [
            self._form | {"Keys": wanted[at : at + _KEYS_MAX]}
            for at in range(0, len(wanted), _KEYS_MAX)
        ]
        count = attempt = 0
        while waiting:
            present, left = self._ask(waiting)
            count += present
            if left and not present:
                attempt += 1
                if attempt == ATTEMPTS_MAX:
                    raise Refused("", f"{self._name}: reads are throttled; set a lower --rate")
                pause(attempt)
            waiting = left
        return count == len(wanted)

    def _ask(self, requests: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
        """The number of items that exist, and the requests that must be sent again."""
        bodies = [
            encode({"RequestItems": {self._name: each}, "ReturnConsumedCapacity": "TOTAL"})
            for each in requests
        ]
        count, left = 0, []
        outcomes = self._connection.call_all("BatchGetItem", bodies)
        for request, outcome in zip(requests, outcomes, strict=True):
            if isinstance(outcome, Refused):
                if outcome.code not in THROTTLED:
                    raise outcome
                left.append(request)
                continue
            answer = msgspec.json.decode(outcome)
            count += len(answer["Responses"].get(self._name, ()))
            left += answer.get("UnprocessedKeys", {}).values()
            for consumed in answer.get("ConsumedCapacity", ()):
                self._pace.consumed(consumed["CapacityUnits"])
        return count, left
