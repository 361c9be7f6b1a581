"""Writers that depend on each other, and what a table must have that is restored to a moment.

Each writer counts in two items by transactions, then looks at the next writer's count and notes
both. So a state that lacks a commit, but has one that came after it, is found.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from threading import Event, Thread
from typing import Any

from backed_up import NAMED, RECOVERY, contents

WRITERS = 4
TICK_SECONDS = 0.003
"""Times are kept in milliseconds, rounded up; and two clocks are read."""
COUNTED: dict[str, Any] = {
    **NAMED,
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}

Ask = Callable[[str, dict[str, Any]], Any]


class NoAnswer(Exception):
    """It is not known whether the request was executed."""


def create(ask: Ask) -> None:
    ask("CreateTable", COUNTED)
    ask("UpdateContinuousBackups", {**NAMED, **RECOVERY})


class Counting(Thread):
    """`ask` raises NoAnswer if the server is gone; the same request is made again then."""

    def __init__(self, number: int, ask: Ask) -> None:
        super().__init__()
        self.number = number
        self._ask = ask
        self.stop = Event()
        self.begun: list[float] = []
        """When the request for each count was made first."""
        self.done: list[float] = []
        """When it was answered."""
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self._count()
        except BaseException as error:
            self.problem = error

    def _count(self) -> None:
        self.begun.append(time.time())
        count = {"count": {"N": str(len(self.begun))}}
        puts = [
            {"Put": {**NAMED, "Item": {"pk": {"S": f"{kind}{self.number}"}, **count}}}
            for kind in ("one", "two")
        ]
        self._insist("TransactWriteItems", {"TransactItems": puts})
        self.done.append(time.time())
        key = {"pk": {"S": f"one{(self.number + 1) % WRITERS}"}}
        next_ = self._insist("GetItem", {**NAMED, "Key": key, "ConsistentRead": True})
        seen = next_.get("Item", {"count": {"N": "0"}})["count"]
        note = {"pk": {"S": f"note{self.number}"}, **count, "seen": seen}
        self._insist("PutItem", {**NAMED, "Item": note})

    def _insist(self, operation: str, request: dict[str, Any]) -> Any:
        while True:
            with suppress(NoAnswer):
                return self._ask(operation, request)


def counting(asks: Sequence[Ask]) -> list[Counting]:
    """Writers that have begun, one for each of `asks`."""
    writers = [Counting(number, ask) for number, ask in enumerate(asks)]
    for writer in writers:
        writer.start()
    return writers


def ended(writers: Sequence[Counting]) -> None:
    for writer in writers:
        writer.stop.set()
    for writer in writers:
        writer.join()
        if writer.problem:
            raise writer.problem


def restore_some(ask: Ask, random: Random, since: float, count: int) -> dict[str, float]:
    """Begin restores to moments since a time. Returns the moments by the names of the tables."""
    moments = {}
    for _ in range(count):
        moment = round(random.uniform(since, time.time() - TICK_SECONDS), 3)
        name = f"then-{moment:.3f}-{random.randrange(1 << 32):08x}"
        names = {"SourceTableName": "source", "TargetTableName": name}
        ask("RestoreTableToPointInTime", {**names, "RestoreDateTime": moment})
        moments[name] = moment
    return moments


def check(database: Any, writers: Sequence[Counting], moments: dict[str, float]) -> None:
    for name, moment in moments.items():
        found = {item["pk"]["S"]: item for item in contents(database, name)}

        def number(key: str, member: str = "count", found: Any = found) -> int:
            return int(found[key][member]["N"]) if key in found else 0

        for writer in writers:
            me, told = writer.number, f"{name}: writer {writer.number}: {found}"
            count = number(f"one{me}")
            assert number(f"two{me}") == count, f"half a transaction: {told}"
            assert number(f"note{me}") in (count, count - 1), f"an effect without cause: {told}"
            seen = number(f"note{me}", "seen")
            assert seen <= number(f"one{(me + 1) % WRITERS}"), f"seen, but not there: {told}"
            least = sum(each < moment - TICK_SECONDS for each in writer.done)
            most = sum(each < moment + TICK_SECONDS for each in writer.begun)
            assert least <= count <= most, f"{count} is not within {least} and {most}: {told}"
