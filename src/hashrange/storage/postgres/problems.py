"""Converts errors of PostgreSQL, or of the connection to it, into errors of the waist with one
line.

No message contains a password: it names only the host, port and name of the database.
"""

from urllib.parse import parse_qs, urlsplit

import asyncpg

from hashrange.kv import Busy, Conflict, Full, Locked, ReadOnly, StoreError

CONFLICTS = frozenset({"40001", "40P01"})
"""The codes of a serialization failure and of a deadlock."""

_LATER = frozenset(
    {"53300", "57P01", "57P02", "57P03", "08000", "08001", "08003", "08004", "08006"}
)
"""The codes of a server that starts or stops, has no free connection, or cannot be reached."""

_WORDS: dict[str, tuple[type[StoreError], str]] = {
    "28000": (StoreError, "the server refuses this user"),
    "28P01": (StoreError, "the password is wrong, or none was given"),
    "3D000": (StoreError, "this database does not exist"),
    "42501": (StoreError, "the user lacks rights"),
    "25006": (ReadOnly, "the database is read-only"),
    "53100": (Full, "the disk of the server is full"),
    "53300": (Busy, "the server has no free connection"),
    "55P03": (Locked, "a lock was not released in time"),
    "57014": (Busy, "a statement took too long"),
}

LOST = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the connection is lost just as it begins a statement
    asyncpg.PostgresConnectionError,
)
"""The errors of a connection that is lost or could not be made."""

ERRORS = (*LOST, asyncpg.PostgresError)


def name_of(dsn: str) -> str:
    """The name of the database in messages: its host and name, never a user or password."""
    try:
        parts = urlsplit(dsn)
        host = parts.hostname or parse_qs(parts.query).get("host", [""])[0]
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "postgresql"
    return f"postgresql://{host if not host.startswith('/') else ''}{port}{parts.path}"


def is_lost(error: BaseException) -> bool:
    """Whether the error means that the connection is lost. In that case its transaction is not
    committed, unless COMMIT has been sent."""
    if isinstance(error, ValueError):  # a value that cannot be sent, or a wrong certificate
        return False
    if is_of_another_node(error):
        return False
    return isinstance(error, LOST) or _state(error) in _LATER


def is_of_another_node(error: BaseException) -> bool:
    """Whether the error means that the server has lost a connection to another node. The connection
    to the server itself is intact."""
    return _state(error)[:2] == "08" and getattr(error, "severity_en", "") == "ERROR"


def explain(error: BaseException, name: str) -> StoreError:
    if isinstance(error, StoreError):
        return error
    state = _state(error)
    if state in CONFLICTS:
        return Conflict("another transaction has locked or changed the same rows")
    if state in _WORDS:
        kind, words = _WORDS[state]
        return kind(f"{name}: {words} ({_line(error)})")
    if is_lost(error):
        return StoreError(f"{name}: the database cannot be reached ({_line(error)})")
    return StoreError(f"{name}: {_line(error)}")


def invalid_address(name: str) -> StoreError:
    """The error for an address that asyncpg cannot parse. It leaves out the text of asyncpg's
    error, which may show a part of the password."""
    return StoreError(
        f"{name}: the address is not valid; write it as postgresql://user@host:port/name"
    )


def _state(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""


def _line(error: BaseException) -> str:
    words = str(error).strip().split("\n")[0]
    return words or type(error).__name__
