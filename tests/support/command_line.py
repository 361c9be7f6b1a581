"""The command line in this process: a process of its own would take most of a second to start."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from subprocess import CompletedProcess
from unittest.mock import patch

from hashrange.tools.cli import main


def command_line(*words: object) -> CompletedProcess[str]:
    """`hashrange WORDS`: its status, and what it prints."""
    line = ["hashrange", *map(str, words)]
    out, err, status = StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", line):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code, file=err)
    return CompletedProcess(line, status, out.getvalue(), err.getvalue())
