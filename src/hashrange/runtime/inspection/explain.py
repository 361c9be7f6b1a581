"""Explanations of requests: what they would consume now, and why. Nothing is written."""

from collections.abc import Generator, Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from hashrange import kv
from hashrange.engine import transition
from hashrange.engine.capacity import Charge
from hashrange.engine.decision import Decision, ItemChange
from hashrange.engine.indexes.reasons import reasons
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError
from hashrange.model.tables import TableOrIndex
from hashrange.operations.operation import Operation
from hashrange.runtime.authorisation import Answered, answers
from hashrange.runtime.batch import ENTROPY_BYTES
from hashrange.runtime.decisions import Steps, begin, with_tables
from hashrange.runtime.environment import HEAD, Environment


class Consumed(Struct):
    """Units that are consumed in one partition of a table, or of one of its indexes.

    A local index lies in the partitions of its table. `index` is None for the table itself.
    """

    table: str
    index: str | None
    partition: int
    read_units: float = 0
    write_units: float = 0


class Explanation(Struct):
    """What a request would consume, and why.

    `rows_read` counts items and index entries, and `bytes_read` is their size. `items_returned`
    counts the items that the client gets. If the request would be refused, `error` is the body of
    the error; a refused request may still consume units, such as a write whose condition fails.
    `notes` say what a write does to each index, or that a read returns only one page. `access` has
    the answers of the principal's policies, one for each action of the request.
    """

    operation: str
    read_units: float = 0
    write_units: float = 0
    rows_read: int = 0
    bytes_read: int = 0
    items_returned: int = 0
    consumed: list[Consumed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: dict[str, Any] | None = None
    access: list[Answered] = field(default_factory=list)


def explain(
    operation: Operation,
    request: Any,
    caller: Caller,
    snapshot: kv.Snapshot,
    environment: Environment,
) -> Explanation:
    """Explain a request over a snapshot. A request that writes is decided, but not committed."""
    tables, now = environment.at(cast(tuple[bytes | None, int], snapshot.read(HEAD)))
    # Receipts are filled only if throughput is measured.
    settings = environment.settings._replace(throughput="measured")
    moment = environment._replace(settings=settings).moment(now, caller, bytes(ENTROPY_BYTES))
    explanation = Explanation(operation.name)
    answering = with_tables(answers(operation, request, moment), tables)
    explanation.access = _driven(answering, snapshot)
    return _explain(explanation, begin(operation, request, moment, tables), snapshot, now)


def _driven(steps: Generator[Any, Any, Any], snapshot: kv.Snapshot) -> Any:
    """Run `steps` over a snapshot without counting their reads. Returns the result."""
    reply: Any = None
    try:
        while True:
            reply = snapshot.read(steps.send(reply))
    except StopIteration as end:
        return end.value


def _explain(
    explanation: Explanation, steps: Steps, snapshot: kv.Snapshot, now: float
) -> Explanation:
    try:
        decision = _drive(steps, snapshot, explanation)
        transition.derive(decision, now)
        response = _response(decision)
    except ApiError as refusal:
        explanation.error = refusal.body()
        if refusal.receipt is not None:
            _add_charges(explanation, refusal.receipt.charges)
        return explanation
    if decision.receipt is not None:
        _add_charges(explanation, decision.receipt.charges)
        for charge in decision.receipt.vector_bytes or ():
            explanation.notes.append(
                f"{charge.table.name}, vector index {charge.index.name}: the entry changes: "
                f"{charge.bytes:,} vector write bytes"
            )
    explanation.notes += _notes(decision)
    explanation.items_returned = 0 if decision.changes else _returned(response)
    if "LastEvaluatedKey" in response or "NextToken" in response:
        explanation.notes.append("this is one page of the result; more pages follow")
    return explanation


def _drive(steps: Steps, snapshot: kv.Snapshot, explanation: Explanation) -> Decision:
    reply: Any = None
    try:
        while True:
            read = steps.send(reply)
            reply = snapshot.read(read)
            for value in _rows(read, reply):
                explanation.rows_read += 1
                explanation.bytes_read += kv.unpack_weight(value)[0]
    except StopIteration as end:
        return cast(Decision, end.value)


def _rows(read: kv.Read, reply: kv.Answer) -> Iterator[bytes]:
    """The items and index entries in the answer to a read."""
    if isinstance(read, kv.Get):
        values = cast(list[bytes | None], reply)
        for (space, _), value in zip(read.keys, values, strict=True):
            if value is not None and space != kv.SYSTEM_SPACE:
                yield value
    elif isinstance(read, kv.Range) and read.space != kv.SYSTEM_SPACE:
        for _, value in cast(kv.Page, reply).rows:
            yield value


def _add_charges(explanation: Explanation, charges: list[Charge]) -> None:
    """Add a `Consumed` for each partition that is charged, in the order of the charges."""
    lines: dict[tuple[str, str | None, int], Consumed] = {}
    for charge in charges:
        index = charge.index
        owner: TableOrIndex = charge.table if index is None or index.local else index
        number = owner.partition_at(charge.key).number
        place = charge.table.name, index.name if index else None, number
        line = lines.setdefault(place, Consumed(*place))
        if charge.written:
            line.write_units += charge.units
            explanation.write_units += charge.units
        else:
            line.read_units += charge.units
            explanation.read_units += charge.units
    explanation.consumed += lines.values()


def _notes(decision: Decision) -> Iterator[str]:
    changes = [change for change in decision.changes if isinstance(change, ItemChange)]
    for change in changes:
        if change.check:
            continue
        for index, reason in reasons(change):
            yield f"{change.table.name}, index {index.name}: {reason}"
    if decision.transactional:
        yield "a transaction doubles the units of tables, but not those of their indexes"


def _response(decision: Decision) -> dict[str, Any]:
    wire = msgspec.json.encode(decision.response()) or b"{}"
    return msgspec.json.decode(wire, type=dict[str, Any])


def _returned(response: dict[str, Any]) -> int:
    if "Count" in response:
        return cast(int, response["Count"])
    if "Item" in response:
        return 1
    if "SearchResults" in response:
        return len(response["SearchResults"])
    results = response.get("Items") or response.get("Responses") or ()
    groups = results.values() if isinstance(results, dict) else [results]
    return sum(len(group) for group in groups)
