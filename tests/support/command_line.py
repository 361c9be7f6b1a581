"""The command line in this process: a process of its own would take most of a second to start."""

import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from subprocess import CompletedProcess
from unittest.mock import patch

from hashrange.tools.cli import main


def command_line(
    *words: object, given: str | bytes = "", terminal: bool = False, **variables: str
) -> CompletedProcess[str]:
    """`hashrange WORDS`: its status, and what it prints.

    It reads `given` from a pipe or, like a person at a `terminal`, types it there and reads there
    what is told. The variables are added to its environment. Printed bytes that are not UTF-8 are
    surrogates, as in names of files.
    """
    line = ["hashrange", *map(str, words)]
    content = given.encode() if isinstance(given, str) else given
    at_hand = Terminal if terminal else TextIOWrapper
    stdin, err = at_hand(BytesIO(content), "utf-8"), at_hand(BytesIO(), "utf-8")
    out = TextIOWrapper(BytesIO(), "utf-8")
    status = 0
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", line),
        patch.object(sys, "stdin", stdin),
        patch.dict(os.environ, variables),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code, file=err)
    return CompletedProcess(line, status, _printed(out), _printed(err))


class Terminal(TextIOWrapper):
    """Where a person sits, as far as a program can tell."""

    def isatty(self) -> bool:
        return True


def _printed(pipe: TextIOWrapper) -> str:
    pipe.flush()
    buffer = pipe.buffer
    assert isinstance(buffer, BytesIO)
    return buffer.getvalue().decode("utf-8", "surrogateescape")
