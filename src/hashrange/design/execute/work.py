"""The implementation of `db.transact`, which repeats a function until its transaction commits."""

import random
import time
from typing import Any, NamedTuple

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.errors import BadValue, ConditionFailed, Conflict
from hashrange.design.execute import batches
from hashrange.design.execute.reads.pattern_calls import BoundPattern, bind
from hashrange.design.execute.steps import Pause, Steps
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.transactions import (
    PendingWrites,
    TransactionRead,
    transact,
)
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.model.values import Item, equal

ATTEMPTS = 10
PAUSE, PAUSE_MAX = 0.01, 0.5
"""The longest pauses after the first and after later conflicts, in seconds.

The limit doubles with each conflict, from PAUSE to PAUSE_MAX.
"""


class Seen(NamedTuple):
    """An item as it was read. `raw` is None if the item did not exist."""

    entity: Entity
    key: Item
    raw: Item | None


class Work(PendingWrites):
    """The implementation of `st.Work`: the reads and writes of one call of the caller's function.

    After a conflict, the function is called again, with another `Work`.
    """

    def __init__(self, store: Any) -> None:
        super().__init__()
        self._store = store
        self.seen: dict[str, Seen] = {}

    def get(self, get: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._store._run(self._get(bind(get, args, kwargs)))

    def _get(self, bound: BoundPattern) -> Steps[Any]:
        core: StoreSteps = self._store._core
        if bound.builder.plan.operation != "GetItem" or bound.builder.model is not core.model:
            raise BadValue(
                f"{bound.call.pattern}: in `transact`, `get` can only read by the primary key, and "
                f"only from {core.model.name}, the table of this store"
            )
        key = bound.builder.key(bound.arguments)
        name = repr(sorted(key.items()))
        if name not in self.seen:
            started, took = time.perf_counter(), Explanation(str(bound.call.pattern), [])
            [raw] = yield from batches.get_all(core.model.name, [key], took, consistent=True)
            core.read(took, 0 if raw is None else 1, started)
            self.seen[name] = Seen(bound.entity, key, raw)
        read = TransactionRead(bound)
        read.load(self.seen[name].raw)
        return read.item


def finish(core: StoreSteps, work: Work, attempt: int) -> Steps[bool]:
    """Commit the writes of an attempt, and check that all items it read are unchanged.

    Returns False after a conflict, so that the caller tries again. Raises Conflict if the last
    attempt has a conflict too. An error of the client is raised at once, since DynamoDB may have
    carried out the transaction.
    """
    if not work.writes and len(work.seen) < 2:
        return True
    checks = [_check(core, seen) for seen in work.seen.values()]
    call = core.call("transact")
    try:
        core.wrote(call, (yield from call.counted(transact([core.writer], work, None, checks))))
    except ConditionFailed as error:
        lost = isinstance(error, Conflict) or (yield from _changed(core, work))
        if not lost:
            raise
        if attempt + 1 == ATTEMPTS:
            raise Conflict(
                f"in each of {ATTEMPTS} attempts, another program wrote the same items: {error}"
            ) from error
        yield Pause(random.uniform(0, min(PAUSE_MAX, PAUSE * 2**attempt)))
        return False
    return True


def _check(core: StoreSteps, seen: Seen) -> WriteAction:
    expression, conditions = core.writer.unchanged(seen.entity, seen.raw)
    parameters = {
        "TableName": core.model.name,
        "Key": seen.key,
        "ConditionExpression": " AND ".join(conditions),
        **expression.parameters(),
    }
    return WriteAction(
        "ConditionCheck", parameters, seen.key, holds=lambda stored: _same(seen, stored)
    )


def _changed(core: StoreSteps, work: Work) -> Steps[bool]:
    keys = [seen.key for seen in work.seen.values()]
    raws = yield from batches.get_all(core.model.name, keys, consistent=True)
    return not all(map(_same, work.seen.values(), raws))


def _same(seen: Seen, stored: Item | None) -> bool:
    if seen.raw is None or stored is None:
        return seen.raw is stored
    owned = seen.entity.owned_attributes
    before, now = ({n: v for n, v in raw.items() if n in owned} for raw in (seen.raw, stored))
    return equal({"M": before}, {"M": now})
