"""`make demo-migrate`: the key of measurements changes while programs write and read them.

The table of sensors_by_day.py cannot answer one query: all measurements of a sensor on two or more
days. Here the table gets a key that serves this query, on a real server, while a program of the old
model writes and reads all the time. Every answer is checked.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
from sensors_by_day import Measurement, Measurements, Sensor
from sensors_by_day import table as by_day
from sensors_by_time import Readings
from sensors_by_time import table as by_time

from hashrange import design as st

SENSORS, HOURS = 5, int(os.environ.get("HOURS", "200"))
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
PHASES = ("dual", "backfill", "verify", "read-new", "new", "contracting")
MIGRATION = st.Migration(by_day, by_time, lease_seconds=0.2, signature_seconds=0)
"""The waits are short, because the server is local. For AWS, leave out both settings."""


@contextmanager
def server(folder: str) -> Iterator[str]:
    command = (sys.executable, "-m", "hashrange", "serve", str(Path(folder, "sensors.db")))
    with subprocess.Popen((*command, "--port", "0"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            urls = (re.search(r"http://\S+", line) for line in process.stdout)
            yield next(url for url in urls if url is not None).group()
        finally:
            process.terminate()


def client(url: str) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="example",
        aws_secret_access_key="example",
    )


class OldProgram(threading.Thread):
    """Writes a measurement and reads back its day, again and again, until the migration refuses."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.db = MIGRATION.open(Measurements, client(url))
        self.written = 0
        self.ended = ""
        self.wrong: list[str] = []

    def run(self) -> None:
        try:
            while True:
                at = FIRST + timedelta(hours=HOURS + self.written)
                self.db.create(Measurement(sensor_id="s-0", at=at, value=Decimal(self.written)))
                self.written += 1
                read = [one.value for one in self.db.of_day("s-0", at.date())]
                if Decimal(self.written - 1) not in read:
                    self.wrong.append(f"{at} is not in its day")
                time.sleep(0.005)
        except st.MigrationError as error:
            self.ended = str(error)


def load(db: Measurements) -> None:
    for number in range(SENSORS):
        db.put(Sensor(sensor_id=f"s-{number}", room_id="r-1"))
        with db.batch() as batch:
            for hour in range(HOURS):
                at = FIRST + timedelta(hours=hour)
                batch.put(Measurement(sensor_id=f"s-{number}", at=at, value=Decimal(hour)))


def main() -> int:
    with TemporaryDirectory() as folder, server(folder) as url:
        migrator = client(url)
        by_day.create(migrator)
        load(by_day.open(Measurements, migrator))
        program = OldProgram(url)
        program.start()
        print(f"{SENSORS * HOURS:,} measurements in one partition for each sensor and day")
        MIGRATION.start(migrator)
        for phase in PHASES:
            state = MIGRATION.advance(migrator)
            done = f", {state.items:,} items" if state.items else ""
            print(f"  {phase:<12}{program.written:>6,} written by the old program{done}")
        program.join()
        print(f"  the old program ends: {program.ended}")
        MIGRATION.finish(migrator)
        new = MIGRATION.open(Readings, client(url))
        wanted = (FIRST, FIRST + timedelta(days=9999))
        values = [one.value for one in new.between("s-0", wanted)]
        expected = [Decimal(n) for n in (*range(HOURS), *range(program.written))]
        print(f"  one query for all days of s-0: {len(values):,} measurements")
        wrong = program.wrong or values != expected
        print("  wrong answers" if wrong else "  every answer was right, and nothing is lost")
        return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
