"""A database file with an archive, and what a restored file must be equal to."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import apsw

import hashrange
from hashrange import archive
from hashrange.archive import Contents, Restored
from hashrange.objects import open_objects
from hashrange.testing import TestClock

TABLE = "Things"


class Archived:
    """`app.db` in a folder, and its archive there or at another place."""

    def __init__(self, folder: Path, place: str | None = None) -> None:
        self.path = folder / "app.db"
        self.place = place or str(folder / "archive")
        self.clock = TestClock("2030-01-01")
        self._restored = 0

    @contextmanager
    def open(self, path: Path | None = None, **settings: Any) -> Iterator[hashrange.Database]:
        chosen = hashrange.Settings(archive=self.place, **settings)
        with hashrange.connect(path or self.path, clock=self.clock, settings=chosen) as database:
            create(database)
            yield database

    @cached_property
    def contents(self) -> Contents:
        return Contents(open_objects(self.place))

    def restore(self, at: float | None = None) -> tuple[Path, Restored]:
        """Into a new file. Nothing else may be left beside it."""
        self._restored += 1
        folder = self.path.parent / f"restored-{self._restored}"
        folder.mkdir()
        path = folder / "app.db"
        restored = archive.restore(self.contents.objects, str(path), at)
        assert [each.name for each in folder.iterdir()] == ["app.db"]
        return path, restored

    def restored_rows(self, at: float | None = None) -> list[Any]:
        return rows(self.restore(at)[0])

    def snapshots(self) -> list[str]:
        """Their names."""
        return [each.name for each in self.contents.objects.list("snapshots/")]

    def generations(self) -> int:
        return len(self.contents.generations())


def create(database: hashrange.Database) -> None:
    if TABLE not in database.execute("ListTables", {})["TableNames"]:
        database.execute(
            "CreateTable",
            {
                "TableName": TABLE,
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )


def put(database: hashrange.Database, key: object, text: str = "") -> None:
    item = {"pk": {"S": str(key)}, "text": {"S": text}}
    database.execute("PutItem", {"TableName": TABLE, "Item": item})


def keys(path: Path) -> set[str]:
    """The keys of the items, of a file that nobody uses."""
    with hashrange.connect(path) as database:
        assert list(database.check()) == []
        return {item["pk"]["S"] for item in database.execute("Scan", {"TableName": TABLE})["Items"]}


def rows(path: Path) -> list[Any]:
    """Everything that is in a file, whether it is in use or not."""
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
    with connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table'"
        ).fetchall()
        found = [
            (name, connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall())
            for (name,) in sorted(tables)
            if name != "sequence"
        ]
    connection.close()
    return found


def ship(database: hashrange.Database) -> None:
    """Everything that was committed before is in the archive afterwards, unless it fails."""
    database.run_upkeep()
