"""Throttles a request on purpose: when the operation asks for admission, it is refused.

So each operation responds as it would under load.
"""

from typing import Any, cast

from hashrange import kv
from hashrange.engine import transition
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.model.caller import Caller
from hashrange.model.tables import Index
from hashrange.operations.operation import Operation
from hashrange.runtime.batch import ENTROPY_BYTES
from hashrange.runtime.decisions import begin
from hashrange.runtime.ending import encode
from hashrange.runtime.environment import HEAD, Environment


def refused(
    operation: Operation,
    request: Any,
    caller: Caller,
    snapshot: kv.Snapshot,
    environment: Environment,
    kind: str | None,
) -> bytes | None:
    """The response to a request that gets no admission; None if the request does not ask for any.

    `kind` is the kind of the limit (see `Limit`); None stands for the usual kind in the table's
    billing mode. Raises ApiError: the error of the limit, or an error that comes before it. The
    meter counts the refusals.
    """
    tables, now = environment.at(cast(tuple[bytes | None, int], snapshot.read(HEAD)))
    moment = environment.moment(now, caller, bytes(ENTROPY_BYTES), asks_admission=True)
    steps = begin(operation, request, moment, tables)
    reply: Any = None
    has_asked = False
    try:
        while True:
            read = steps.send(reply)
            if type(read) is Admit:
                has_asked = True
                reply = [_limit(read, kind)]
                if environment.meter is not None:
                    environment.meter.refuse(read, reply)
            else:
                reply = snapshot.read(read)
    except StopIteration as end:
        decision: Decision = end.value
    if not has_asked:
        return None
    transition.derive(decision, now)  # fills in the receipt, on which the response may depend
    return encode(decision.response())


def _limit(asked: Admit, kind: str | None) -> Limit:
    """The limit of the table, or of the global index that is read."""
    table, source = asked.table, asked.source
    index = source if isinstance(source, Index) and not source.local else None
    usual = "KeyRangeThroughput" if table.on_demand else "ProvisionedThroughput"
    return Limit(table, index, asked.written, kind or usual)
