"""A snapshot of a synchronous store, with the tables and the time for answering requests."""

from typing import Any

from hashrange import kv
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Admit, Moment
from hashrange.metering.account import Account
from hashrange.metering.meter import Meter
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.runtime.decisions import Steps, begin, within_cost
from hashrange.runtime.ending import charged, encode, refused
from hashrange.runtime.environment import HEAD, Environment
from hashrange.runtime.source import Source


class ReadSnapshot:
    """A snapshot, its tables, and a time that is not earlier than any time stored in it.

    It serves one request after another. `source` answers their reads: it is the snapshot itself or,
    if the meter has to admit requests, this object.
    """

    __slots__ = (
        *("_lagging", "_meter", "_payer", "_settings", "_views"),
        *("now", "snapshot", "source", "tables"),
    )

    def __init__(self, snapshot: kv.Snapshot, environment: Environment) -> None:
        self.snapshot = snapshot
        self._settings = environment.settings
        self._views = environment.views
        self._meter = meter = environment.meter
        self._payer: Account | Meter | None = meter
        self._lagging = environment.lagging
        self.source: Source = self if meter is not None and meter.asks else snapshot
        self.tables, self.now = environment.at(snapshot.read(HEAD))  # type: ignore[arg-type]

    def begin(
        self, operation: Operation, request: Any, caller: Caller, weight: int = 0, body: bytes = b""
    ) -> Steps:
        """The steps that decide a request, not started yet.

        If `weight` is not 0, the steps raise Costly if the request would take too long (see
        `engine.cost`).
        """
        asks = self.source is self
        if asks and self._meter is not None:
            self._payer = self._meter.account(operation.name, caller, self.now)
        moment = Moment(
            self.now, b"", caller, self._settings, asks_admission=asks, views=self._views
        )
        steps = begin(operation, request, moment, self.tables)
        lagging = self._lagging
        if lagging is not None:
            steps = lagging.steps(operation, request, self.tables, steps, self.now)
        return within_cost(steps, weight, body) if weight else steps

    def read(self, read: Any) -> Any:
        """The answer to a read or to an `Admit`."""
        if type(read) is Admit:
            assert isinstance(self._payer, Account), "only a metered request may ask for limits"
            return self._payer.limits(read)
        return self.snapshot.read(read)

    def response(self, decision: Decision) -> bytes:
        """Charge the units of a decision over this snapshot, and return its response."""
        return charged(encode(decision.response()), decision.receipt, self._payer, self.now)

    def refusal(self, error: Exception) -> ApiError:
        """Charge the units of a refused request, and return the error for the caller."""
        return refused(error, self._payer, self.now)

    def close(self) -> None:
        self.snapshot.close()
