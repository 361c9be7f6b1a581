"""Reads a trace from a file, line by line, so that a long trace needs no more memory than a short
one."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import IO, Any, Protocol

import msgspec

from hashrange.metering.trace import VERSION, Ask, Definition, Event, Gone, Head, Note, Paid
from hashrange.model.settings import Settings
from hashrange.model.tables import Table

Line = Definition | Gone | Note | Event
LINE_BYTES_MAX = 64 * 1024 * 1024
UNITS_MAX = 1e9

_event = msgspec.json.Decoder(Event)
_head = msgspec.json.Decoder(Head)
_definition = msgspec.json.Decoder(Definition)
_gone = msgspec.json.Decoder(Gone)
_note = msgspec.json.Decoder(Note)


class TraceError(ValueError):
    """The trace or description cannot be used. The message is one line, which names the file and,
    if possible, the line."""


class Trace:
    """The head of a trace and its lines, which can be read repeatedly. Raises TraceError.

    If the last line was not written completely, it is left out, and `cut` is its number.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.seconds = 0.0
        self.cut: int | None = None
        with self._open() as file:
            self.head = self._head(file.readline(LINE_BYTES_MAX))
        try:
            settings_of(self.head)
        except (TypeError, ValueError) as error:
            raise self.error(1, str(error)) from None

    def lines(self) -> Iterator[tuple[int, Line]]:
        """Each line with its number."""
        with self._open() as file:
            file.readline(LINE_BYTES_MAX)
            yield from _Checked(self).lines(file)

    def error(self, number: int, text: str) -> TraceError:
        return TraceError(f"{self.path}, line {number}: {text}")

    def _open(self) -> IO[bytes]:
        try:
            return open(self.path, "rb", buffering=1 << 20)
        except OSError as error:
            raise TraceError(f"{self.path}: {error.strerror}") from None

    def _head(self, line: bytes) -> Head:
        try:
            version = msgspec.json.decode(line)["hashrange_trace"]
        except (msgspec.DecodeError, KeyError, TypeError, UnicodeDecodeError):
            raise TraceError(
                f"{self.path}: not a trace; hashrange serve --record FILE writes one"
            ) from None
        if version != VERSION:
            raise TraceError(
                f"{self.path}: a trace of version {version!r}; this program reads version {VERSION}"
            )
        try:
            return _head.decode(line)
        except msgspec.MsgspecError as error:
            raise self.error(1, str(error)) from None


def settings_of(head: Head, changed: Mapping[str, float] = MappingProxyType({})) -> Settings:
    """Settings for a meter that answers as the recording one did, except for the settings in
    `changed`."""
    limits: Any = {**head.settings, **changed}
    settings = Settings(throughput="enforced", **limits)
    settings.check()
    return settings


class _Checked:
    """Checks that the lines of a trace are possible: their times, partitions, spaces and units."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._spaces: dict[int, str] = {}
        self._latest = 0

    def lines(self, file: IO[bytes]) -> Iterator[tuple[int, Line]]:
        for number, text in enumerate(iter(lambda: file.readline(LINE_BYTES_MAX), b""), 2):
            try:
                line = self._line(number, text)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                if not text.endswith(b"\n") and not file.readline(1):
                    self._trace.cut = number
                    return
                raise self._trace.error(number, str(error)) from None
            yield number, line

    def _line(self, number: int, text: bytes) -> Line:
        if text.startswith(b"["):
            event = _event.decode(text)
            self._check(number, event)
            return event
        if text.startswith(b'{"gone"'):
            gone = _gone.decode(text)
            for space in gone.gone:
                self._spaces.pop(space, None)
            return gone
        if text.startswith(b'{"note"'):
            return _note.decode(text)
        definition = _definition.decode(text)
        self._define(number, definition.table)
        return definition

    def _define(self, number: int, table: Table) -> None:
        for source in (table, *table.indexes):
            starts = source.partition_starts
            if not starts or starts[0] != b"" or list(starts) != sorted(set(starts)):
                raise self._trace.error(number, f"the partitions of {table.name} are not valid")
            if self._spaces.get(source.space, table.name) != table.name:
                raise self._trace.error(number, f"two tables have the space {source.space}")
            self._spaces[source.space] = table.name

    def _check(self, number: int, event: Event) -> None:
        if event.time < self._latest:
            raise self._trace.error(
                number, f"the time goes backwards from {self._latest} to {event.time} microseconds"
            )
        self._latest = event.time
        each: Ask | Paid
        for each in (*event.asks, *(event.paid or ())):
            if each.space not in self._spaces:
                raise self._trace.error(
                    number, f"no table or index of the trace has the space {each.space}"
                )
            if not 0 <= each.units <= UNITS_MAX:
                raise self._trace.error(number, f"{each.units:g} is not a number of units")


class Load(Protocol):
    """A load that can be replayed repeatedly: a trace, or a description."""

    head: Head
    path: str
    seconds: float
    """The least duration of the load, even if its last request comes earlier."""

    def lines(self) -> Iterator[tuple[int, Line]]: ...
