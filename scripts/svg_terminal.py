"""Terminals as SVG: commands, and what they print."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

COLUMNS = 84
CHAR_WIDTH, LINE_HEIGHT, MARGIN, TITLE = 8.4, 20, 18, 30

_STYLE = """\
.back{fill:#12161c;stroke:#3a434e}.said{fill:#c3ccd6}.typed{fill:#ffffff;font-weight:600}
.prompt{fill:#74c983}.lamp{fill:#3a434e}
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:14px;white-space:pre}"""


def terminal(model: Path) -> str:
    """Lint and prove a model, start a server, and create the model's table there."""
    lines: list[tuple[str, str]] = []
    name = model.name
    with tempfile.TemporaryDirectory() as folder, _Serving(Path(folder) / "shop.db") as server:
        greeting, url = server

        def show(*typed: str) -> None:
            lines.append(("typed", f"hashrange {' '.join(typed)}"))
            real = [{name: str(model), URL: url}.get(word, word) for word in typed]
            lines.extend(("said", line) for line in _output(*real))

        show("design", "lint", name)
        show("design", "prove", name)
        lines.append(("typed", "hashrange serve shop.db &"))
        lines.append(("said", greeting))
        show("design", "create", name, URL)
    return screen([(kind, line) for kind, text in lines for line in _wrapped(kind, text)])


URL = "http://127.0.0.1:8000"
"""What the picture says; the server really has a free port."""

_ENVIRONMENT = {
    **os.environ,
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AWS_DEFAULT_REGION": "us-east-1",
}


class _Serving:
    """A server on a new file: its greeting, and its URL."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> tuple[str, str]:
        command = [sys.executable, "-m", "hashrange", "serve", str(self._path), "--port", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        greeting = self._process.stdout.readline().strip()
        url = re.search(r"http://[\d.:]+", greeting)
        assert url, greeting
        return greeting.replace(url[0], URL).replace(str(self._path), self._path.name), url[0]

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)


def _output(*arguments: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-m", "hashrange", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=_ENVIRONMENT,
    )
    return run.stdout.splitlines()


def _wrapped(kind: str, text: str) -> Iterator[str]:
    """As a terminal breaks it; a typed line has room for its prompt."""
    width = COLUMNS - 2 if kind == "typed" else COLUMNS
    for start in range(0, max(len(text), 1), width):
        yield text[start : start + width]


def screen(lines: Sequence[tuple[str, str]]) -> str:
    """Lines that were "typed" or "said", each of at most COLUMNS characters."""
    width = round(COLUMNS * CHAR_WIDTH + 2 * MARGIN)
    height = TITLE + LINE_HEIGHT * len(lines) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="A terminal">',
        f"<style>{_STYLE}</style>",
        f'<rect class="back" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        *(f'<circle class="lamp" cx="{MARGIN + 16 * n}" cy="16" r="5"/>' for n in range(3)),
    ]
    for number, (kind, line) in enumerate(lines):
        x, y = MARGIN, TITLE + LINE_HEIGHT * (number + 0.75)
        if kind == "typed":
            parts.append(_text("prompt", x, y, "$"))
            x += round(2 * CHAR_WIDTH)
        parts.append(_text(kind, x, y, line))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(kind: str, x: float, y: float, text: str) -> str:
    length = f"{len(text) * CHAR_WIDTH:.1f}"
    return f'<text class="{kind}" x="{x}" y="{y:g}" textLength="{length}">{escape(text)}</text>'
