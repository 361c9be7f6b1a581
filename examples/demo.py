"""`make demo`: a server on a SQLite file, sensor management on it, and its eight access patterns.

The server runs until Ctrl-C. With EXIT=1 in the environment, the demo ends after its report.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3_sensors as sensors
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from showing import Client, connect, console, measured

SERVE = (sys.executable, "-m", "hashrange", "serve")


@contextmanager
def server(path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a server for this file on a free port. Yields the server's URL and process."""
    command = (*SERVE, path, "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            urls = (re.search(r"http://\S+", line) for line in process.stdout)
            url = next(filter(None, urls), None)
            if url is None:
                sys.exit("The server did not start.")
            yield url.group(), process
        finally:
            process.terminate()


def load(client: Client, day: date, out: Console) -> None:
    total = sum(1 for _ in sensors.places()) + sum(1 for _ in sensors.measurements(day))
    columns = (
        TextColumn("  [bold]loading[/bold]"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("items in"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=out) as progress:
        task = progress.add_task("loading", total=total)
        for stored in sensors.load(client, day):
            progress.advance(task, stored)


def report(client: Client, url: str, path: Path, out: Console) -> None:
    """Create the table, load it, and show the access patterns."""
    day = date.today()
    indexes = "GSI1 to GSI3 (sparse), GSI4 (entityType)"
    out.print("\n[bold]Sensor management: one table, five kinds of items[/bold]\n")
    out.print(f"  [bold]server [/bold] {url}", highlight=False)
    out.print(f"  [bold]file   [/bold] {path}", highlight=False)
    out.print(f"  [bold]table  [/bold] {sensors.TABLE}: pk, sk; {indexes}", highlight=False)
    sensors.create(client)
    load(client, day, out)
    out.print()
    out.print(measured(client, sensors.patterns(day)))


def main() -> None:
    out = console()
    with TemporaryDirectory(prefix="hashrange-demo-") as folder:
        path = Path(folder) / "sensors.db"
        with server(path) as (url, process), suppress(KeyboardInterrupt):
            report(connect(url), url, path, out)
            if os.environ.get("EXIT"):
                return
            out.print("The server keeps running, for any AWS SDK and the AWS CLI:\n")
            out.print(f"  aws dynamodb list-tables --endpoint-url {url}", highlight=False)
            out.print(f'  boto3.client("dynamodb", endpoint_url="{url}")\n', highlight=False)
            out.print(
                "[dim]Use any credentials. Ctrl-C ends the server and deletes its file.[/dim]"
            )
            process.wait()


if __name__ == "__main__":
    main()
