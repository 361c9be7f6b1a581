"""The functions that triggers call: in a process of their own, or over HTTP.

A function is not trusted: it may fail, hang, end its process, or send an endless answer. The
methods of a `Function` may block, so call them through `called`, which limits their time.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillWaiting
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Thread
from time import monotonic
from typing import Any, BinaryIO, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from hashrange.model.caller import DEFAULT_REGION
from hashrange.server import VARIABLES_PREFIX
from hashrange.server.listener import ServerError
from hashrange.server.triggers import child
from hashrange.server.triggers.settings import Trigger

ANSWER_BYTES_MAX = 6 * 1024 * 1024
"""The largest answer of a function, the same as on Lambda."""
CONNECTING_SECONDS = 5.0
PIECE_BYTES = 64 * 1024
MESSAGE_LETTERS_MAX = 500
LOADING_SECONDS = 60.0
LOOK_SECONDS = 0.2
ABANDONING_SECONDS = 5.0

_LOST = (EOFError, OSError, ValueError, TypeError, RecursionError)
"""The exceptions of a pipe to a process that has ended or sends invalid answers."""

T = TypeVar("T")


class Failed(Exception):
    """The function failed; the message is one line."""


class NotReached(Failed):
    """The function was not called, because its address does not answer."""


class Abandoned(Exception):
    """The call was abandoned, because this process ends or another process has taken over."""


class Function(Protocol):
    def load(self) -> None:
        """Prepare the function for calls. Raises Failed."""

    def call(self, event: bytes) -> Any:
        """The function's answer, decoded. Raises Failed."""

    def abandon(self) -> None:
        """Make the running call fail soon. May be called from any thread."""

    def close(self) -> None: ...


def called(
    work: Callable[[], T],
    abandon: Callable[[], None],
    seconds: float,
    wanted: Callable[[], bool],
    abandoning_seconds: float = ABANDONING_SECONDS,
) -> T:
    """Run `work` in a thread, and return its result.

    Raises the exceptions of `work`, Failed after `seconds`, and Abandoned when `wanted()` returns
    False. In the last two cases, `abandon` is called to end the work.
    """
    end = monotonic() + seconds
    future: Future[T] = Future()
    Thread(target=_run, args=(work, future), name="hashrange-function", daemon=True).start()
    while True:
        try:
            return future.result(LOOK_SECONDS)
        except StillWaiting:
            if future.done():
                raise  # the work itself raised this error
        if wanted() and monotonic() < end:
            continue
        late = monotonic() >= end
        left = monotonic() + abandoning_seconds
        while (
            not future.done() and monotonic() < left
        ):  # after this time, unfinished work is abandoned
            abandon()
            with suppress(BaseException):
                future.result(LOOK_SECONDS)
        raise Failed(f"no answer within {seconds:g} s") if late else Abandoned


def _run(work: Callable[[], T], future: "Future[T]") -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)


class ChildFunction:
    """The function `module:handler`, in a child process that is started when it is first needed.

    After an error, the next call starts a new process, which imports the function again.
    """

    def __init__(self, name: str, seconds: float, environment: Mapping[str, str]) -> None:
        self._name = name
        self._seconds = seconds
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(VARIABLES_PREFIX)
        }
        self._environment = {**environment, **own}  # the server's own variables hold secrets
        self._process: subprocess.Popen[bytes] | None = None
        self._receiving = False

    def load(self) -> None:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", child.__name__, self._name, str(self._seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
            )
            self._receive(self._process)

    def call(self, event: bytes) -> Any:
        self.load()
        process = self._process
        assert process is not None
        with suppress(*_LOST):  # `_receive` reports it
            child.send(cast(BinaryIO, process.stdin), event)
        return self._receive(process)

    def abandon(self) -> None:
        if process := self._process:
            _kill(process)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _kill(process)
        process.wait()
        if not self._receiving:  # otherwise a child of the process still holds the pipe open
            with suppress(OSError):
                cast(BinaryIO, process.stdin).close()
            cast(BinaryIO, process.stdout).close()
        self._receiving = False

    def _receive(self, process: "subprocess.Popen[bytes]") -> Any:
        """The content of the child's next answer. Raises Failed if the function failed, the answer
        is too long, or the process has ended."""
        self._receiving = True
        try:
            answer = child.receive(cast(BinaryIO, process.stdout), ANSWER_BYTES_MAX)
            self._receiving = False
            succeeded, content = json.loads(answer)
            if succeeded:
                return content
            raise Failed(one_line(content))
        except child.TooLong:
            self._receiving = False
            raise Failed(TOO_LONG) from None
        except _LOST:
            self._receiving = False
            _kill(process)
            raise Failed(f"its process ended with status {process.wait()}") from None


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process and the processes that it has started."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class HttpFunction:
    """A function at an address that accepts events like Lambda's Invoke API.

    Redirects are not followed, and proxy settings of the environment are ignored.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self._parts = urlsplit(url)
        self._seconds = seconds
        self._socket: socket.socket | None = None

    def load(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def call(self, event: bytes) -> Any:
        connection = self._connected()
        query = f"?{self._parts.query}" if self._parts.query else ""
        headers = {"Content-Type": "application/json", "X-Amz-Invocation-Type": "RequestResponse"}
        try:
            connection.request("POST", (self._parts.path or "/") + query, event, headers)
            answer = connection.getresponse()
            content = answer.read(ANSWER_BYTES_MAX + 1)
        except (OSError, HTTPException) as error:
            raise Failed(one_line(f"{type(error).__name__}: {error}")) from None
        finally:
            self._socket = None
            connection.close()
        if len(content) > ANSWER_BYTES_MAX:
            raise Failed(TOO_LONG)
        if answer.status != 200:
            shown = content[:MESSAGE_LETTERS_MAX].decode(errors="replace")
            raise Failed(one_line(f"HTTP status {answer.status}: {shown}"))
        return _decoded(content, answer.headers.get("X-Amz-Function-Error"))

    def abandon(self) -> None:
        if sock := self._socket:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _connected(self) -> HTTPConnection:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        assert self._parts.hostname
        connection = kind(self._parts.hostname, self._parts.port, timeout=CONNECTING_SECONDS)
        try:
            connection.connect()
        except OSError as error:
            raise NotReached(one_line(error)) from None
        assert connection.sock
        self._socket = connection.sock
        self._socket.settimeout(self._seconds)
        return connection


def _decoded(content: bytes, error: str | None) -> Any:
    try:
        answer = json.loads(content) if content.strip() else None
    except (ValueError, RecursionError):
        raise Failed("its answer is not JSON") from None
    # Lambda's emulators answer the error of a function with status 200 and these members.
    if isinstance(answer, dict) and {"errorMessage", "errorType"} <= answer.keys():
        raise Failed(one_line(f"{answer['errorType']}: {answer['errorMessage']}"))
    if error:
        raise Failed(one_line(error))
    return answer


def one_line(text: object) -> str:
    """The text for the log: printable, and not too long."""
    line = " ".join(str(text)[:MESSAGE_LETTERS_MAX].split())
    return "".join(letter if letter.isprintable() else "?" for letter in line)


TOO_LONG = f"its answer has more than {ANSWER_BYTES_MAX:,} bytes"


def function_of(trigger: Trigger, url: str) -> Function:
    """The function that a trigger calls. `url` becomes the endpoint of AWS's libraries in the
    function's process, unless the environment sets one. So a function does not call AWS by
    accident."""
    if trigger.is_url:
        return HttpFunction(trigger.function, trigger.timeout)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    environment = {
        **dict.fromkeys(("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"), url),
        **dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), region or DEFAULT_REGION),
    }
    return ChildFunction(trigger.function, trigger.timeout, environment)


def check_functions(triggers: Sequence[Trigger]) -> None:
    """Import the functions that run in child processes. Raises ServerError if one cannot be
    imported."""
    for trigger in triggers:
        function = function_of(trigger, "")
        try:
            called(function.load, function.abandon, LOADING_SECONDS, lambda: True)
        except Failed as error:
            raise ServerError(f"--trigger {trigger.name}: {error}") from None
        finally:
            function.close()
