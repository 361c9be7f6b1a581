"""Starts the workers, replaces a worker that ends, and finally ends all workers.

The supervisor serves no client itself. It first starts one worker alone, which creates or upgrades
the file. If this worker cannot start, only one line with the reason is printed.
"""

import asyncio
import logging
import os
import signal
import sys
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from hashrange.server import logs
from hashrange.server.admin import AdminPort
from hashrange.server.admin.metrics import Counts
from hashrange.server.listener import Listener, ServerError
from hashrange.server.reload import Reload
from hashrange.server.workers import channel, totals, worker
from hashrange.server.workers.options import AdminListener, Options, admin_listener
from hashrange.server.workers.process import Process
from hashrange.server.workers.reports import ANSWER_SECONDS_MAX, Reports
from hashrange.server.workers.shared import Shared
from hashrange.server.workers.worker import Task

PAUSE_SECONDS_MIN = 0.2
PAUSE_SECONDS_MAX = 10.0
"""The longest pause before an ended worker is replaced. The pause doubles with each failure in a
row. A worker that ran for longer than this time is replaced at once."""

STARTS_MAX = 5
"""The number of failed starts in a row after which the server ends if no worker serves."""

LOOK_SECONDS = 1.0
SILENT_LOOKS_MAX = 10
"""The number of checks without a heartbeat after which a worker is killed, because it is stopped or
hangs. A turn of its event loop takes milliseconds, so even a worker that gets a hundredth of a
processor sends its heartbeats in time. The other workers wait up to thirty seconds for a write
lock, so a silent worker that holds it is replaced before their requests fail. Checks are counted
rather than seconds, because the supervisor, or the whole machine, may have been suspended too."""
START_LOOKS_MAX = 30
"""The number of checks after which a worker is killed if it has not sent its first heartbeat yet.
The first worker of a server has no limit unless the server is ending, because it may have to
upgrade a large file."""

_log = logging.getLogger("hashrange")


def supervise(options: Options) -> None:
    """Serve with several workers until SIGINT or SIGTERM."""
    shared = Shared.new(options.workers)
    logs.configure(options.log_format, options.access_log, lock=shared)
    options.check_volume()
    with ExitStack() as opened:
        listener = options.listener()
        opened.enter_context(listener.sock)
        admin = opened.enter_context(admin_listener(options))
        options.warn_of_no_auth(listener)
        supervisor = Supervisor(options, listener, shared)
        status = asyncio.run(supervisor.run(admin))
    sys.exit(status)


class Ended(NamedTuple):
    """The end of a worker: whether it had served requests, its exit status, and a text that
    explains the status."""

    served: bool
    status: int
    told: str


class Supervisor:
    """Keeps a worker running in each place. Call `run` only once. The supervisor is the `Owner` of
    the workers."""

    def __init__(self, options: Options, listener: Listener, shared: Shared) -> None:
        self._options = options
        self._listener = listener
        self._reloading = Reload(listener, options.files())
        self._shared = shared
        self._running: dict[int, Process] = {}
        self._past = Counts()
        """The counts of workers that have ended."""
        self._refusal = ""
        self._failed_starts = 0
        self._restarts = 0
        self._failed = False
        self._problem = ""

    async def run(self, admin: AdminListener | None) -> int:
        """Serve until a signal. Returns the exit status. Raises ServerError if workers can no
        longer be started."""
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        self._tried = [asyncio.Event() for _ in range(self._options.workers + 1)]
        self._take_signals()
        looking = asyncio.create_task(self._look())
        keepers = [asyncio.create_task(self._keep(1))]
        await self._tried[1].wait()
        if not self._ending.is_set():
            for number in range(2, self._options.workers + 1):
                keepers.append(asyncio.create_task(self._keep(number)))
            await self._greet(admin)
        await asyncio.gather(*keepers)
        looking.cancel()
        if self._problem:
            raise ServerError(self._problem)
        return int(self._failed)

    def served(self, process: Process, /) -> None:
        self._failed_starts = 0
        # The first worker has created the tables; a worker that replaces it must not create deleted
        # ones again.
        self._options = self._options._replace(tables=None)
        self._tried[process.number].set()

    def refuse(self, reason: str, /) -> None:
        """Stop all writes, in running workers and in workers that start later."""
        self._refusal = reason
        for process in self._running.values():
            process.tell((channel.REFUSE, reason))

    # ---- beginning and end ----

    def _take_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._end)
        if self._options.keys or self._options.tls_cert:
            self._loop.add_signal_handler(signal.SIGHUP, self._reload)

    async def _greet(self, admin: AdminListener | None) -> None:
        """Wait until every worker has started to serve, or has failed to start. Then open the admin
        port and print the greeting, unless the server is ending."""
        for tried in self._tried[1:]:
            await tried.wait()
        if self._ending.is_set():
            return
        greeting = [self._options.greeting(self._listener)]
        if admin:
            await self._open_admin_port(admin)
            greeting.append(admin.greeting)
        print(*greeting, sep="\n", flush=True)

    async def _open_admin_port(self, admin: AdminListener) -> None:
        routes = Reports(self._loop, self).routes()
        self._admin = AdminPort(admin.sock, admin.token, routes, self._listener.origins)
        await self._admin.start()

    def _end(self) -> None:
        """Accept no more connections, and let every worker answer the requests that it has
        begun."""
        self._ending.set()
        self._listener.sock.close()
        for process in self._running.values():
            process.popen.terminate()

    def _reload(self) -> None:
        """Read the keys once for all workers, so that all of them use the same keys."""
        self._reloading.read_keys()
        for process in self._running.values():
            process.tell((channel.RELOAD, self._reloading.credentials))

    # ---- one place ----

    async def _keep(self, number: int) -> None:
        """Keep a worker in this place until the server ends."""
        pause = 0.0
        while not self._ending.is_set():
            began = self._loop.time()
            ended = await self._one_life(number)
            if self._ending.is_set():
                self._failed |= ended.status not in (0, -signal.SIGTERM)
            elif not (ended.served or self._first_has_served()):
                self._give_up(ended)
            else:
                self._note_end(number, ended)
                if self._loop.time() - began > PAUSE_SECONDS_MAX:
                    pause = 0.0
                await self._rest(pause)
                pause = min(max(2 * pause, PAUSE_SECONDS_MIN), PAUSE_SECONDS_MAX)
            self._tried[number].set()
        self._tried[number].set()  # even if the server ends before the first start

    async def _one_life(self, number: int) -> "Ended":
        """Start a worker, and wait until it has ended."""
        try:
            process = await self._started(number)
        except OSError as error:  # the system cannot start another process
            return Ended(False, 0, f"could not be started: {error.strerror}")
        status = await process.ended()
        del self._running[number]
        self._shared.vacate(number)
        self._past = totals.summed([self._past, totals.lasting(process.counts)])
        return Ended(process.has_served, status, _told(status))

    async def _look(self) -> None:
        """Kill workers whose event loop does not run, so that new workers take their places."""
        silent: dict[Process, tuple[int, int]] = {}
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            silent = {
                process: self._looked_at(process, *silent.get(process, (0, 0)))
                for process in self._running.values()
            }

    def _looked_at(self, process: Process, before: int, looks: int) -> tuple[int, int]:
        """Check a worker, and kill it if it has been silent in too many checks.

        Returns the number of its last heartbeat, and the number of successive checks that have
        found no newer one. `before` and `looks` are the two numbers that the previous check
        returned.
        """
        beat = self._shared.last_beat(process.number)
        looks = looks + 1 if beat == before else 0
        if not beat and not (self._first_has_served() or self._ending.is_set()):
            looks = 0
        if looks == (SILENT_LOOKS_MAX if beat else START_LOOKS_MAX):
            seconds = looks * LOOK_SECONDS
            _log.error("worker %d has done nothing for %g seconds", process.number, seconds)
            process.popen.kill()
        return beat, looks

    def _first_has_served(self) -> bool:
        return self._tried[1].is_set()

    async def _started(self, number: int) -> Process:
        task = Task(
            number,
            self._options,
            self._listener.sock.fileno(),
            self._shared.descriptor,
            self._reloading.credentials,
            self._refusal,
        )
        process = await Process.start(task, self)
        self._running[number] = process
        if self._ending.is_set():
            process.popen.terminate()
        return process

    def _give_up(self, ended: "Ended") -> None:
        """End the server, because its first worker could not start. The worker has printed the
        reason, unless a signal ended it."""
        self._failed = True
        if ended.status <= 0:
            self._problem = f"the first worker {ended.told}"
        self._end()

    def _note_end(self, number: int, ended: "Ended") -> None:
        self._restarts += 1
        self._failed_starts += not ended.served
        told = f"worker {number} {ended.told}"
        if self._failed_starts >= STARTS_MAX and not self.serving():
            self._problem = f"{told}, and no other worker serves or can be started"
            self._end()
        else:
            _log.error("%s; another worker takes its place", told)

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()

    # ---- questions to all workers ----

    def serving(self) -> list[Process]:
        return [process for process in self._running.values() if process.serves]

    async def ask_all(self, question: str, argument: Any, seconds: float) -> list[Any]:
        """The answers of the workers that serve. If a worker does not answer in time, or sends an
        exception, its answer is the exception."""
        asked = (process.ask(question, argument, seconds) for process in self.serving())
        return await asyncio.gather(*asked, return_exceptions=True)

    async def counts(self) -> Counts:
        """The counts of all workers, including workers that have ended."""
        serving = self.serving()
        for process, counts in zip(
            serving, await self.ask_all(worker.METRICS, None, ANSWER_SECONDS_MAX), strict=True
        ):
            if isinstance(counts, Counts):
                process.counts = counts
        total = totals.summed([self._past, *(process.counts for process in serving)])
        total.figures |= totals.worker_figures(len(serving), self._restarts)
        total.figures.setdefault("ready", 0)
        return total

    def pids(self) -> list[int]:
        return [os.getpid(), *(process.popen.pid for process in self._running.values())]


def _told(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"has ended with status {status}"
