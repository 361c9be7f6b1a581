"""An index with one hot key: the measurements of all sensors under `entityType` = `Measurement`.

GSI4 of examples/sensors.py finds all items of a kind, and its partition key is the kind. So the
entries of all measurements are in one partition of the index, although the measurements are in many
partitions of the table.

Limits and load are a hundredth of DynamoDB's: a partition serves 10 write units a second, and 20
measurements arrive in a second.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from simulated import SMALL, Simulated

TABLE, INDEX = "sensor-management", "GSI4"
LOAD_SECONDS, MEASUREMENTS_PER_SECOND, ATTEMPTS_PER_SECOND = 20 * 60, 20, 30
SENSORS, SHARDS = 500, 16

Kind = Callable[[int], str | None]
"""Returns the `entityType` of the nth measurement; None leaves the item out of GSI4."""


def _one(_: int) -> str | None:
    return "Measurement"


def _sharded(number: int) -> str | None:
    return f"Measurement#{number % SHARDS}"


def _none(_: int) -> str | None:
    return None


DESIGNS: dict[str, Kind] = {
    "Measurement": _one,
    f"Measurement#0-{SHARDS - 1}": _sharded,
    "not in GSI4": _none,
}
"""The `entityType` of each design, by the design's name."""


@dataclass
class Run:
    """The load on one design.

    Measurements wait in a queue of the client, which sends up to 30 of them in a second. Refused
    measurements are sent again in the next second.
    """

    name: str
    load_seconds: int = LOAD_SECONDS
    units: tuple[float, float] | None = None
    """The write units that the table and GSI4 have consumed in all; None until the run is over."""
    written: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    """`written` and `refused` have the numbers of writes in each second."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Refusals by their reason and the ARN of the table or index that was short of units."""
    wait_seconds_max: int = 0

    def __post_init__(self) -> None:
        self._db = Simulated(**SMALL, index_backlog_units=10)
        indexes = {f"GSI{n}": (f"GSI{n}-pk", f"GSI{n}-sk") for n in (1, 2, 3)}
        self._db.create(TABLE, "pk", "sk", indexes={**indexes, INDEX: ("entityType",)})
        self._kind_of = DESIGNS[self.name]
        self._waiting: deque[int] = deque()

    @property
    def seconds(self) -> int:
        return len(self.written)

    @property
    def done(self) -> float:
        """The share of the measurements that has been written, from 0 to 1."""
        return sum(self.written) / (self.load_seconds * MEASUREMENTS_PER_SECOND)

    def steps(self) -> Iterator[None]:
        """Let one second pass in each step, until every measurement is written."""
        while self._waiting or self.seconds < self.load_seconds:
            self._step()
            yield
        [table] = self._db.inspect(TABLE)
        [index] = [each for each in table["indexes"] if each["name"] == INDEX]
        self.units = table["load"]["write_units"], index["load"]["write_units"]

    def _step(self) -> None:
        if self.seconds < self.load_seconds:
            first = self.seconds * MEASUREMENTS_PER_SECOND
            self._waiting.extend(range(first, first + MEASUREMENTS_PER_SECOND))
        attempts = min(ATTEMPTS_PER_SECOND, len(self._waiting))
        sent = [self._waiting.popleft() for _ in range(attempts)]
        refused = [number for number in sent if not self._write(number)]
        self._waiting.extendleft(reversed(refused))
        self.written.append(attempts - len(refused))
        self.refused.append(len(refused))
        self._db.wait(1)

    def _write(self, number: int) -> bool:
        """Put a measurement. Returns whether it was written."""
        refusal = self._db.refused("PutItem", self._request(number))
        if refusal:
            self.reasons[refusal["reason"], refusal["resource"]] += 1
            return False
        came = number // MEASUREMENTS_PER_SECOND
        self.wait_seconds_max = max(self.wait_seconds_max, self.seconds - came)
        return True

    def _request(self, number: int) -> dict[str, Any]:
        second, sensor = divmod(number, MEASUREMENTS_PER_SECOND)
        time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{sensor:06}"
        sensor_id = f"s-{number * 7 % SENSORS}"
        kind = self._kind_of(number)
        texts = {
            "pk": f"sensor#{sensor_id}#2026-11-21",
            "sk": time,
            "sensor_id": sensor_id,
            **({"entityType": kind} if kind else {}),
        }
        item = {name: {"S": text} for name, text in texts.items()}
        return {"TableName": TABLE, "Item": {**item, "value": {"N": str(18 + number % 50 / 10)}}}


@cache
def finished(name: str) -> Run:
    """A run of a design from its beginning to its end."""
    run = Run(name)
    for _ in run.steps():
        pass
    return run


def main() -> None:
    for name in DESIGNS:
        run = finished(name)
        print(f"{name}: {run.seconds} s, units {run.units}, refused {dict(run.reasons)}")


if __name__ == "__main__":
    main()
