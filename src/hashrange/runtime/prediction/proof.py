"""Proves a replay: checks that the meter answers each request as it did in the recording."""

from collections import OrderedDict
from typing import Any

from msgspec import Struct

from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.fetch import Admit
from hashrange.metering.meter import Meter
from hashrange.metering.trace import SECOND, Definition, Event, Gone, Paid, limit_places
from hashrange.model.tables import Index, Table
from hashrange.runtime.prediction.reading import Trace, TraceError, settings_of

OPEN_MAX = 10_000
"""The largest number of requests under way whose answers are expected."""


class Proof(Struct):
    """The result of comparing a replay with its recording. `difference` describes the first answer
    that differs; None if all are equal."""

    asks: int = 0
    refusals: int = 0
    differences: int = 0
    difference: str | None = None


def prove(trace: Trace) -> Proof:
    """Replay all recorded attempts, with the recorded tables. Raises TraceError if the trace cannot
    be proved."""
    if trace.head.throughput != "enforced":
        raise TraceError(
            f"{trace.path}: nothing was refused during the recording, because throughput was "
            "measured, not enforced"
        )
    if trace.head.keys != "exact":
        raise TraceError(
            f"{trace.path}: the trace has no keys; record the load with --record-keys exact"
        )
    replayed = _Replayed(trace)
    for number, line in trace.lines():
        if type(line) is Event:
            replayed.send(number, line)
        elif type(line) is Definition:
            replayed.define(line.table)
        elif type(line) is Gone:
            replayed.meter.redefine(None, line.gone)
    return replayed.proof


class _Replayed:
    def __init__(self, trace: Trace) -> None:
        self.meter = Meter(settings_of(trace.head), seed=trace.head.seed)
        self.proof = Proof()
        self._trace = trace
        self._places: dict[int, tuple[Table, Table | Index]] = {}
        self._expected: OrderedDict[int, Any] = OrderedDict()  # by the ids of requests

    def define(self, table: Table) -> None:
        self.meter.redefine(table, ())
        self._places[table.space] = (table, table)
        self._places |= {index.space: (table, index) for index in table.indexes}

    def send(self, number: int, event: Event) -> None:
        now, proof = self._trace.head.started + event.time / SECOND, self.proof
        expected = self._expected.setdefault(event.id, {})
        for ask in event.asks:
            table, source = self._places[ask.space]
            asked = Admit(table, source, ask.key, ask.written, ask.units, ask.raw)
            limits = limit_places(self.meter.limits(asked, expected, now))
            proof.asks += 1
            proof.refusals += bool(ask.refused)
            if limits != ask.refused:
                proof.differences += 1
                proof.difference = proof.difference or (
                    f"{self._trace.path}, line {number}: refused in the recording: {ask.refused}, "
                    f"in the replay: {limits}"
                )
        if event.paid is not None:
            del self._expected[event.id]
            if event.paid:
                self.meter.charge(Receipt(False, [self._charge(each) for each in event.paid]), now)
        elif len(self._expected) > OPEN_MAX:
            self._expected.popitem(last=False)

    def _charge(self, paid: Paid) -> Charge:
        table, source = self._places[paid.space]
        index = source if isinstance(source, Index) else None
        return Charge(table, index, paid.key, paid.units, paid.written, paid.raw)
