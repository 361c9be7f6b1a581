"""Long reads on event loops: each turn of a loop runs a slice of one of its readings."""

from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable

from hashrange.engine.decision import Decide, Decision
from hashrange.model.errors import ApiError
from hashrange.runtime.batch import Outcome, internal_error
from hashrange.runtime.drive import SlicedDrive
from hashrange.runtime.view import View


class Reading:
    """One read: `step` until it is over, when `done` has been called with its outcome."""

    def __init__(
        self,
        decide: Decide,
        view: View,
        respond: Callable[[Decision], bytes],
        done: Callable[[Outcome], None],
    ) -> None:
        self._run = SlicedDrive(decide, view.snapshot, view.tables)
        self._view = view
        self._respond = respond
        self._done = done

    def step(self) -> bool:
        """Whether it is over."""
        outcome: Outcome
        try:
            decision = self._run.advance()
            if decision is None:
                return False
            outcome = self._respond(decision)
        except ApiError as error:
            outcome = error
        except Exception as error:
            outcome = internal_error(error)
        self.close()
        self._done(outcome)
        return True

    def close(self) -> None:
        self._view.close()


class Readings:
    """Those that wait for their next slice, by loop; they take turns."""

    def __init__(self) -> None:
        self._waiting: dict[AbstractEventLoop, deque[Reading]] = {}

    def add(self, reading: Reading, loop: AbstractEventLoop) -> None:
        """Called on the loop, as is whatever follows."""
        if loop not in self._waiting:
            self.forget_closed_loops()
            self._waiting[loop] = deque()
            loop.call_soon(self._turn, loop)
        self._waiting[loop].append(reading)

    def forget_closed_loops(self) -> None:
        """From any thread: nobody is left who could be told, and their snapshots are costly."""
        for loop in tuple(self._waiting):
            if loop.is_closed():
                for reading in self._waiting.pop(loop, ()):
                    reading.close()

    def _turn(self, loop: AbstractEventLoop) -> None:
        waiting = self._waiting[loop]
        reading = waiting.popleft()
        try:
            if not reading.step():
                waiting.append(reading)
        finally:
            if waiting:
                loop.call_soon(self._turn, loop)
            else:
                del self._waiting[loop]
