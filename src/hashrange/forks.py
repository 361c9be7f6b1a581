"""The registry of objects that must act when the process forks or ends.

A child process has one thread. Locks that other threads held are never released in it, and the work
of these threads is never finished. SQLite's connections and file locks do not survive a fork
either. They have to be closed before the fork and opened again after it, in both processes.

When the main thread has ended, Python shuts the interpreter down while daemon threads still run. If
a daemon thread returns from SQLite after that, the process may crash. So daemon threads must finish
their work with SQLite before the shutdown, and must not begin more.
"""

import atexit
import os
import threading
from itertools import count
from weakref import WeakValueDictionary

WAIT_SECONDS_MAX = 5.0


def wait_seconds() -> float:
    """The time for which a fork, or the end of the process, waits for the work of other threads."""
    return WAIT_SECONDS_MAX if threading.active_count() > 1 else 0.0


class Forkable:
    """The methods that are called around a fork and at the end of the process. By default they do
    nothing."""

    def before_fork(self) -> None:
        """Called in the parent before the fork."""

    def after_fork_in_parent(self) -> None:
        """Called in the parent after the fork."""

    def after_fork_in_child(self) -> None:
        """Called in the child before any other code runs there."""

    def at_exit(self) -> None:
        """Called when the main thread has ended, while daemon threads may still run."""


_watched: WeakValueDictionary[int, Forkable] = WeakValueDictionary()
_numbers = count()


def watch(forkable: Forkable) -> None:
    """Call the methods of `forkable` as long as the object lives.

    `before_fork` and `at_exit` are called for the newest object first, because it may use older
    objects.
    """
    _watched[next(_numbers)] = forkable


def _before() -> None:
    for forkable in reversed(list(_watched.values())):
        forkable.before_fork()


def _after_in_parent() -> None:
    for forkable in list(_watched.values()):
        forkable.after_fork_in_parent()


def _after_in_child() -> None:
    for forkable in list(_watched.values()):
        forkable.after_fork_in_child()


def _at_exit() -> None:
    for forkable in reversed(list(_watched.values())):
        forkable.at_exit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
atexit.register(_at_exit)
