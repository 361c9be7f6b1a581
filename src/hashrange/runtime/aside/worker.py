"""Evaluates costly requests in a process of their own, which asks the parent for each read.

    parent -> worker    (BEGIN, number, (name, moment)), (GO_ON, number, answer) or
                        (DROP, number, None)
    worker -> parent    (READ, read), (RESULT, result) or (RAISED, error)

A message is its length in eight bytes, and then its pickled content. The body of a request follows
BEGIN in the same way, but not pickled, because pickling 16 MB would hold the parent's interpreter
lock. The worker sends exactly one answer to each message but DROP. So the parent decides which
request makes the next step. The worker ends when the parent ends it or dies. If it is stopped or
hangs, it is replaced (`watch`).
"""

import os
import pickle
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from itertools import count
from traceback import format_exception
from typing import Any, BinaryIO, cast

from msgspec.structs import replace

from hashrange.engine.fetch import NO_VIEWS, Moment
from hashrange.model.errors import ApiError
from hashrange.runtime.aside.evaluation import Evaluation, WorkerLost, evaluate
from hashrange.runtime.aside.watch import Watch
from hashrange.runtime.decisions import Proposal

BEGIN, GO_ON, DROP = "begin", "go on", "drop"
READ, RESULT, RAISED = "read", "result", "raised"

NICENESS = 10
"""The niceness of the worker, so that processes that serve requests get the processors first."""

_length = struct.Struct(">Q")

_LOST = (OSError, EOFError, ValueError)
"""The errors that pipes raise after their process has ended or been replaced."""


class WorkerFailed(Exception):
    """An internal error in the worker, with its traceback."""


def send(pipe: BinaryIO, message: Any, body: bytes | None = None) -> None:
    for content in (pickle.dumps(message, pickle.HIGHEST_PROTOCOL), body):
        if content is not None:
            pipe.write(_length.pack(len(content)))
            pipe.write(content)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read a message. Raises EOFError if the other process is gone."""
    return pickle.loads(_receive_bytes(pipe))


def _receive_bytes(pipe: BinaryIO) -> bytes:
    head = pipe.read(_length.size)
    if len(head) < _length.size:
        raise EOFError
    [length] = _length.unpack(head)
    content = pipe.read(length)
    if len(content) < length:
        raise EOFError
    return content


class Worker:
    """The worker process, as its parent sees it. Only one thread at a time may use it. The process
    is started when it is first needed."""

    elsewhere = True

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: Watch | None = None
        self._numbers = count()

    def begin(self, name: str, body: bytes, moment: Moment) -> Evaluation:
        number = next(self._numbers)
        process = self._started()
        sent = replace(moment, views=NO_VIEWS)  # a cache stays in its process
        kind, content = self._ask(process, (BEGIN, number, (name, sent)), body)
        try:
            while kind == READ:
                kind, content = self._ask(process, (GO_ON, number, (yield content)))
        except GeneratorExit:
            with suppress(*_LOST):
                send(cast(BinaryIO, process.stdin), (DROP, number, None))
            raise
        if kind == RAISED:
            raise content
        return cast(Proposal, content)

    def close(self) -> None:
        """End the process at once: it has no work that must be finished."""
        process, self._process = self._process, None
        if self._watch is not None:
            self._watch.close()
        if process is not None:
            process.kill()
            process.wait()
            with suppress(OSError):
                cast(BinaryIO, process.stdin).close()
            cast(BinaryIO, process.stdout).close()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            self._watch = Watch(self._process)
        return self._process

    def _ask(
        self, process: "subprocess.Popen[bytes]", message: Any, body: bytes | None = None
    ) -> tuple[str, Any]:
        watch = self._watch
        assert watch is not None
        watch.asked()
        try:
            send(cast(BinaryIO, process.stdin), message, body)
            answer: tuple[str, Any] = receive(cast(BinaryIO, process.stdout))
            return answer
        except _LOST as error:
            if self._process is process:
                self.close()
            raise WorkerLost from error
        finally:
            watch.answered()


# ---- the worker's side ----


def work(source: BinaryIO, sink: BinaryIO) -> None:
    """In the worker process: answer the parent's messages until the parent is gone."""
    evaluations: dict[int, Evaluation] = {}
    while True:
        try:
            kind, number, content = receive(source)
        except EOFError:
            return
        if kind == DROP:
            evaluations.pop(number).close()
            continue
        if kind == BEGIN:
            name, moment = content
            evaluations[number], content = evaluate(name, _receive_bytes(source), moment), None
        try:
            send(sink, (READ, evaluations[number].send(content)))
            continue
        except StopIteration as end:
            answer = (RESULT, end.value)
        except ApiError as refusal:
            answer = (RAISED, refusal.with_traceback(None))
        except Exception as error:
            answer = (RAISED, WorkerFailed("".join(format_exception(error))))
        del evaluations[number], content
        send(sink, answer)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the worker
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a stray print must not break the protocol
    work(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
