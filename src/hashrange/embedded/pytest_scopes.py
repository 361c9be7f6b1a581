"""The database of one scope of pytest's fixtures, and the clients that use it.

boto3 is imported and its clients are created once for the whole run. They use the database that is
currently open, so each test costs only a new database.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import boto3

    from hashrange.access.generation import Access
    from hashrange.clients.calls import Runtime
    from hashrange.database.database import Database
    from hashrange.embedded.moved_clock import DatabaseClock

PREFIXES = {"function": "", "module": "module_", "session": "session_"}
"""Maps each scope to the prefix of its fixtures' names."""

_ENDS = {"function": "test", "module": "module", "session": "run"}


class Scope:
    """A scope of fixtures, with at most one open database at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.hostile = False
        self._clock: DatabaseClock | None = None

    @contextmanager
    def opened(self, node: Any) -> Iterator["Database"]:
        """Open an empty database with the settings, tables and time in the `hashrange` markers of
        `node`, which is a test, a module or the whole run."""
        options: dict[str, Any] = _hostile_settings() if self.hostile else {}
        for marker in reversed(list(node.iter_markers("hashrange"))):
            options |= _options(marker)
        tables, freeze = options.pop("tables", ()), options.pop("freeze", None)
        self._clock = _clock(options)
        with self._clock.database as database:
            try:
                if freeze is not None:
                    self._clock.freeze(freeze)
                for name in (tables,) if isinstance(tables, str | Path) else tables:
                    _create_tables(database, node.path.parent / name)
                yield database
            finally:
                self._clock = None

    @property
    def clock(self) -> "DatabaseClock":
        if self._clock is None:
            raise RuntimeError(
                f"this {PREFIXES[self._name]}hashrange_client has no database: the "
                f"{_ENDS[self._name]} that asked for it has ended"
            )
        return self._clock

    @property
    def database(self) -> "Database":
        return self.clock.database

    @property
    def runtime(self) -> "Runtime":
        return self.database.runtime

    @property
    def access(self) -> "Access | None":
        return self.database.access

    @cached_property
    def boto3_session(self) -> "boto3.Session":
        with _installed_by("hashrange[boto3]"):
            from hashrange.clients.boto import boto3_session
        return boto3_session(self, retry=self.hostile)

    @cached_property
    def client(self) -> Any:
        return self.boto3_session.client("dynamodb")

    @cached_property
    def resource(self) -> Any:
        return self.boto3_session.resource("dynamodb")

    @cached_property
    def async_client(self) -> Any:
        with _installed_by("aiobotocore"):
            from hashrange.clients.aioboto import async_client
        return async_client(self)


@contextmanager
def _installed_by(package: str) -> Iterator[None]:
    """A context that fails the test with one line if a library is not installed.

    The line tells the user to install `package`.
    """
    try:
        yield
    except ModuleNotFoundError:
        line = f"the fixture needs a library that is not installed: pip install '{package}'"
        raise pytest.fail.Exception(line, pytrace=False) from None


def _hostile_settings() -> dict[str, Any]:
    """Settings under which stale reads, unprocessed batch members and throttling occur often.

    A marker can change each setting.
    """
    from hashrange.model.consistency import Eventual
    from hashrange.model.faults import Faults

    rates = {"unprocessed": 0.3, "throttle": 0.05}
    return {"consistency": Eventual(worst=True), "faults": Faults(rates=rates)}


def _options(marker: pytest.Mark) -> dict[str, Any]:
    if marker.args:
        pytest.fail(
            'the marker takes only keyword arguments: @pytest.mark.hashrange(tables="tables.json")',
            pytrace=False,
        )
    return dict(marker.kwargs)


def _clock(settings: dict[str, Any]) -> "DatabaseClock":
    from hashrange.embedded.moved_clock import DatabaseClock
    from hashrange.model.settings import Settings

    if unknown := settings.keys() - set(Settings._fields):
        pytest.fail(
            f"@pytest.mark.hashrange does not take {', '.join(sorted(unknown))}; it takes "
            f"{', '.join(('tables', 'freeze', *Settings._fields))}",
            pytrace=False,
        )
    return DatabaseClock(Settings(**settings))


def _create_tables(database: "Database", path: Path) -> None:
    """Create the tables of a file. It has one CreateTable request in JSON, or a list of them."""
    try:
        requests = json.loads(path.read_bytes())
        for request in requests if isinstance(requests, list) else [requests]:
            database.execute("CreateTable", request)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        pytest.fail(f"@pytest.mark.hashrange(tables=...): {path}: {reason}", pytrace=False)
