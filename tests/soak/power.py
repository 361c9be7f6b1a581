"""A disk that remembers every write and sync, and what a power cut may leave of them.

Each file keeps what was synced. Of the later writes, any subset may be missing, and the one under
way may be torn: some of its sectors are written, or some of its first bytes. A file that was
created or deleted since its last sync may be there or not.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random

import apsw

SECTOR = 512
NAME = "soak-power"

Write = tuple[int, bytes | None]
"""(offset, data), or (size, None) for a file cut to that size."""


class Step:
    """One thing that happened to a file: `kind` is write (also a cut to a size), sync, delete, or
    forget, which is a deletion followed by a sync of the folder.
    """

    __slots__ = ("file", "kind", "write")

    def __init__(self, kind: str, file: str, write: Write = (0, None)) -> None:
        self.kind = kind
        self.file = file
        self.write = write


class Recorder(apsw.VFS):
    """SQLite's default file layer while it exists. It passes everything on, except for syncs.

    `steps` are of the files in `watched`, or of none: then nothing is recorded.
    """

    def __init__(self) -> None:
        self.base = next(name for name in apsw.vfs_names() if name != NAME)
        super().__init__(NAME, self.base, makedefault=True)
        self.steps: list[Step] = []
        self.watched: Path | None = None

    def record(self, kind: str, path: str, write: Write = (0, None)) -> None:
        file = Path(path)
        if self.watched == file.parent:
            self.steps.append(Step(kind, file.name, write))

    def xOpen(  # noqa: N802  SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.record("forget" if syncdir else "delete", filename)


class _File(apsw.VFSFile):
    def __init__(
        self, disk: Recorder, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__(disk.base, name, flags)
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.record("write", self._path, (offset, data))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._disk.record("write", self._path, (size, None))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802  the harness needs no disk
        self._disk.record("sync", self._path)


@contextmanager
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    try:
        yield made
    finally:
        made.unregister()


class _OnDisk:
    """A file: what was synced (None: it was not there), and what was done to it since."""

    def __init__(self, synced: bytes | None) -> None:
        self.synced = synced
        self.now: bytearray | None = None if synced is None else bytearray(synced)
        self.since: list[Write] = []
        self.renewed = False
        """Whether it was created or deleted since its last sync."""


class Disk:
    """The files of one folder, advanced step by step; a `lying` disk ignores each sync."""

    def __init__(self, files: dict[str, bytes], lying: bool = False) -> None:
        self._files = {name: _OnDisk(content) for name, content in files.items()}
        self._lying = lying

    def advance(self, step: Step) -> None:
        file = self._files.setdefault(step.file, _OnDisk(None))
        match step.kind:
            case "write":
                if file.now is None:
                    file.now, file.since, file.renewed = bytearray(), [], True
                apply(file.now, step.write)
                file.since.append(step.write)
            case "delete" | "forget":
                file.now, file.since, file.renewed = None, [], True
                if step.kind == "forget":
                    self._sync_folder()
            case "sync":
                if file.renewed:  # SQLite syncs the folder of a file that it has created
                    self._sync_folder()
                if not self._lying:
                    file.synced, file.since = bytes(file.now or b""), []

    def _sync_folder(self) -> None:
        for file in [] if self._lying else self._files.values():
            if file.renewed:
                file.synced, file.renewed = None if file.now is None else b"", False

    def cut(self, random: Random, torn: Step | None) -> dict[str, bytes]:
        """The files after a power cut, just now; of the step `torn` a part was done."""
        left = {name: _left(random, file) for name, file in self._files.items()}
        if torn and torn.kind == "write":
            content = left.get(torn.file)
            if content is not None and not self._files[torn.file].renewed:
                for write in _torn(random, torn.write):
                    apply(content, write)
        return {name: bytes(content) for name, content in left.items() if content is not None}


def _left(random: Random, file: _OnDisk) -> bytearray | None:
    if file.renewed and random.random() < 0.3:  # as if it had not been deleted and created
        return None if file.synced is None else bytearray(file.synced)
    if file.now is None:
        return None
    content = bytearray(b"" if file.renewed else file.synced or b"")
    for write in _some(random, file.since):
        apply(content, write)
    return content


def apply(content: bytearray, write: Write) -> None:
    offset, data = write
    if data is None:
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _some(random: Random, writes: list[Write]) -> list[Write]:
    match random.randrange(4):
        case 0:
            return list(writes)
        case 1:
            return []
        case 2:
            return writes[: random.randint(0, len(writes))]
        case _:
            part = random.random()
            return [write for write in writes if random.random() < part]


def _torn(random: Random, write: Write) -> list[Write]:
    offset, data = write
    if data is None or random.random() < 0.2:
        return []
    if random.random() < 0.5:  # linear: the first bytes, or the last ones
        at = random.randint(0, len(data))
        return [(offset, data[:at])] if random.random() < 0.7 else [(offset + at, data[at:])]
    first = SECTOR - offset % SECTOR
    cuts = [0, *range(first, len(data), SECTOR), len(data)]
    sectors = [(offset + a, data[a:b]) for a, b in pairwise(cuts) if a < b]
    return [sector for sector in sectors if random.random() < 0.5]
