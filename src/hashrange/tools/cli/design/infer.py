"""hashrange design infer: the model of an existing table, from a sample of its items."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from hashrange.failing import fail
from hashrange.tools.cli.design.model_files import add_endpoint, client, write_result

BAR_CHARS = 30


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--table", metavar="NAME", required=True, help="the table to read")
    parser.add_argument(
        "--sample",
        metavar="N",
        type=int,
        default=5000,
        help="read about this many items, from all parts of the table; default: 5000",
    )
    parser.add_argument(
        "--rate",
        metavar="UNITS",
        type=float,
        default=100.0,
        help="read at most this many capacity units a second; default: 100",
    )
    add_endpoint(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="default: stdout")


def infer(
    table: str,
    sample: int,
    rate: float,
    endpoint: str | None,
    region: str | None,
    output: Path | None,
) -> None:
    """Print, as Python source, a model that computes the keys of a table's items."""
    from hashrange.design import DesignError
    from hashrange.design.inference.infer import infer as inferred

    for option, value in (("--sample", sample), ("--rate", rate)):
        if not value > 0:
            fail(f"{option} must be above 0, not {value:g}")
    connection = client(endpoint, region)
    from botocore.exceptions import BotoCoreError, ClientError

    bar = _Bar(sample)
    try:
        model = inferred(connection, table, sample=sample, rate=rate, progress=bar.show)
    except (DesignError, BotoCoreError, ClientError) as error:
        bar.end()
        fail(error)
    bar.end()
    write_result(model.text, output)
    print(f"hashrange: {model}", file=sys.stderr)


class _Bar:
    """A progress bar on stderr, if that is a terminal."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.shown = sys.stderr.isatty()

    def show(self, count: int) -> None:
        full = BAR_CHARS * count // self.total
        bar = "#" * full + "-" * (BAR_CHARS - full)
        self._print(f"\r[{bar}] {count:,} of {self.total:,} items")

    def end(self) -> None:
        self._print("\r\x1b[K")

    def _print(self, text: str) -> None:
        if self.shown:
            print(text, end="", file=sys.stderr, flush=True)
