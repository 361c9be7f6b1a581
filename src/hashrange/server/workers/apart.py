"""A database for each access key and region, like DynamoDB Local without `-sharedDb`."""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from hashrange.clients.calls import Runtime, Turn
from hashrange.database.database import Database
from hashrange.model.caller import Caller
from hashrange.model.errors import LimitExceededException, UnrecognizedClientException
from hashrange.runtime.ending import Done

Open = Callable[[Path | None], "Database"]

DATABASES_MAX = 100
_is_name = re.compile(r"[A-Za-z0-9]{1,128}").fullmatch
_is_region = re.compile(r"[a-z0-9-]{1,32}").fullmatch


class Apart:
    """A runtime that hands each request to the database of its access key and region.

    A database is opened at its first request: as a file in `folder`, or in memory if `folder` is
    None.
    """

    def __init__(self, first: "Database", folder: Path | None, open: Open) -> None:
        self.operations = first.runtime.operations
        self._folder = folder
        self._open = open
        self._databases: dict[tuple[str, str], Database] = {}
        self._lock = Lock()

    def call(self, name: str, body: bytes, caller: Caller) -> bytes:
        return self._of(caller).call(name, body, caller)

    def submit(self, name: str, body: bytes, done: Done, caller: Caller, turn: Any = None) -> None:
        try:
            runtime = self._of(caller)
        except Exception as error:
            done(error)
        else:
            runtime.submit(name, body, done, caller, turn and turn.of(runtime))

    def turn(self) -> "ApartTurn":
        return ApartTurn()

    def close(self) -> None:
        while self._databases:
            self._databases.popitem()[1].close()

    def _of(self, caller: Caller) -> Runtime:
        """The runtime of the caller's database, which is opened at its first request. Raises
        ApiError if the database cannot be opened."""
        place = caller.access_key, caller.region
        with self._lock:
            if place not in self._databases:
                self._databases[place] = self._opened(*place)
            return self._databases[place].runtime

    def _opened(self, key: str, region: str) -> "Database":
        if not _is_name(key) or not _is_region(region):
            raise UnrecognizedClientException("The Access Key ID or security token is invalid.")
        if len(self._databases) == DATABASES_MAX:
            raise LimitExceededException(
                f"There are databases for {DATABASES_MAX} keys and regions already; use a key and "
                "region of one of them, or serve without --apart"
            )
        if self._folder is None:
            return self._open(None)
        # The digest distinguishes keys on file systems that ignore the case of letters.
        digest = sha256(f"{key}/{region}".encode()).hexdigest()[:8]
        return self._open(self._folder / f"hashrange-{key}-{region}-{digest}.db")


class ApartTurn:
    """The turns of all databases that receive requests in one turn of the event loop."""

    def __init__(self) -> None:
        self._turns: dict[int, Turn] = {}

    def of(self, runtime: Runtime) -> Turn:
        if id(runtime) not in self._turns:
            self._turns[id(runtime)] = runtime.turn()
        return self._turns[id(runtime)]

    def close(self) -> None:
        for turn in self._turns.values():
            turn.close()
