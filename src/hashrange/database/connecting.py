"""The composition root: the only module that opens stores and creates databases over them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from hashrange import kv
from hashrange.database.addresses import kind_of, without_password
from hashrange.database.database import Database
from hashrange.kv import Durability, StoreError
from hashrange.model.caller import DEFAULT_REGION
from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.runtime.awaited.threads import in_thread, open_here, open_in_thread
from hashrange.runtime.clock import TimeSource
from hashrange.runtime.upgrade import bring_up_to_date_async


def compact(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Rewrite a database file without its unused space.

    Returns (size before, size after) in bytes. Raises `StoreError`, e.g. if another process has the
    file open.
    """
    from hashrange.storage.sqlite import compact as rewrite

    return rewrite(os.fsdecode(path))


def restore(
    backup: str | os.PathLike[str], path: str | os.PathLike[str], *, replace: bool = False
) -> None:
    """Verify a backup and copy it to the new file `path`.

    With `replace`, the file may exist, but must not be in use. Raises `StoreError`; in this case
    the file `path` is unchanged.
    """
    from hashrange.storage.sqlite import restore as put_back

    put_back(os.fsdecode(backup), os.fsdecode(path), replace)


def connect(
    path: str | bytes | os.PathLike[str] | None = None,
    *,
    durability: Durability = "full",
    clock: TimeSource | None = None,
    region: str = DEFAULT_REGION,
    settings: Settings = DEFAULT_SETTINGS,
) -> Database:
    """Open the database file `path`, or create it. Without a path, open a database in memory.

    A path that begins with postgresql:// names a PostgreSQL database, which other processes and
    machines may use at the same time: see docs/how-to/run-on-postgresql.md.

    With the `durability` "full", an acknowledged write survives a power cut. With "relaxed", it
    survives a killed process, but perhaps not a power cut. "memory" is like "relaxed", but a power
    cut may also damage the file. `clock` is any object whose `now()` returns epoch seconds; the
    default is the wall clock. `settings` has all other settings. Raises `StoreError` with one line
    that says what to do, and ValueError or TypeError for an invalid argument.
    """
    from hashrange import storage

    _check(durability, settings)
    dsn = None if path is None else _postgres_address(path)
    _check_archive(settings, is_file=path is not None and dsn is None)
    store: kv.Store
    if dsn is not None:
        store = open_in_thread(_open_postgres(dsn, durability))
    elif path is None:
        store = storage.MemoryStore()
        if settings.accept_unsupported is None:
            settings = settings._replace(accept_unsupported=True)
    elif os.fsdecode(path) == ":memory:":  # SQLite's name for a database in memory
        raise StoreError(":memory: is not a file; omit the path for a database in memory")
    else:
        archived = settings.archive is not None
        store = storage.SqliteStore(os.fsdecode(path), durability=durability, archived=archived)
    try:
        arguments: Any = {"clock": clock, "region": region}
        database = Database(store, **arguments, **_with_access(settings))
    except BaseException:
        store.close()
        raise
    if path is not None:
        database.start_upkeep()
    _employ_workers(database, settings)
    if settings.archive is not None and path is not None:
        try:
            _archive(database, os.fsdecode(path), durability, settings)
        except BaseException:
            database.close()
            raise
    return database


async def connect_async(
    path: str | bytes | os.PathLike[str] | None = None,
    *,
    durability: Durability = "full",
    clock: TimeSource | None = None,
    region: str = DEFAULT_REGION,
    settings: Settings = DEFAULT_SETTINGS,
) -> Database:
    """Like `connect`, on an event loop: `async with await connect_async(path) as database`.

    The connections to a PostgreSQL database belong to the running loop; on this loop, use
    `execute_async` and aiobotocore's clients. A file or a database in memory is opened in a thread,
    with the same result as from `connect`.
    """
    arguments: Any = {"clock": clock, "region": region, "settings": settings}
    dsn = None if path is None else _postgres_address(path)
    if dsn is None:
        return await in_thread(partial(connect, path, durability=durability, **arguments))
    _check(durability, settings)
    _check_archive(settings, is_file=False)
    store = await open_here(_open_postgres(dsn, durability))
    try:
        database = Database(store, clock=clock, region=region, **_with_access(settings))
    except BaseException:
        await store.store.close()
        raise
    database.start_upkeep()
    _employ_workers(database, settings)
    return database


async def distribute(dsn: str) -> list[str]:
    """Distribute a PostgreSQL database over the nodes of its Citus cluster, in place.

    Stop all servers of the database first. Returns one line for each action. Raises StoreError.
    """
    with _asyncpg_is_needed():
        from hashrange.storage.postgres.cluster import distribute
    return await distribute.distribute(dsn)


async def check_cluster(dsn: str) -> list[str]:
    """The problems of a database's Citus cluster, one line for each.

    Raises StoreError if the database at the address cannot be reached.
    """
    with _asyncpg_is_needed():
        from hashrange.storage.postgres.cluster import check as cluster_check
    return [line async for line in cluster_check.problems(dsn)]


async def make_restore_point(dsn: str, name: str) -> list[str]:
    """Write a restore point at each node of a database's Citus cluster. Returns one line for each
    node. Raises StoreError."""
    with _asyncpg_is_needed():
        from hashrange.storage.postgres.cluster import restore_point
    return await restore_point.make(dsn, name)


def _employ_workers(database: Database, settings: Settings) -> None:
    """Start the threads that work with Kinesis and with buckets, if the settings ask for these."""
    if settings.kinesis is not None:
        from hashrange.transfers import kinesis

        database.employ(kinesis.Deliveries(database.runtime, kinesis.sink_of(settings.kinesis)))
    if settings.objects is not None:
        from hashrange.transfers import bulk_puts, exporting, importing
        from hashrange.transfers.buckets import Buckets

        buckets = Buckets(settings.objects)
        database.employ(importing.Imports(database.runtime, buckets))
        database.employ(bulk_puts.BulkPuts(database.runtime, buckets))
        database.employ(exporting.Exports(database.runtime, buckets))


def _archive(database: Database, path: str, durability: Durability, settings: Settings) -> None:
    """Start to copy the log of the file to the archive. Raises `StoreError` if the archive cannot
    be used."""
    from hashrange import archive, objects
    from hashrange.storage.sqlite.tail import Tail

    assert settings.archive is not None
    limits = archive.Limits(
        settings.archive_seconds, settings.archive_log_bytes, settings.archive_log_seconds
    )
    try:
        shipper = archive.Shipper(
            Tail(path, durability),
            objects.open_objects(settings.archive),
            limits,
            database.runtime.environment.clock.now,
            database.runtime.refuse_writes,
        )
        shipper.check()
    except objects.ObjectError as error:
        raise StoreError(f"the archive cannot be used: {error}") from error
    database.employ(shipper)


def _check(durability: str, settings: object) -> None:
    kv.check_durability(durability)
    if not isinstance(settings, Settings):
        raise TypeError(f"settings must be a hashrange.Settings, not {settings!r}")


def _check_archive(settings: Settings, is_file: bool) -> None:
    if settings.archive is not None and not is_file:
        raise StoreError(
            "an archive needs a database file; a database in memory has no log, and PostgreSQL's "
            "log can be archived with pgBackRest or WAL-G"
        )


def _with_access(settings: Settings) -> dict[str, Any]:
    """Keyword arguments for Database: the `settings` without the access file, and `access` with its
    content if there is one. Raises ValueError or OSError."""
    if settings.access is None:
        return {"settings": settings}
    from hashrange.database.access_file import access_of

    return {"settings": settings._replace(access=None), "access": access_of(settings.access)}


def _postgres_address(path: str | bytes | os.PathLike[str]) -> str | None:
    """`path` if it is the address of a PostgreSQL database; None if it names a file. Raises
    StoreError for the address of a server."""
    name = os.fsdecode(path)
    kind = kind_of(name)
    if kind == "server":
        raise StoreError(
            f"{without_password(name)} is the address of a server; connect to it with boto3"
        )
    return name if kind == "postgresql" else None


async def _open_postgres(dsn: str, durability: Durability) -> kv.AsyncStore:
    with _asyncpg_is_needed():
        from hashrange.storage.postgres import PostgresStore
    store = PostgresStore(dsn, durability=durability)
    try:
        await store.open()
        await bring_up_to_date_async(store)
    except BaseException:
        await store.close()
        raise
    return store


@contextmanager
def _asyncpg_is_needed() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise StoreError("PostgreSQL needs asyncpg: pip install 'hashrange[postgres]'") from None
