"""A disk that fills up, breaks or is slow when a test says so, under SQLite's own file layer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import apsw

Fault = Callable[[], None]


class Disk(apsw.VFS):
    """While it exists, it is SQLite's default. `on_read`, `on_write` and `on_sync` may raise or
    wait.

    `reason` is the system's error number of whatever failed.
    """

    def __init__(self) -> None:
        super().__init__("test-disk", _base(), makedefault=True)
        self.on_read: Fault = works
        self.on_write: Fault = works
        self.on_sync: Fault = works
        self.reason = 0

    def xOpen(  # noqa: N802  SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xGetLastError(self) -> tuple[int, str]:  # noqa: N802
        return self.reason, ""


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(_base(), name, flags)
        self._disk = disk

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.on_read()
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        with suppress(Lost):
            self._disk.on_write()
            super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        with suppress(Lost):
            self._disk.on_sync()
            super().xSync(flags)


@contextmanager
def disk() -> Iterator[Disk]:
    made = Disk()
    try:
        yield made
    finally:
        made.unregister()


def works() -> None:
    pass


def is_full() -> None:
    raise apsw.FullError("no space left on device")


def is_broken() -> None:
    raise apsw.IOError("input/output error")


def takes_no_more() -> None:
    """What SQLite makes of any error of a write but ENOSPC."""
    raise apsw.exception_for(apsw.SQLITE_IOERR_WRITE)


class Lost(Exception):
    """The disk claims to have done what it has not."""


def lies() -> None:
    raise Lost


def after(steps: int, fault: Fault, before: Fault = works) -> Fault:
    """Work for `steps` steps, then fail at each step."""
    left = iter(range(steps))

    def step() -> None:
        if next(left, None) is None:
            fault()
        else:
            before()

    return step


def _base() -> str:
    return next(name for name in apsw.vfs_names() if name != "test-disk")
