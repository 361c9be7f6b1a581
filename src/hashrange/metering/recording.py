"""A meter that records the questions of requests and their charges, in order."""

import logging
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from msgspec import field

from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.metering.account import Account
from hashrange.metering.meter import NO_LIMITS, Meter
from hashrange.metering.trace import (
    SECOND,
    Ask,
    Event,
    Paid,
    TraceWriter,
    limit_places,
)
from hashrange.model.caller import Caller
from hashrange.model.settings import Settings
from hashrange.model.tables import Table

WHOLE = frozenset({"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"})
"""Operations on several items that are refused as a whole."""

_log = logging.getLogger("hashrange")


class Recorded(Account, gc=False):
    """The account of one attempt of a request. The trace gets the units for which the attempt asks
    to be admitted, and the units that it consumes."""

    id: int = 0
    operation: str = ""
    invocation: str = ""
    attempt: int = 1
    time: int = -1
    asks: list[Ask] = field(default_factory=list)
    """The questions about admission that have not been written to the trace yet."""

    def _ask(self, asked: Admit) -> Sequence[Limit]:
        assert isinstance(self.meter, RecordingMeter)
        return self.meter.ask(self, asked)

    def _pay(self, receipt: Receipt | Charge, now: float) -> None:
        assert isinstance(self.meter, RecordingMeter)
        self.meter.pay(self, receipt, now)


class RecordingMeter(Meter):
    """A meter that writes a trace. Operations ask it even if throughput is not enforced.

    It decides by the times that it writes to the trace: whole microseconds since the trace began.
    """

    def __init__(self, settings: Settings, wake_upkeep: Callable[[], None], writer: TraceWriter):
        super().__init__(settings, wake_upkeep)
        self.asks = True
        self._writer = writer
        self._recording = Lock()
        self._latest = 0  # microseconds
        self._number = 0
        self._open: Recorded | None = None  # its asks are to be written before anything else

    def account(self, operation: str, caller: Caller, now: float) -> Recorded:
        with self._recording:
            self._number += 1
            number = self._number
        fields = (operation, caller.invocation, caller.attempt)
        return Recorded(self, now, [], 0, {}, False, number, *fields)

    def ask(self, account: Recorded, asked: Admit) -> Sequence[Limit]:
        with self._recording:
            time, now = self._time(account.now)
            if self._open is not account or account.time != time:
                self._end_open()
                self._open, account.time = account, time
            self._define(asked.table)
            limits = NO_LIMITS
            if self.enforced:
                limits = super().limits(asked, account.expected, now)
            positions, space = self._writer.positions, asked.source.space
            key = positions.key(space, asked.key)
            raw = positions.raw(asked.raw)
            refused = limit_places(limits)
            account.asks.append(Ask(space, key, raw, asked.written, asked.units, refused))
            return limits

    def pay(self, account: Recorded, receipt: Receipt | Charge, now: float) -> None:
        with self._recording:
            time, now = self._time(now)
            if self._open is not account or account.time != time:
                self._end_open()
                account.time = time
            if not (receipt.charges or account.asks):
                return
            positions, paid = self._writer.positions, list[Paid]()
            for charge in receipt.charges:
                self._define(charge.table)
                space = (charge.index or charge.table).space
                key, raw = positions.key(space, charge.key), positions.raw(charge.raw)
                paid.append(Paid(space, key, raw, charge.written, charge.units))
            self._write(account, paid)
            self._open = None
            super().charge(receipt, now)

    def redefine(self, table: Table | None, gone: Iterable[int]) -> None:
        spaces = list(gone)
        with self._recording:
            self._end_open()
            self._writer.forget(spaces)
            super().redefine(table, spaces)

    def close(self, now: float) -> None:
        with self._recording:
            self._end_open()
            self._writer.close(now)
            if self._writer.problem:
                _log.error("the trace is not complete: %s", self._writer.problem)

    def _time(self, now: float) -> tuple[int, float]:
        """The time in microseconds since the trace began, and the same time in epoch seconds."""
        writer = self._writer
        writer.begin(now)
        assert writer.started is not None
        self._latest = max(self._latest, round((now - writer.started) * SECOND))
        return self._latest, writer.started + self._latest / SECOND

    def _define(self, table: Table) -> None:
        if not self._writer.knows(table):
            self._end_open()
            self._writer.define(table)

    def _end_open(self) -> None:
        """Write the questions that the open request has asked the meter, without a charge.

        The request was refused, or will be charged in a later line of the trace.
        """
        account = self._open
        self._open = None
        if account is not None and account.asks:
            self._write(account, None)

    def _write(self, account: Recorded, paid: list[Paid] | None) -> None:
        asks, account.asks = account.asks, []
        fields = (account.invocation, account.attempt, account.operation)
        whole = account.operation in WHOLE
        self._writer.add(Event(account.time, account.id, *fields, whole, asks, paid))


def meter_of(settings: Settings, wake_upkeep: Callable[[], None]) -> Meter | None:
    """The meter of one process; None if its settings do not need one. Raises StoreError."""
    if settings.throughput == "off":
        return None
    if settings.record is None:
        return Meter(settings, wake_upkeep)
    writer = TraceWriter(settings.record, settings.record_keys, settings)
    return RecordingMeter(settings, wake_upkeep, writer)
