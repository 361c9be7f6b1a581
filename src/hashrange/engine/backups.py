"""Creation, copying, restoring and deletion of backups."""

from collections.abc import Sequence
from math import ceil

from msgspec.structs import replace

from hashrange import kv
from hashrange.engine import fetch, history, jobs
from hashrange.engine.decision import AnyChange, BackupChange, CopyRows, ItemChange, TableChange
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import table_key
from hashrange.engine.keyspace.rows import Row
from hashrange.model.backups import Backup, Copying, Kind, Restoring
from hashrange.model.recovery import History
from hashrange.model.tables import Table

SYSTEM_NAME = "{}$DeletedTableBackup"
SYSTEM_SUFFIX = "00000000"
SYSTEM_SECONDS = 35 * 24 * 60 * 60
"""How long a system backup is kept, in seconds. It is made when a table with point-in-time recovery
is deleted."""
_READ_ROWS = 200


def listed() -> Fetch[list[Backup]]:
    """All backups, the oldest first."""
    start, end = system.BACKUPS, system.AFTER_BACKUPS
    backups: list[Backup] = []
    while True:
        page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, start, end, rows_max=_READ_ROWS)
        backups += (system.decode(value, Backup) for _, value in page.rows)
        if page.exhausted:
            return backups
        start = page.rows[-1][0] + b"\x00"


def find(arn: str) -> Fetch[Backup | None]:
    """The backup with this ARN; None if there is none."""
    table_arn, _, id_ = arn.rpartition("/backup/")
    row = system.backup_row(id_, fetch.plain_name(table_arn))
    backup = yield from fetch.system_row(row, Backup)
    return backup if backup is not None and backup.arn == arn else None


def new_id(moment: Moment) -> str:
    return f"{_milliseconds(moment):014d}-{moment.entropy[:4].hex()}"


def _milliseconds(moment: Moment) -> int:
    return int(moment.now * 1000)


# ---- copies ----


def begin(
    table: Table, name: str, kind: Kind, moment: Moment, restoring: Restoring | None, spaces: int
) -> Fetch[tuple[Backup, Table, list[AnyChange]]]:
    """Begin a backup of the table as it is now. The rows are copied in later steps.

    Returns the backup, the table's changed definition, and the changes that store both. `restoring`
    is the table that is restored from the backup; None if there is none. `spaces` is the number of
    new ids of spaces that the backup must leave to the other changes of the same decision.
    """
    [(items, size)] = yield from fetch.statistics([table])
    own, other = (yield from fetch.new_spaces(spaces + 2))[spaces:]
    past = table.history or History(other, 0)
    past = replace(past, epoch=past.epoch + 1)
    backup = Backup(
        id=new_id(moment),
        name=name,
        kind=kind,
        table=table,
        created_at=moment.now,
        items=items,
        size_bytes=size,
        space=own,
        copying=Copying(table.space, past.space, past.epoch),
        restoring=restoring,
    )
    changed = replace(table, history=past)
    return backup, changed, [BackupChange(None, backup, (own,)), TableChange(table, changed)]


def copy_step(backup: Backup) -> Fetch[list[AnyChange]]:
    """The changes of the next step of a backup.

    A step copies some rows of the table. Once all rows are copied, a step undoes some later changes
    in the copy.
    """
    copying = backup.copying
    assert copying is not None, "the backup must still be copying"
    if copying.copied_to is not None:
        page: kv.Page = yield kv.Range(
            copying.source,
            copying.copied_to,
            None,
            rows_max=history.STEP_ROWS,
            weight_max=history.STEP_BYTES,
        )
        left = None if page.exhausted else page.rows[-1][0] + b"\x00"
        after = replace(backup, copying=replace(copying, copied_to=left))
        return [CopyRows(backup.space, dict(page.rows)), BackupChange(backup, after)]
    undone = yield from history.undo(backup.table, copying)
    copied = CopyRows(backup.space, undone.rows)
    if undone.before is not None:
        after = replace(backup, copying=replace(copying, undo_before=undone.before))
        return [copied, BackupChange(backup, after)]
    complete = replace(backup, copying=None)
    dropped, changes = yield from _released(backup, copying)
    return [copied, BackupChange(backup, complete, dropped=dropped), *changes]


def _released(backup: Backup, copying: Copying) -> Fetch[tuple[tuple[int, ...], list[AnyChange]]]:
    """The spaces to drop, and the changes to make, when a copy is complete or deleted.

    The spaces are those that only this copy still uses. If nothing else needs the table's history,
    a change of the definition ends the history.
    """
    others = [each for each in (yield from listed()) if each.arn != backup.arn]
    if any(each.copying and each.copying.source == copying.source for each in others):
        return (), []
    table = yield from fetch.find_table(backup.table.name)
    if table is not None and table.space == copying.source:
        ended = table.recovery is None
        return (), [TableChange(table, replace(table, history=None))] if ended else []
    if any(each.space == copying.source for each in others):
        return (copying.history,), []
    return (copying.source, copying.history), []


def delete(backup: Backup) -> Fetch[list[AnyChange]]:
    if backup.copying is None:
        return [BackupChange(backup, None, dropped=(backup.space,))]
    dropped, changes = yield from _released(backup, backup.copying)
    return [BackupChange(backup, None, dropped=(backup.space, *dropped)), *changes]


def is_copied(table: Table) -> Fetch[bool]:
    """Whether a copy of the table is being made."""
    backups = yield from listed()
    return any(each.copying and each.copying.source == table.space for each in backups)


def of_deleted_table(table: Table, moment: Moment) -> Fetch[list[AnyChange]]:
    """The changes that delete a table. With point-in-time recovery, its rows become a backup.

    The spaces of the table are kept while copies of it are being made.
    """
    if table.history is None:
        return [TableChange(table, None)]
    copied = yield from is_copied(table)
    if table.recovery is None:
        return [TableChange(table, None, (table.space, table.history.space) if copied else ())]
    [(items, size)] = yield from fetch.statistics([table])
    backup = Backup(
        id=f"{_milliseconds(moment):014d}-{SYSTEM_SUFFIX}",
        name=SYSTEM_NAME.format(table.name),
        kind="SYSTEM",
        table=table,
        created_at=moment.now,
        expires_at=moment.now + SYSTEM_SECONDS,
        items=items,
        size_bytes=size,
        space=table.space,
    )
    kept = (table.space, table.history.space) if copied else (table.space,)
    return [TableChange(table, None, kept), BackupChange(None, backup)]


# ---- restores ----


def restore_step(backup: Backup, restoring: Restoring, moment: Moment) -> Fetch[list[AnyChange]]:
    """Put the next items into the table that is being restored.

    The step that puts the last items also makes the table ACTIVE.
    """
    table = yield from fetch.find_table(restoring.table_name)
    assert table is not None, "a table must not be deleted while it is restored"
    assert table.id == restoring.table_id, "a table must not be deleted while it is restored"
    source = replace(backup.table, space=backup.space)
    bounds = Bounds(restoring.restored_to, None)
    rows, left = yield from fetch.rows(source, bounds, False, None, history.STEP_BYTES)
    changes: list[AnyChange] = list((yield from _puts(table, rows)))
    if left is not None:
        further = replace(restoring, restored_to=left.start)
        return [*changes, BackupChange(backup, replace(backup, restoring=further))]
    changes.append(TableChange(table, replace(table, active_at=moment.now, restored=None)))
    if backup.kind == "RESTORE":
        return [*changes, *(yield from delete(backup))]
    return [*changes, BackupChange(backup, replace(backup, restoring=None))]


def _puts(table: Table, rows: Sequence[Row]) -> Fetch[list[ItemChange]]:
    keys = [(table, table_key(table, row.item)) for row in rows]
    before = (yield from fetch.items_and_collections(keys)) if table.has_local_indexes else []
    sizes = [size for _, size in before] or [None] * len(keys)
    return [
        ItemChange(table, key, None, row.item, row.size, collection_size=size, expired=True)
        for (_, key), row, size in zip(keys, rows, sizes, strict=True)
    ]


def trim_step(table: Table, moment: Moment) -> Fetch[list[AnyChange]]:
    """Delete some changes from the table's history that are older than its recovery period.

    Changes that an export in progress needs are kept. While a copy of the table is being made, all
    changes are kept.
    """
    past, recovery = table.history, table.recovery
    if past is None or recovery is None or (yield from is_copied(table)):
        return []
    exports = yield from jobs.in_progress("export")
    shown = [each.shows_from for each in exports if each.table_id == table.id]
    trim = yield from history.trim(past, ceil(min([recovery.earliest(moment.now), *shown]) * 1000))
    return [trim] if trim is not None else []
