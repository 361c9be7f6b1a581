"""The store in one SQLite file: see docs/explanation/storage.md for what is in it."""

from hashrange.storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
