"""The process of a function. Run it with `python -m`, with MODULE:HANDLER and a time limit.

    parent -> child     an event, JSON
    child -> parent     [true, None] when the function has been imported, and for each event
                        [true, answer] or [false, error]

A message is sent as its length, in four bytes, followed by its content. The process ends when its
parent ends.
"""

import json
import os
import queue
import signal
import struct
import sys
import threading
import time
import traceback
from importlib import import_module
from typing import Any, BinaryIO
from uuid import uuid4

_length = struct.Struct(">I")


class TooLong(Exception):
    """A message is longer than the receiver accepts."""


def send(pipe: BinaryIO, message: bytes) -> None:
    pipe.write(_length.pack(len(message)) + message)
    pipe.flush()


def receive(pipe: BinaryIO, bytes_max: int = 1 << 32) -> bytes:
    """Read a message. Raises EOFError if the other process is gone, and TooLong."""
    head = pipe.read(_length.size)
    if len(head) < _length.size:
        raise EOFError
    [length] = _length.unpack(head)
    if length > bytes_max:
        raise TooLong
    message = pipe.read(length)
    if len(message) < length:
        raise EOFError
    return message


class Context:
    """The context that Lambda passes to a function with the event."""

    def __init__(self, name: str, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.aws_request_id = str(uuid4())
        self.function_name = name.replace(":", "-").replace(".", "-")
        self.function_version = "$LATEST"
        self.invoked_function_arn = (
            f"arn:aws:lambda:{os.environ.get('AWS_REGION', 'us-east-1')}:000000000000:function:"
            f"{self.function_name}"
        )
        self.memory_limit_in_mb = "128"
        self.log_group_name = f"/aws/lambda/{self.function_name}"
        self.log_stream_name = self.aws_request_id
        self.identity = None
        self.client_context = None

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._end - time.monotonic()) * 1000))


def _answer(call: Any, *arguments: Any) -> bytes:
    try:
        return json.dumps([True, call(*arguments)]).encode()
    except (Exception, SystemExit) as error:
        _print(error)
        return json.dumps([False, f"{type(error).__name__}: {error}"]).encode()


def _print(error: BaseException) -> None:
    """Print the part of the traceback that is in the user's files, or nothing if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    if any(frame.filename != __file__ and frame.filename[0] != "<" for frame in frames):
        traceback.print_exception(error)


def _listen(source: BinaryIO, events: "queue.SimpleQueue[bytes]") -> None:
    """Read events in a thread, so that the end of the parent is noticed while the function runs."""
    while True:
        try:
            events.put(receive(source))
        except EOFError:
            os._exit(0)


def main() -> None:
    name, seconds = sys.argv[1], float(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this one
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the function prints goes to the server's stderr
    source = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    events: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source, events), daemon=True).start()
    module, _, attribute = name.partition(":")
    functions = []

    def load() -> None:
        function = getattr(import_module(module), attribute)
        if not callable(function):
            raise TypeError(f"{name} cannot be called")
        functions.append(function)

    send(sink, _answer(load))
    while functions:
        event = json.loads(events.get())
        send(sink, _answer(functions[0], event, Context(name, seconds)))


if __name__ == "__main__":
    main()
