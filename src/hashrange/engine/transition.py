"""Turns a decision into a list of writes for one commit."""

from math import ceil

from hashrange import kv
from hashrange.engine import changes
from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.decision import (
    AnyChange,
    Backfill,
    BackupChange,
    Checkpoints,
    CopyRows,
    Decision,
    Empty,
    FeedChange,
    FeedPosition,
    Forget,
    ItemChange,
    JobChange,
    LeaseChange,
    LogChange,
    Propagate,
    Recount,
    Remember,
    StreamChange,
    TableChange,
    Trim,
)
from hashrange.engine.effects import Effects
from hashrange.engine.indexes import MAINTAINERS, propagation
from hashrange.engine.keyspace import logs, system
from hashrange.engine.log import sequencer
from hashrange.model.tables import Table


def derive(decision: Decision, now: float) -> list[kv.Write]:
    """The writes of a decision that was made at the time `now`, in epoch seconds.

    The units that the writes consume are added to the decision's receipt.
    """
    receipt = decision.receipt
    if receipt is None:
        receipt = decision.receipt = Receipt(decision.transactional)
    elif isinstance(receipt, Charge):
        return []  # the receipt of a GetItem, which changes nothing
    effects = Effects(receipt, ceil(now * 1000))
    items: list[ItemChange] = []
    others: list[AnyChange] = []
    for change in decision.changes:
        if isinstance(change, ItemChange):
            items.append(change)
        else:
            others.append(change)
    changes.derive(items, effects)
    if others:
        for other in others:
            if isinstance(other, Backfill):
                if other.index in other.table.built_from_log:
                    propagation.build(other, effects)
                else:
                    maintainer = MAINTAINERS[type(other.index)]
                    maintainer.build(other.table, other.index, other.items, effects)
            elif isinstance(other, Propagate):
                propagation.propagate(other, effects)
            else:
                effects.writes.extend(_derive_other(other))
        made = [write.space for write in effects.writes if isinstance(write, kv.CreateSpace)]
        if made:
            effects.writes.append(kv.Put(*system.SPACES, system.encode_number(max(made))))
    return effects.all_writes()


def postponed(writes: list[kv.Write], now: float) -> list[kv.Write]:
    """The writes of a decision that was made before `now`, in epoch seconds, for a commit at `now`.

    The times of change log records are raised to `now`, because they must have the order of the
    commits.
    """
    milliseconds = ceil(now * 1000)
    return [
        sequencer.postponed(write, milliseconds)
        if type(write) is kv.Append and logs.has_time(write.prefix)
        else write
        for write in writes
    ]


def _derive_other(change: AnyChange) -> list[kv.Write]:
    """The writes for a change that is neither a change of an item nor a step of an index."""
    match change:
        case TableChange():
            return _table(change)
        case Remember():
            return _remember(change)
        case Forget():
            return _forget(change)
        case StreamChange():
            return _stream(change)
        case LogChange():
            return _log(change)
        case Trim():
            return [kv.Delete(change.space, key) for key in change.keys]
        case Recount():
            return _recount(change)
        case Empty():
            return [kv.Purge(change.space, change.rows_max)]
        case LeaseChange():
            return [kv.Put(*system.lease(change.duty), system.encode(change.lease))]
        case JobChange():
            return _job(change)
        case BackupChange():
            return _backup(change)
        case CopyRows():
            return [
                kv.Delete(change.space, key) if value is None else kv.Put(change.space, key, value)
                for key, value in change.rows.items()
            ]
        case FeedChange():
            return _feed(change)
        case FeedPosition():
            row = system.feed_position_row(change.feed.table_name, change.feed.label)
            return [kv.Put(kv.SYSTEM_SPACE, row, system.encode(change.positions))]
        case Checkpoints():
            return [
                kv.Delete(kv.SYSTEM_SPACE, row)
                if number is None
                else kv.Put(kv.SYSTEM_SPACE, row, system.encode(number))
                for row, number in change.rows.items()
            ]
        case _:
            raise AssertionError(f"unknown kind of change: {change!r}")


def _spaces(table: Table | None) -> list[int]:
    if table is None:
        return []
    hidden = [space for space in (table.collections, table.index_log) if space is not None]
    hidden += [index.log for index in table.vector_indexes]
    if table.history is not None:
        hidden.append(table.history.space)
    return [table.space, *(index.space for index in table.maintained), *hidden]


def _table(change: TableChange) -> list[kv.Write]:
    """The writes for a table's definition: its row, and spaces to be created or dropped."""
    old, new = _spaces(change.old), _spaces(change.new)
    made = [space for space in new if space not in old]
    writes: list[kv.Write] = [kv.CreateSpace(space) for space in made]
    writes += [kv.DropSpace(space) for space in old if space not in (*new, *change.kept)]
    table = change.new or change.old
    assert table, "a change of a table must have an old definition, a new one, or both"
    row = system.table_row(table.name)
    if change.new:
        writes.append(kv.Put(kv.SYSTEM_SPACE, row, system.encode(change.new)))
    else:
        writes.append(kv.Delete(kv.SYSTEM_SPACE, row))
    return writes


def _backup(change: BackupChange) -> list[kv.Write]:
    backup = change.new or change.old
    assert backup, "a change of a backup must have an old state, a new one, or both"
    row = system.backup_row(backup.id, backup.table.name)
    writes: list[kv.Write] = [kv.CreateSpace(space) for space in change.made]
    writes += [kv.DropSpace(space) for space in change.dropped]
    if change.new is None:
        return [*writes, kv.Delete(kv.SYSTEM_SPACE, row)]
    return [*writes, kv.Put(kv.SYSTEM_SPACE, row, system.encode(change.new))]


def _stream(change: StreamChange) -> list[kv.Write]:
    stream = change.new or change.old
    assert stream, "a change of a stream must have an old definition, a new one, or both"
    row = system.stream_row(stream.table_name, stream.label)
    if change.new is None:
        return [kv.Delete(kv.SYSTEM_SPACE, row)]
    return [kv.Put(kv.SYSTEM_SPACE, row, system.encode(change.new))]


def _job(change: JobChange) -> list[kv.Write]:
    """The writes for a change of a job. Its row has another key while the job is in progress."""
    writes: list[kv.Write] = []
    old, new = (
        job and system.job_row(job.kind, job.id, job.in_progress)
        for job in (change.old, change.new)
    )
    if old and old != new:
        writes.append(kv.Delete(kv.SYSTEM_SPACE, old))
    if new:
        writes.append(kv.Put(kv.SYSTEM_SPACE, new, system.encode(change.new)))
    return writes


def _feed(change: FeedChange) -> list[kv.Write]:
    destination = change.new or change.old
    feed = destination.feed if destination else None
    assert feed, "a destination with a row must have a feed"
    row = system.feed_row(feed.table_name, feed.label)
    if change.new is not None:
        return [kv.Put(kv.SYSTEM_SPACE, row, system.encode(change.new))]
    position = system.feed_position_row(feed.table_name, feed.label)
    return [kv.Delete(kv.SYSTEM_SPACE, row), kv.Delete(kv.SYSTEM_SPACE, position)]


def _log(change: LogChange) -> list[kv.Write]:
    if change.new is not None:
        return [kv.CreateSpace(change.new.space)]
    assert change.old, "a change of a log must open or drop it"
    return [kv.DropSpace(change.old.space)]


def _recount(change: Recount) -> list[kv.Write]:
    space, rows, size = change.space, change.rows, change.size
    return [
        kv.Add(system.item_count(space, change.taken_from), -rows),
        kv.Add(system.size_bytes(space, change.taken_from), -size),
        kv.Add(system.item_count(space, change.added_to), rows),
        kv.Add(system.size_bytes(space, change.added_to), size),
    ]


def _remember(change: Remember) -> list[kv.Write]:
    by_time = system.token_by_time(ceil(change.now * 1000), change.token)
    record = {"fingerprint": change.fingerprint, "now": change.now, "sizes": change.sizes}
    writes: list[kv.Write] = [
        kv.Put(kv.SYSTEM_SPACE, system.token_row(change.token), system.encode(record)),
        kv.Put(kv.SYSTEM_SPACE, by_time, system.encode(None)),
    ]
    if change.before is not None:
        outdated = system.token_by_time(ceil(change.before * 1000), change.token)
        writes.append(kv.Delete(kv.SYSTEM_SPACE, outdated))
    return writes


def _forget(change: Forget) -> list[kv.Write]:
    writes: list[kv.Write] = []
    for milliseconds, token in change.tokens:
        writes.append(kv.Delete(kv.SYSTEM_SPACE, system.token_row(token)))
        writes.append(kv.Delete(kv.SYSTEM_SPACE, system.token_by_time(milliseconds, token)))
    return writes
