"""The command line in this process: a process of its own would take most of a second to start."""

import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from subprocess import CompletedProcess
from unittest.mock import patch

from hashrange.tools.cli import main


def command_line(*words: object, given: str = "", **variables: str) -> CompletedProcess[str]:
    """`hashrange WORDS`: its status, and what it prints.

    It reads `given` from a pipe, and the variables are added to its environment.
    """
    line = ["hashrange", *map(str, words)]
    stdin, out, err = (_pipe(text) for text in (given, "", ""))
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


def _pipe(text: str) -> TextIOWrapper:
    return TextIOWrapper(BytesIO(text.encode()), encoding="utf-8", write_through=True)


def _printed(pipe: TextIOWrapper) -> str:
    pipe.seek(0)
    return pipe.read()
