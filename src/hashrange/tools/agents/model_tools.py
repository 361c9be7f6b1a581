"""What an agent may do with a model: the commands of `hashrange design`, on one file.

The user names the file when the server starts. The file is read again for each call, so that an
agent sees the effect of its changes. The file is a program, so it runs in a process of its own,
which is ended if it takes too long.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Timer

from hashrange.tools.agents.untrusted import cut
from hashrange.tools.shell.values import printable

SECONDS_MAX = 120
OUTPUT_BYTES_MAX = 256 * 1024


class ModelTools:
    """Each method is a tool: its docstring is what the agent reads."""

    def __init__(self, model: Path, seconds_max: float = SECONDS_MAX) -> None:
        self._model = model.absolute()
        self._seconds_max = seconds_max

    def tools(self) -> list[Callable[..., str]]:
        return [self.plan, self.lint, self.cost, self.prove]

    def plan(self) -> str:
        """Show which key or index serves each access pattern of the model."""
        return self._run("plan", "--format", "markdown")

    def lint(self) -> str:
        """Check the model against DynamoDB's rules: errors, warnings, and what they mean."""
        return self._run("lint")

    def cost(self) -> str:
        """Tell what the model consumes, stores and costs a month."""
        return self._run("cost")

    def prove(self, seed: int = 0) -> str:
        """Compare the results of all patterns on generated data with the expected results."""
        return self._run("prove", "--seed", str(seed))

    def _run(self, tool: str, *options: str) -> str:
        command = [sys.executable, "-m", "hashrange", "design", tool, *options]
        with subprocess.Popen(
            [*command, "--", str(self._model)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            timer = Timer(self._seconds_max, _end, [process])
            timer.start()
            try:
                assert process.stdout
                output = process.stdout.read(OUTPUT_BYTES_MAX + 1)
            finally:
                is_late = not timer.is_alive()
                timer.cancel()
                if is_late or len(output) > OUTPUT_BYTES_MAX:
                    _end(process)
        if is_late:
            return f"the model took longer than {self._seconds_max:g} s, and was ended"
        lines = output[:OUTPUT_BYTES_MAX].decode(errors="replace").splitlines()
        failed = [f"(exit status {process.returncode})"] if process.returncode else []
        return cut("\n".join((*map(printable, lines), *failed)))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process and the processes that it may have started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
