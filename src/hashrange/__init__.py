"""hashrange: a DynamoDB-compatible database, in the process or as a server.

import hashrange

db = hashrange.connect("app.db")
client = db.boto3_session().client("dynamodb")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.database import (
        Database,
        Eventual,
        Faults,
        Settings,
        StoreError,
        connect,
        connect_async,
    )
    from hashrange.interfaces.mock import mock
    from hashrange.interfaces.serving import serve

__all__ = [
    "Database",
    "Eventual",
    "Faults",
    "Settings",
    "StoreError",
    "connect",
    "connect_async",
    "mock",
    "serve",
]


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: a program that only designs tables, or has only installed the
    # pytest plugin, does not pay for a database.
    if name == "mock":
        from hashrange.interfaces.failing import needing

        with needing("boto3"):
            from hashrange.interfaces.mock import mock

        return mock
    if name == "serve":
        from hashrange.interfaces.serving import serve

        return serve
    if name in __all__:
        from hashrange import database

        return getattr(database, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
