"""A worker, as the supervisor starts it: `python -m hashrange.server.workers.worker FD`.

It serves like a single process, on the socket that it inherits, and answers the supervisor's
questions. If the supervisor is gone, it ends as it would after SIGTERM.
"""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from hashrange.failing import told_in_one_line
from hashrange.server import logs
from hashrange.server.listener import Credentials
from hashrange.server.workers import channel
from hashrange.server.workers.alone import Service, opened_service
from hashrange.server.workers.channel import Channel, receive_first
from hashrange.server.workers.options import Options
from hashrange.server.workers.shared import Shared

METRICS, READINESS, INSPECTION, LIFE = "metrics", "readiness", "inspection", "life"
"""The questions that the supervisor asks a worker."""

BEAT_SECONDS = 1.0
"""The interval at which a worker reports that its event loop is running."""

_THREADS = 2


class Task(NamedTuple):
    """The first message to a worker. `listening` and `shared` are descriptors that the worker
    inherits."""

    number: int
    options: Options
    listening: int
    shared: int
    credentials: Credentials | None
    refusal: str
    """The reason to refuse all writes, if a worker has found damage; otherwise empty."""


def run(task: Task, control: socket.socket) -> None:
    options = task.options
    shared = Shared(task.shared, options.workers, task.number)
    logs.configure(options.log_format, options.access_log, task.number, shared)

    listener = options.listener(socket.socket(fileno=task.listening), task.credentials)
    with opened_service(options, listener, shared) as service:
        if task.refusal:
            service.database.runtime.refuse_writes(task.refusal)
        attendant = Attendant(control, service, shared)
        service.serve(attendant.ready, [attendant])
    shared.beat_no_more()


class Attendant:
    """Runs beside the server, and carries out the supervisor's requests."""

    def __init__(self, control: socket.socket, service: Service, shared: Shared) -> None:
        self._control = control
        self._shared = shared
        self._service = service
        self._answers: dict[str, Callable[[Any], Any]] = {INSPECTION: service.database.inspect}
        if monitor := service.monitor:
            self._answers[METRICS] = lambda _: monitor.metrics.counts()
            self._answers[READINESS] = lambda _: monitor.health.problem()
        self._threads = ThreadPoolExecutor(_THREADS, "hashrange-attendant")

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._channel = await Channel.over(self._control)
        self._service.database.on_damage(self._tell_damage)
        self._listening = self._loop.create_task(self._listen())
        self._beat()

    def ready(self) -> None:
        self._channel.send((channel.READY,))

    def stop(self) -> None:
        self._listening.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _beat(self) -> None:
        """Send heartbeats while the event loop runs, until the database has been closed."""
        self._shared.beat()
        self._loop.call_later(BEAT_SECONDS, self._beat)

    async def _listen(self) -> None:
        while message := await self._channel.receive():
            match message:
                case channel.ASK, number, question, argument:
                    self._answer(number, question, argument)
                case channel.RELOAD, generation:
                    self._service.reload.take(generation)
                    self._service.reload.read_certificate()
                case channel.REFUSE, reason:
                    self._service.database.runtime.refuse_writes(reason)
        signal.raise_signal(signal.SIGTERM)

    def _answer(self, number: int, question: str, argument: Any) -> None:
        if question == LIFE:  # an answer of the loop itself, which proves that it runs
            self._channel.send((channel.ANSWER, number, None))
            return
        answered = self._loop.run_in_executor(self._threads, self._answers[question], argument)
        answered.add_done_callback(lambda answer: self._reply(number, answer))

    def _reply(self, number: int, answer: "asyncio.Future[Any]") -> None:
        if not answer.cancelled():
            self._channel.send((channel.ANSWER, number, answer.exception() or answer.result()))

    def _tell_damage(self, reason: str) -> None:
        """Tell the supervisor that damage was found. Called in the thread that looks for damage."""
        self._loop.call_soon_threadsafe(self._channel.send, (channel.REFUSE, reason))


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    with told_in_one_line():
        run(receive_first(control), control)


if __name__ == "__main__":
    main()
