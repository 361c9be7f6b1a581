"""Upgrades the stored rows when a store is opened: see `hashrange.engine.upgrade`."""

from contextlib import suppress

from hashrange import kv
from hashrange.engine import upgrade
from hashrange.runtime.drive import drive


def bring_up_to_date(store: kv.Store) -> None:
    """Raises `kv.Damaged` if the rows are newer than this program."""
    snapshot = store.snapshot()
    try:
        version = drive(upgrade.stored_version(), snapshot)
    finally:
        snapshot.close()
    while version < upgrade.VERSION:
        with suppress(kv.Conflict):  # then another process has upgraded it, and it is read again
            version = _upgraded(store)
    if version > upgrade.VERSION:
        raise kv.Damaged(
            f"the database is of version {version}, and this hashrange knows {upgrade.VERSION}; "
            "install a newer one"
        )


def _upgraded(store: kv.Store) -> int:
    """Run the steps that are missing in one transaction; returns the version that is stored."""
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
