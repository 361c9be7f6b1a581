"""Deletes objects that are not needed to restore any of the kept moments.

An object that names other objects is deleted before them. So a reader of the archive finds either
all parts of a copy, or no copy.
"""

from collections.abc import Iterator

from hashrange.archive import format as f
from hashrange.archive.contents import Contents
from hashrange.archive.format import ArchiveError, Snapshot

_RESTORE_SECONDS_MAX = 86_400
"""The age, in seconds, at which the mark of a running restore expires. Until then, the mark keeps
all objects from being deleted."""


def delete_old(contents: Contents, now: float, seconds: float) -> Iterator[None]:
    """Delete objects that are not needed to restore any moment of the last `seconds`.

    While a restore runs, nothing is deleted. Yields after each deletion. If the generator is not
    resumed, a later call deletes the remaining objects.
    """
    if _restores_run(contents, now):
        return
    snapshots = contents.snapshots()
    old = [snapshot for snapshot in snapshots if snapshot.time <= now - seconds]
    if not old:
        return
    first = old[-1]
    for snapshot in snapshots[: snapshots.index(first)]:
        contents.objects.delete(f.snapshot_name(snapshot.generation, snapshot.through))
        yield
    needed = {snapshot.id for snapshot in snapshots[snapshots.index(first) :]}
    yield from _delete_parts(contents, first, needed)
    yield from _delete_below(contents, f.LOG, f.segment_name(first.generation, first.start))
    yield from _delete_below(contents, f.GENERATIONS, f.generation_name(first.generation))


def _restores_run(contents: Contents, now: float) -> bool:
    running = False
    for each in list(contents.objects.list(f.RESTORES)):
        began = each.name.rpartition("-")[2]
        if began.isdecimal() and int(began) > now - _RESTORE_SECONDS_MAX:
            running = True
        else:
            contents.objects.delete(each.name)
    return running


def _delete_parts(contents: Contents, first: Snapshot, needed: set[str]) -> Iterator[None]:
    """Delete the parts of copies, except copies with an id in `needed`.

    Only the generation of `first` and earlier ones are searched. The caller makes sure that no copy
    is being written in them, because the parts of an incomplete copy are deleted too.
    """
    for each in list(contents.objects.list(f.PARTS)):
        _, generation, snapshot_id, _ = each.name.split("/")
        if not generation.isdecimal():
            raise ArchiveError(f"{each.name}: is not an object of an archive")
        if snapshot_id not in needed and int(generation) <= first.generation:
            contents.objects.delete(each.name)
            yield


def _delete_below(contents: Contents, kind: str, name: str) -> Iterator[None]:
    for each in contents.objects.list(kind):
        if each.name >= name:
            return
        contents.objects.delete(each.name)
        yield
