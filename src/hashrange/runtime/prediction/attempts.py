"""The first attempt of each request, with the consumption that it would have if it were admitted.

A scenario does not refuse the same requests as the recording, and nobody knows which refused
requests clients would send again. So each request is replayed once, at the time of its first
attempt. If this attempt was refused in the recording, its consumption is not known. It is assumed
to be that of a later attempt of the same invocation or, if no attempt was admitted, the average of
the same operation on the same table or index.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from hashrange.metering.trace import SECOND, Ask, Event, Paid
from hashrange.runtime.prediction.reading import Line

WAIT_MICROSECONDS = 60 * SECOND
WAITING_MAX = 100_000
"""The largest number of lines that are held back. A refused request is held back until one of its
attempts is admitted, until WAIT_MICROSECONDS have passed, or until there are too many lines."""


class Held(Struct, gc=False):
    """A line that waits until all lines before it have been passed on."""

    number: int
    line: Line
    incomplete: bool = False


class Assumed(Struct):
    """The number of requests, of later attempts (`retried`), and of requests whose consumption is
    assumed (`assumed`)."""

    requests: int = 0
    retried: int = 0
    assumed: int = 0


class Averages:
    """The average consumption of requests in each space, separately for each operation and for each
    space in which the requests ask for admission."""

    def __init__(self) -> None:
        self._paid: defaultdict[tuple[str, int], dict[int, list[float]]] = defaultdict(dict)
        self._count: defaultdict[tuple[str, int], int] = defaultdict(int)

    def note(self, event: Event) -> None:
        if len(event.asks) == 1 and event.paid:
            place = event.operation, event.asks[0].space
            self._count[place] += 1
            for paid in event.paid:
                total = self._paid[place].setdefault(paid.space, [0.0])
                total[0] += paid.units

    def paid(self, event: Event) -> list[Paid]:
        """The assumed consumption of a request whose attempts were all refused: the consumption of
        one attempt, if it had been admitted."""
        estimated = []
        for ask in event.asks:
            place = event.operation, ask.space
            count, totals = self._count.get(place, 0), self._paid.get(place, {})
            if not count:
                estimated.append(
                    Paid(ask.space, ask.key, ask.raw, ask.written, max(ask.units, 0.5))
                )
            for space, [total] in totals.items():
                raw = ask.raw if space == ask.space else b""  # the key of the entry is not known
                estimated.append(Paid(space, ask.key, raw, ask.written, total / count))
        return estimated


class FirstAttempts:
    """Passes on the lines of a load in their order, but omits later attempts of requests."""

    def __init__(self) -> None:
        self.counted = Assumed()
        self._held: deque[Held] = deque()
        self._open: dict[str | int, Held] = {}
        self._averages = Averages()

    def of(self, lines: Iterable[tuple[int, Line]]) -> Iterator[tuple[int, Line]]:
        for number, line in lines:
            if not isinstance(line, Event):
                self._held.append(Held(number, line))
            elif not self._joins(line):
                self._add(number, line)
            yield from self._ready(line.time if isinstance(line, Event) else None)
        yield from self._ready(None, all_of_them=True)

    def _joins(self, event: Event) -> bool:
        """Whether an event belongs to a request that began with an earlier line.

        If it does, its consumption is stored in the earlier line.
        """
        held = self._open.get(event.id)
        if held is None and event.attempt > 1:
            self.counted.retried += 1
            held = self._open.get(event.invocation)
            if held is None:
                return True  # its first attempt has been passed on, or was not recorded
        if held is None:
            return False
        first = held.line
        assert isinstance(first, Event)
        if event.id == first.id:
            first.asks += event.asks
        if event.paid is not None:
            asks = first.asks if event.id == first.id else event.asks or first.asks
            held.line = replace(first, asks=[_plain(ask) for ask in asks], paid=event.paid)
            held.incomplete = False
            self._forget(held)
        return True

    def _add(self, number: int, event: Event) -> None:
        self.counted.requests += 1
        held = Held(number, event, incomplete=event.paid is None)
        self._held.append(held)
        if held.incomplete:
            self._open[event.id] = held
            if event.invocation:
                self._open[event.invocation] = held
        else:
            self._averages.note(event)
            if any(ask.refused for ask in event.asks):
                held.line = replace(event, asks=[_plain(ask) for ask in event.asks])

    def _ready(self, now: int | None, all_of_them: bool = False) -> Iterator[tuple[int, Line]]:
        held = self._held
        while held:
            first = held[0]
            if first.incomplete and not all_of_them and len(held) < WAITING_MAX:
                assert isinstance(first.line, Event)
                if now is None or now < first.line.time + WAIT_MICROSECONDS:
                    return
            held.popleft()
            if first.incomplete:
                self._complete(first)
            yield first.number, first.line

    def _complete(self, held: Held) -> None:
        event = held.line
        assert isinstance(event, Event)
        self.counted.assumed += 1
        self._forget(held)
        asks = [_plain(ask) for ask in event.asks]
        held.line = replace(event, asks=asks, paid=self._averages.paid(event))

    def _forget(self, held: Held) -> None:
        event = held.line
        assert isinstance(event, Event)
        self._open.pop(event.id, None)
        self._open.pop(event.invocation, None)


def _plain(ask: Ask) -> Ask:
    return replace(ask, refused=[]) if ask.refused else ask
