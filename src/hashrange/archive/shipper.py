"""Copies the log of a database file to its archive, in a thread, while requests are served.

Only one of the processes that use the file does this. Meanwhile, no other process moves pages from
the log into the file.
"""

import logging
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import NamedTuple

from hashrange import kv
from hashrange.archive.chain import Chain, Copying
from hashrange.archive.contents import Contents
from hashrange.archive.format import ArchiveError
from hashrange.archive.retention import delete_old
from hashrange.objects import ObjectError, Objects, Taken, Unreachable, probe
from hashrange.runtime.background import Background
from hashrange.storage.sqlite.tail import Frames, Gap, Tail

EVERY_SECONDS = 1.0
_COPY_BYTES_MIN = 64 << 20
_COPY_SECONDS = 86_400.0
_LOOK_SECONDS = 60.0
"""The interval at which the shipper checks whether another server has begun a generation."""

_log = logging.getLogger("hashrange")


class Limits(NamedTuple):
    """How long the archive and the log are kept.

    Every moment of the last `seconds` can be restored. While the object store cannot be reached,
    the log is kept for at most `log_seconds_max`, and only up to a size of `log_bytes_max`.
    """

    seconds: float = 35 * 86_400.0
    log_bytes_max: int = 10 << 30
    log_seconds_max: float = 86_400.0


class Shipper(Background):
    """The thread that copies the log to the archive. `now` returns the time of the database.

    If a failure makes it uncertain what is on the disk, nothing more may be written. The thread
    then calls `refuse` with the reason.
    """

    name = "hashrange-archive"

    def __init__(
        self,
        tail: Tail,
        objects: Objects,
        limits: Limits,
        now: Callable[[], float],
        refuse: Callable[[str], None],
    ) -> None:
        self._tail = tail
        self._objects = objects
        self._contents = Contents(objects)
        self._limits = limits
        self._now = now
        self._refuse = refuse
        self._probed = False
        self._chain: Chain | None = None
        self._copied: tuple[float, int] | None = None  # time and size of the last copy
        self._elected = False
        self._discards = ""  # the reason why the log is discarded before it is shipped
        self._ended = ""  # the reason why this process has stopped shipping for good
        self._complete_at = monotonic()
        self._look_at = 0.0
        self._failures = 0
        super().__init__()

    def check(self) -> None:
        """Check that objects can be stored. Raises `ObjectError`.

        An object store that cannot be reached is no error, because it may become reachable later.
        """
        try:
            probe(self._objects)
            self._probed = True
        except Unreachable as error:
            self._failed(error)

    def figures(self) -> dict[str, int]:
        if not self._elected:
            return {}
        return {
            "archive_lag_seconds": int(monotonic() - self._complete_at),
            "archive_failures": self._failures,
        }

    def run_once(self) -> bool:
        with self._stepping:
            self._elected = self._tail.elected()
            if self._elected:
                self._guarded_step()
        return False

    def work(self, announced: bool) -> float:
        self.run_once()
        return EVERY_SECONDS

    def retry_seconds(self) -> float:
        return EVERY_SECONDS

    def close(self) -> None:
        """Copy all commits to the archive, unless the object store cannot be reached, and stop."""
        super().close()
        if not self._failures:
            self.run_once()
        with self._stepping:
            self._tail.close()

    def before_fork(self) -> None:
        """Close the connections to SQLite, because a child process must not inherit them."""
        self._stepping.acquire()
        self._tail.pause()

    def after_fork_in_parent(self) -> None:
        self._stepping.release()

    def after_fork_in_child(self) -> None:
        self._stepping = Lock()
        self._tail.forget()
        super().after_fork_in_child()

    # ---- one step ----

    def _guarded_step(self) -> None:
        try:
            self._step()
        except Taken as error:
            self._end(f"another server archives to the same place: {error}")
        except (ObjectError, ArchiveError) as error:
            self._failed(error)
        except kv.ReadOnly as error:
            self._refuse(str(error))
            self._failed(error)
        except kv.StoreError as error:
            self._failed(error)
            self._tail.pause()
        else:
            if self._failures and not (self._discards or self._ended):
                _log.warning("the archive can be written again; failures: %d", self._failures)
                self._failures = 0

    def _step(self) -> None:
        if self._ended:
            self._discard()
            return
        try:
            if not self._probed:
                probe(self._objects)
                self._probed = True
            self._look_for_others()
            if self._chain is None or not self._tail.is_open:
                self._open()
            self._ship()
            self._move_pages()
            if self._copy_is_due():
                self._copy()
        except Gap as error:
            self._break_chain(str(error))

    def _open(self) -> None:
        """Continue at the end of the archive, or begin a new generation."""
        self._tail.pause()
        reason = self._discards or "the archive was empty"
        if self._chain is None and not self._discards:
            try:
                self._chain = self._found_chain()
            except ArchiveError as error:
                reason = f"the last generation cannot be continued: {error}"
        if self._chain is not None:
            try:
                self._tail.open(self._chain.position)
                return
            except Gap as error:
                reason = str(error)
                self._tail.pause()
        self._begin(reason)

    def _found_chain(self) -> Chain | None:
        generation = self._contents.last_generation()
        last = self._contents.last_segment(generation) if generation else None
        if last is None:
            return None
        snapshots = self._contents.snapshots(generation)
        chain = Chain(self._objects, generation, last)
        if snapshots:
            copied = snapshots[-1]
            self._copied = copied.time, copied.stored
            sizes = self._contents.segment_sizes(generation, copied.through)
            chain.stored = sum(size for _, size in sizes)
        return chain

    def _begin(self, reason: str) -> None:
        self._tail.open(None)
        self._chain = Chain.begun(self._objects, self._now(), reason)
        self._copied = None
        self._discards = ""
        _log.warning("generation %d of the archive begins: %s", self._chain.generation, reason)
        # A segment without frames: the copy of the file starts from it.
        self._chain.add(self._tail.nothing(), self._tail.page_bytes, self._now())
        self._chain.write()

    def _ship(self) -> None:
        chain = self._written_chain()
        began = monotonic()
        more = True
        while more:
            frames = self._tail.read()
            self._write(chain, frames)
            more = frames is not None and frames.more
        self._complete_at = began

    def _move_pages(self) -> None:
        if self._tail.checkpoint_is_due():
            self._checkpoint()
            # The chain breaks if the process ends before the archive knows the new log.
            self._ship()

    def _checkpoint(self) -> None:
        chain = self._written_chain()
        self._write(chain, self._tail.checkpoint())
        if self._tail.in_file == chain.position:
            chain.settle()

    def _write(self, chain: Chain, frames: Frames | None) -> None:
        if frames is not None:
            chain.add(frames, self._tail.page_bytes, self._now())
            chain.write()

    def _written_chain(self) -> Chain:
        assert self._chain is not None
        self._chain.write()
        return self._chain

    def _copy_is_due(self) -> bool:
        chain = self._chain
        assert chain is not None
        if self._copied is None:
            return True
        at, size = self._copied
        if chain.stored > max(_COPY_BYTES_MIN, size):
            return True
        return chain.stored > 0 and self._now() >= at + _COPY_SECONDS

    def _copy(self) -> None:
        self._checkpoint()  # so that the copy needs only a few segments
        copying = Copying(self._objects, self._written_chain(), self._tail)
        while copying.copy_part():
            if self.closing:
                return  # the next process begins again
            self._ship_if_due()
        self._ship()
        snapshot = copying.finish()
        self._copied = snapshot.time, snapshot.stored
        for _ in delete_old(self._contents, self._now(), self._limits.seconds):
            if self.closing:
                return
            self._ship_if_due()

    def _ship_if_due(self) -> None:
        """Copy the log to the archive if a second has passed. For regular calls during long
        work."""
        if monotonic() >= self._complete_at + EVERY_SECONDS:
            self._ship()
            self._move_pages()

    # ---- failures ----

    def _look_for_others(self) -> None:
        """Raise `Taken` if a later generation exists: another server has replaced this one."""
        if self._chain is not None and monotonic() >= self._look_at:
            self._look_at = monotonic() + _LOOK_SECONDS
            last = self._contents.last_generation()
            if last > self._chain.generation:
                raise Taken(f"generation {last} belongs to another server")

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            _log.error("the archive cannot be written; retrying: %s", error)
        if self._discards:
            self._discard()
        elif self._kept_too_much():
            self._break_chain("writing failed for so long that the log reached its limit")

    def _kept_too_much(self) -> bool:
        if monotonic() - self._complete_at > self._limits.log_seconds_max:
            return True
        return self._tail.log_bytes() > self._limits.log_bytes_max

    def _break_chain(self, reason: str) -> None:
        """Give up archiving the present log, while writes continue.

        Commits that have not been copied to the archive will be missing from it.
        """
        _log.error("commits that are not in the archive yet will never be restorable: %s", reason)
        self._chain = None
        self._discards = reason
        self._tail.pause()
        self._discard()

    def _end(self, reason: str) -> None:
        _log.error("nothing is archived until the server is restarted: %s", reason)
        self._failures += 1
        self._ended = reason
        self._chain = None
        self._discard()

    def _discard(self) -> None:
        """Let the log restart, although its end has not been copied to the archive."""
        try:
            if not self._tail.is_open:
                self._tail.open(None)
            self._tail.skip()
            if self._tail.checkpoint_is_due():
                self._tail.checkpoint()
        except (kv.StoreError, Gap) as error:
            self._tail.pause()
            _log.error("the log cannot be restarted; retrying: %s", error)
