"""A worker, as the supervisor sees it: a process and a channel to it."""

import asyncio
import socket
import subprocess
import sys
from itertools import count
from typing import Any, Protocol, Self

from hashrange.server.admin.metrics import Counts
from hashrange.server.workers import channel, worker
from hashrange.server.workers.channel import Channel
from hashrange.server.workers.worker import Task


class NoAnswer(Exception):
    """A worker has ended, or has not answered in time."""


class Owner(Protocol):
    """Receives the messages of a worker."""

    def served(self, process: "Process", /) -> None:
        """Called when the worker accepts clients."""
        ...

    def refuse(self, reason: str, /) -> None:
        """Called when the worker has found damage: nothing may be written any more."""
        ...


class Process:
    """One worker from its start to its end."""

    def __init__(
        self, number: int, popen: "subprocess.Popen[bytes]", channel: Channel, owner: Owner
    ) -> None:
        self.number = number
        self.popen = popen
        self.serves = False
        self.has_served = False
        self.counts = Counts()
        """The worker's last answer to a request for metrics."""
        self._channel = channel
        self._owner = owner
        self._numbers = count()
        self._asked: dict[int, asyncio.Future[Any]] = {}

    @classmethod
    async def start(cls, task: Task, owner: Owner) -> Self:
        ours, theirs = socket.socketpair()
        with theirs:
            popen = subprocess.Popen(
                [sys.executable, "-m", worker.__name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), task.listening, task.shared),
                # Ctrl-C is for the supervisor, which ends the workers.
                process_group=0,
            )
        process = cls(task.number, popen, await Channel.over(ours), owner)
        process.tell(task)
        return process

    def tell(self, message: Any) -> None:
        self._channel.send(message)

    async def ask(self, question: str, argument: Any, seconds: float) -> Any:
        """The worker's answer to a question, within `seconds`. Raises NoAnswer. If the worker sends
        an exception instead of an answer, raises that exception."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self.tell((channel.ASK, number, question, argument))
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise NoAnswer(
                f"worker {self.number} has not answered for {seconds:g} seconds"
            ) from None
        finally:
            del self._asked[number]

    async def ended(self) -> int:
        """Listen to the worker until it ends. Returns its exit status, or minus its signal."""
        while message := await self._channel.receive():
            match message:
                case (channel.READY,):
                    self.serves = self.has_served = True
                    self._owner.served(self)
                case channel.ANSWER, number, answer if number in self._asked:
                    self._settle(self._asked[number], answer)
                case channel.REFUSE, reason:
                    self._owner.refuse(reason)
        self.serves = False
        self._channel.close()
        for asked in self._asked.values():
            self._settle(asked, NoAnswer(f"worker {self.number} has ended"))
        return await asyncio.to_thread(self.popen.wait)

    def _settle(self, asked: "asyncio.Future[Any]", answer: Any) -> None:
        if asked.done():
            return
        if isinstance(answer, BaseException):
            asked.set_exception(answer)
        else:
            asked.set_result(answer)
