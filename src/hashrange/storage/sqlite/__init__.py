"""The store in one SQLite file. docs/explanation/storage.md describes the file."""

from hashrange.storage.sqlite.alone import compact, restore
from hashrange.storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "compact", "restore"]
