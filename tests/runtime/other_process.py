"""A second process on the same file, controlled by lines of JSON.

{"execute": [operation, request], "at": epoch seconds}   answers the response or the error
{"write": null}                                          writes in a thread until "stop"
{"stop": null}                                           answers what was acknowledged
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, takewhile
from threading import Event, Thread
from typing import Any

from running import Request, get

COLORS = ("red", "green", "blue")


class OtherProcess:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def execute(self, operation: str, request: Request) -> Request:
        response: Request = self.ask(execute=[operation, request])
        return response

    def upkeep(self, operation: str, request: Request) -> Request:
        response: Request = self.ask(upkeep=[operation, request])
        return response

    def ask(self, **command: Any) -> Any:
        """The answer to a command. Raises RuntimeError for an error of the API."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["response"]

    def kill(self) -> None:
        self._process.kill()


@contextmanager
def other_process(path: str) -> Iterator[OtherProcess]:
    command = [sys.executable, __file__, path]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield OtherProcess(process)
        finally:
            process.kill()


def colored(number: int) -> Request:
    """A write that moves one of 200 items to another color, or takes its color away."""
    request = get(str(number * 7 % 200))
    if number % 5 == 0:
        return request | {"UpdateExpression": "REMOVE color"}
    return request | {
        "UpdateExpression": "SET color = :color ADD n :one",
        "ExpressionAttributeValues": {":color": {"S": COLORS[number % 3]}, ":one": {"N": "1"}},
    }


class Writer(Thread):
    def __init__(self, database: Any) -> None:
        super().__init__(daemon=True)
        self.database = database
        self.stop = Event()
        self.acknowledged = 0
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            for number in takewhile(lambda _: not self.stop.is_set(), count()):
                self.write(number)
                self.acknowledged += 1
        except Exception as error:
            self.error = error

    def write(self, number: int) -> None:
        if number % 11 == 0:
            self.database.execute("DeleteItem", get(str(number % 200)))
        elif number % 11 == 1:
            actions = [{"Update": colored(number)}, {"Update": colored(number + 1)}]
            self.database.execute("TransactWriteItems", {"TransactItems": actions})
        else:
            self.database.execute("UpdateItem", colored(number))


def main(path: str) -> None:
    import hashrange
    from hashrange.model.errors import ApiError
    from hashrange.runtime.clock import Clock
    from hashrange.testing import TestClock

    wall = TestClock(0)
    database = hashrange.connect(path, durability="relaxed", clock=Clock(wall.now))
    writer = Writer(database)
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, Any]
        match command:
            case {"execute": [operation, request]}:
                wall.advance(command.get("at", 0) - wall.now())
                try:
                    answer = {"response": database.execute(operation, request)}
                except ApiError as error:
                    answer = {"error": error.code}
            case {"upkeep": [operation, request]}:
                body = database.runtime.call_upkeep(operation, json.dumps(request).encode())
                answer = {"response": json.loads(body)}
            case {"write": None}:
                writer.start()
                answer = {"response": None}
            case {"stop": None}:
                writer.stop.set()
                writer.join()
                answer = {"response": writer.acknowledged}
                if writer.error:
                    answer = {"error": repr(writer.error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
