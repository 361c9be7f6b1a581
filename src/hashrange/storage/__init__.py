"""The stores, which implement the interface in `hashrange.kv`. A store does not interpret its
rows.
"""

from typing import TYPE_CHECKING, Any

from hashrange.storage.memory import MemoryStore

if TYPE_CHECKING:
    from hashrange.storage.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]


def __getattr__(name: str) -> Any:
    # A program that stays in memory does not pay for loading SQLite.
    if name == "SqliteStore":
        from hashrange.storage.sqlite import SqliteStore

        return SqliteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
