"""hashrange: a DynamoDB-compatible database, in the process or as a server.

import hashrange

db = hashrange.connect("app.db")
client = db.boto3_session().client("dynamodb")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.database.connecting import connect, connect_async
    from hashrange.database.database import Database
    from hashrange.embedded.mock import mock
    from hashrange.embedded.serving import serve
    from hashrange.kv import StoreError
    from hashrange.model.consistency import Eventual
    from hashrange.model.faults import Faults
    from hashrange.model.settings import Settings
    from hashrange.tools.record import record

_WHERE = {
    "Database": "database.database",
    "Eventual": "model.consistency",
    "Faults": "model.faults",
    "Settings": "model.settings",
    "StoreError": "kv",
    "connect": "database.connecting",
    "connect_async": "database.connecting",
    "mock": "embedded.mock",
    "record": "tools.record",
    "serve": "embedded.serving",
}

__all__ = [
    "Database",
    "Eventual",
    "Faults",
    "Settings",
    "StoreError",
    "connect",
    "connect_async",
    "mock",
    "record",
    "serve",
]


def __getattr__(name: str) -> Any:
    # Modules are imported at the first use of a name: a program that only designs tables, or has
    # only installed the pytest plugin, needs no database.
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from contextlib import nullcontext
    from importlib import import_module

    from hashrange.failing import needing

    with needing("boto3") if name == "mock" else nullcontext():
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
