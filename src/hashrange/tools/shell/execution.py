"""A statement -> pages of items, through boto3's client."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar, cast

from hashrange.tools.shell.faults import Failed
from hashrange.tools.shell.splitting import is_select

Item = Mapping[str, Mapping[str, Any]]
T = TypeVar("T")

_ASKED_MAX = 100_000
_WAKING_SECONDS = 0.1


class ResultPage(NamedTuple):
    """The items of one response, its consumption (if requested), and whether there are more
    pages."""

    items: list[Item]
    consumed: Mapping[str, Any] | None
    more: bool


def pages(
    client: Any,
    statement: str,
    parameters: Sequence[Mapping[str, Any]] = (),
    *,
    first: int | None = None,
    capacity: bool = False,
) -> Iterator[ResultPage]:
    """Run a statement, page by page.

    `first` limits the number of items that the first page evaluates, so that a look at a large
    table costs little. Each following page may evaluate twice as many, so that a filter that
    matches few items needs few requests. Raises errors of boto3, and `Failed` for an answer without
    items.
    """
    request: dict[str, Any] = {"Statement": statement}
    if parameters:
        request["Parameters"] = list(parameters)
    if capacity:
        request["ReturnConsumedCapacity"] = "INDEXES"
    while True:
        if first is not None:
            request["Limit"] = first
            first = min(2 * first, _ASKED_MAX)
        answer = interruptible(partial(client.execute_statement, **request))
        token = answer.get("NextToken")
        if "Items" not in answer and is_select(statement):
            raise Failed(f"{client.meta.endpoint_url} does not answer as DynamoDB does")
        yield ResultPage(answer.get("Items", []), answer.get("ConsumedCapacity"), token is not None)
        if token is None:
            return
        request["NextToken"] = token


def interruptible(function: Callable[[], T]) -> T:
    """Call the function in a thread, so that Ctrl-C can end the wait safely.

    A running request continues to its end, and a database in this process is never interrupted in
    the middle of a commit.
    """
    outcome: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

    def work() -> None:
        try:
            outcome.put((True, function()))
        except BaseException as error:
            outcome.put((False, error))

    threading.Thread(target=work, daemon=True).start()
    while True:
        try:
            done, result = outcome.get(timeout=_WAKING_SECONDS)
        except Empty:  # so that Ctrl-C is noticed even if another thread gets the signal
            continue
        if not done:
            raise result
        return cast(T, result)


class Consumed:
    """The total units of a statement's pages."""

    def __init__(self) -> None:
        self._units: dict[str, float] = {}
        self._vector_bytes: dict[str, float] = {}

    def add(self, consumed: Mapping[str, Any] | None) -> None:
        if not consumed:
            return
        parts = {"the table": consumed.get("Table", {})}
        for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
            for name, capacity in consumed.get(member, {}).items():
                parts[f"index {name}"] = capacity
        for name, capacity in consumed.get("VectorIndexes", {}).items():
            total = self._vector_bytes.get(name, 0) + capacity.get("VectorWriteRequestBytes", 0)
            self._vector_bytes[name] = total
        self._add("in all", consumed)
        for name, capacity in parts.items():
            self._add(name, capacity)

    def _add(self, name: str, capacity: Mapping[str, Any]) -> None:
        self._units[name] = self._units.get(name, 0) + capacity.get("CapacityUnits", 0)

    def __str__(self) -> str:
        """`consumed 3 capacity units: the table 2, index by-kind 1`"""
        total = self._units.get("in all", 0)
        parts = [
            f"{name} {units:g}" for name, units in self._units.items() if name != "in all" and units
        ]
        parts += [
            f"vector index {name} {size:,.0f} bytes" for name, size in self._vector_bytes.items()
        ]
        units = f"consumed {total:g} capacity {'unit' if total == 1 else 'units'}"
        return f"{units}: {', '.join(parts)}" if parts else units
