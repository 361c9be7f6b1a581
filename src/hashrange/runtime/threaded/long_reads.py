"""Reads that may take longer than one slice of time."""

from collections.abc import Callable, Generator
from typing import Any

from msgspec import Struct

from hashrange import kv
from hashrange.engine.decision import Decision
from hashrange.model.caller import Caller
from hashrange.operations.operation import Operation
from hashrange.paging import bytes_of
from hashrange.runtime.decisions import Costly
from hashrange.runtime.drive import advance, sliced
from hashrange.runtime.ending import Done, Outcome
from hashrange.runtime.threaded.snapshot import ReadSnapshot


class LongRead(Struct, eq=False):
    """A read that waits for a place among the long reads, and then has its own snapshot.

    `weight` is the weight of the request (see `engine.cost`), and `asked` is the time when it
    arrived. A `costly` read is only queued here; it is decided aside.
    """

    operation: Operation
    request: Any
    body: bytes
    caller: Caller
    done: Done
    weight: int
    asked: float
    costly: bool = False
    _opened: ReadSnapshot | None = None
    _drive: Generator[None, None, Decision] | None = None
    held_bytes: int = 0
    """The number of bytes that the read has received so far. It keeps them until its end."""

    def begin(self, opened: ReadSnapshot, timer: Callable[[], float]) -> None:
        self._opened = opened
        steps = opened.begin(self.operation, self.request, self.caller, self.weight, self.body)
        self._drive = sliced(steps, self, timer)

    def read(self, read: kv.Read, /) -> kv.Answer:
        """Answer a read of the decision, and count the bytes of the answer."""
        assert self._opened is not None
        answer = self._opened.source.read(read)
        if isinstance(answer, kv.Page | list):  # and not the answer to `Admit`
            self.held_bytes += bytes_of(answer)
        return answer

    def step(self) -> Outcome | None:
        """Continue for a slice of time. Returns the outcome, or None if the read has not ended yet.
        Raises Costly."""
        assert self._opened is not None
        assert self._drive is not None
        try:
            decision = advance(self._drive)
            return None if decision is None else self._opened.response(decision)
        except Costly:
            raise
        except Exception as error:
            return self._opened.refusal(error)

    def close(self) -> None:
        """Close the snapshot."""
        opened, self._opened, self._drive = self._opened, None, None
        if opened is not None:
            opened.close()
