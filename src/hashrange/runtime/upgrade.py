"""Upgrades the stored rows when a store is opened: see `hashrange.engine.upgrade`."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hashrange import kv
from hashrange.engine import upgrade
from hashrange.engine.keyspace.rows import DamagedRow
from hashrange.runtime.batch import CONFLICTS_MAX
from hashrange.runtime.drive import drive


@contextmanager
def _told_of_damage() -> Iterator[None]:
    try:
        yield
    except DamagedRow as error:
        raise kv.Damaged(
            f"the database is damaged in the rows that define its tables: {error}; restore it "
            "from a backup"
        ) from None


@_told_of_damage()
def bring_up_to_date(store: kv.Store) -> None:
    """Upgrade the stored rows, if an older version wrote them.

    Raises `kv.Damaged` if a newer version wrote the rows, or if they are damaged.
    """
    snapshot = store.snapshot()
    try:
        version = drive(upgrade.stored_version(), snapshot)
    finally:
        snapshot.close()
    while version < upgrade.VERSION:
        with suppress(kv.Conflict):  # another process has upgraded it, so the version is read again
            version = _upgraded(store)
    _check(version)


def _upgraded(store: kv.Store) -> int:
    """Run the missing steps of the upgrade in one transaction. Returns the version that is stored
    afterwards."""
    transaction = store.begin()
    try:
        version = drive(upgrade.stored_version(), transaction)
        if version >= upgrade.VERSION:
            transaction.rollback()
            return version
        for step in upgrade.STEPS[version - 1 :]:
            transaction.write(drive(step(), transaction))
        transaction.write([upgrade.finished()])
    except BaseException:
        transaction.rollback()
        raise
    transaction.commit()
    return upgrade.VERSION


async def bring_up_to_date_async(store: kv.AsyncStore) -> None:
    """Like `bring_up_to_date`, for an asynchronous store."""
    from hashrange.runtime.awaited.drive import drive_over
    from hashrange.runtime.overlay import Overlay

    for _ in range(CONFLICTS_MAX):
        transaction = await store.begin(True)
        try:
            with _told_of_damage():
                writes = await drive_over(Overlay(), _upgrading(), transaction)
        except GeneratorExit:  # the event loop is gone
            raise
        except BaseException:
            await transaction.rollback()
            raise
        if writes is None:
            await transaction.rollback()
            return
        with suppress(kv.Conflict):  # another process may have upgraded it
            await transaction.commit(writes)
            return
    raise kv.Conflict(
        f"the database could not be upgraded: other processes changed it during each of "
        f"{CONFLICTS_MAX} attempts; try again"
    )


def _upgrading() -> Generator[kv.Read | list[kv.Write], Any, list[kv.Write] | None]:
    """The missing steps of the upgrade. Yields reads, and writes that later steps must see.

    Returns the remaining writes; None if no step is missing.
    """
    version = yield from upgrade.stored_version()
    _check(version)
    if version == upgrade.VERSION:
        return None
    for step in upgrade.STEPS[version - 1 :]:
        writes = yield from step()
        yield writes
    return [upgrade.finished()]


def _check(version: int) -> None:
    if version > upgrade.VERSION:
        raise kv.Damaged(
            f"the database has version {version}, "
            f"but this hashrange reads versions up to {upgrade.VERSION}; install a newer one"
        )
