"""The decision of a request: its beginning, and how it is dropped or becomes a proposal.

A decision that costs too much is dropped. A decision becomes a proposal if it was made aside, or if
its batch may have to be decided again.
"""

from collections.abc import Generator, Hashable
from typing import Any, NamedTuple, Self, TypeVar

from msgspec import Struct

from hashrange import kv
from hashrange.engine import transition
from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.cost import UNITS_MAX, cost
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment, TableNamed, plain_name, usable
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.paging import bytes_of
from hashrange.runtime import authorisation
from hashrange.runtime.catalog import Tables, find_table
from hashrange.runtime.ending import encode, logger

T = TypeVar("T")
Steps = Generator[Any, Any, Decision]
"""A generator that decides a request step by step. It yields only reads of `kv` and, if requests
have to be admitted, `Admit`; it returns the decision."""


def begin(operation: Operation, request: Any, moment: Moment, tables: Tables) -> Steps:
    """The steps that decide a request, not started yet.

    The first steps refuse the request if the caller's principal may not make it.
    """
    principal = moment.caller.principal
    asks = principal is not None and not principal.full_access
    if not operation.on_table:
        decide = _permitted if asks else operation.decide
        arguments = (operation, request, moment) if asks else (request, moment)
        return with_tables(decide(*arguments), tables)
    table = tables.get(request.body.table_name)
    if table is None or asks or table.active_at > moment.now:
        return _on_table(operation, request, moment, tables)
    return operation.decide(request, table, moment)


def _permitted(operation: Operation, request: Any, moment: Moment) -> Decide:
    permitted = yield from authorisation.check(operation, request, moment)
    return (yield from operation.decide(permitted, moment))


def _on_table(operation: Operation, request: Any, moment: Moment, tables: Tables) -> Steps:
    table = yield from find_table(tables, plain_name(request.body.table_name))
    if moment.caller.principal is not None:
        authorisation.check_on_table(operation, request, table, moment)
    decision: Decision = yield from operation.decide(request, usable(table, moment), moment)
    return decision


def with_tables(decide: Generator[Any, Any, T], tables: Tables) -> Generator[Any, Any, T]:
    """The steps of `decide`, except for reads of table definitions. A definition is taken from the
    cache `tables` or, if it is not there, from the database."""
    reply: Any = None
    try:
        while True:
            read = decide.send(reply)
            if type(read) is TableNamed:
                reply = tables.get(read.name) or (yield from find_table(tables, read.name))
            else:
                reply = yield read
    except StopIteration as end:
        value: T = end.value
        return value


class Costly(Exception):
    """Raised if the next step of a request would delay other requests too long (see
    `engine.cost`)."""


def within_cost(steps: Steps, weight: int, body: bytes) -> Steps:
    """The same steps, but they raise Costly if evaluating an answer would take too long. `weight`
    and `body` are those of the request (see `engine.cost`)."""
    reply: Any = None
    try:
        while True:
            reply = yield steps.send(reply)
            if cost(weight, body, reply) > UNITS_MAX:
                raise Costly
    except StopIteration as end:
        decision: Decision = end.value
        return decision


class Suspended(NamedTuple):
    """A decision about a table, suspended after its first read until the answer is there.

    The read is timeless (see `is_timeless`), so the decision can continue at any time, as long as
    the catalog still has this `version`.
    """

    steps: Steps
    read: kv.Read
    version: bytes | None


def is_timeless(first: kv.Read | None) -> bool:
    """Whether a decision with this first read is the same at any later time.

    This is so if the first read is for rows of items. Only the check that the creation of a table
    has ended depends on the time, and a decision makes it before it reads items.
    """
    if type(first) is kv.Get:
        return kv.SYSTEM_SPACE not in dict(first.keys)
    return type(first) is kv.Range and first.space != kv.SYSTEM_SPACE


Reading = tuple[kv.Read, Any]
"""A read and its answer."""


class Proposal(Struct):
    """The result of a decision: its writes, and its response or error. It is valid as long as the
    decision's reads still have the same answers.

    `version` is the version of the catalog that the decision used, or None if the decision has read
    table definitions itself. A proposal that `changes_tables` cannot be committed: a batch has to
    make the decision again, because such changes need further work.
    """

    writes: list[kv.Write]
    response: bytes | ApiError
    receipt: Receipt | Charge | None
    changes_tables: bool = False
    reads: list[Reading] = []
    version: Hashable = None

    def of(self, reads: list[Reading], version: Hashable) -> Self:
        """Set the reads of the decision and the catalog's version. Returns this proposal."""
        self.reads, self.version = reads, version
        return self

    @property
    def read_bytes(self) -> int:
        return sum([bytes_of(answer) for _, answer in self.reads])

    def holds(self, version: Hashable) -> Generator[kv.Read, Any, bool]:
        """Whether the reads of the decision still have the same answers. `version` is the present
        version of the catalog."""
        if self.version not in (None, version):
            return False
        for read, answer in self.reads:
            if (yield read) != answer:
                return False
        return True


def concluded(decision: Decision, now: float) -> tuple[list[kv.Write], bytes | ApiError]:
    """The writes of a decision, and its response. A refusal that writes has an error instead of a
    response."""
    writes = transition.derive(decision, now)
    if decision.note is not None:
        logger.warning("%s", decision.note)
    try:
        return writes, encode(decision.response())
    except ApiError as error:
        return writes, error.with_traceback(None)
