"""Reads that take longer than one slice of time, before they begin and while they run."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hashrange.engine.decision import Decision
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.runtime.decisions import Costly
from hashrange.runtime.drive import SlicedDrive
from hashrange.runtime.ending import Done, Outcome
from hashrange.runtime.source import CountedSource
from hashrange.runtime.threaded.snapshot import ReadSnapshot


class LongRead(NamedTuple):
    """A read that is too long for one slice, before it begins. `asked` is the time of its
    arrival."""

    operation: Operation
    request: Any
    body: bytes
    caller: Caller
    done: Done
    asked: float
    costly: bool = False


class SlicedRead:
    """A read with its own snapshot. Call `step` until the read is over and its caller answered."""

    def __init__(
        self,
        drive: SlicedDrive[Decision],
        opened: ReadSnapshot,
        source: CountedSource,
        done: Done,
        leave: Callable[[], None],
        aside: Callable[[], None],
    ) -> None:
        self._aside = aside
        self._drive = drive
        self._opened = opened
        self._source = source
        self._done = done
        self._leave = leave

    @property
    def held_bytes(self) -> int:
        """The number of bytes that it has read, and keeps until its end."""
        return self._source.read_bytes

    def step(self) -> bool:
        """Returns whether the read has ended."""
        outcome: Outcome
        try:
            decision = self._drive.advance()
            if decision is None:
                return False
            outcome = self._opened.response(decision)
        except Costly:
            return self._go_aside()
        except Exception as error:
            outcome = self._opened.refusal(error)
        self.close()
        self._done(outcome)
        return True

    def _go_aside(self) -> bool:
        """Begin again aside; the read keeps its place among the long reads."""
        self._opened.close()
        try:
            self._aside()
        except ApiError as refusal:
            self._done(refusal)
        return True

    def close(self) -> None:
        """Give the snapshot back, and the place among the long reads."""
        try:
            self._opened.close()
        finally:
            self._leave()
