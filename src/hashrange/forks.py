"""The registry of objects that must act when the process forks.

A child process has one thread, so locks that other threads held are never released in it, and
work that they began is never finished. SQLite's connections and file locks do not survive a fork
either: they have to be closed before it and opened again after it, on both sides.
"""

import os
from weakref import WeakSet


class Forkable:
    """The methods that are called around a fork; each does nothing unless it is overridden."""

    def before_fork(self) -> None:
        """Called in the parent before the fork."""

    def after_fork_in_parent(self) -> None:
        """Called in the parent after the fork."""

    def after_fork_in_child(self) -> None:
        """Called in the child before any other code runs there."""


_watched: WeakSet[Forkable] = WeakSet()


def watch(forkable: Forkable) -> None:
    """Call the methods of `forkable` around each fork, for as long as the object lives."""
    _watched.add(forkable)


def _before() -> None:
    for forkable in list(_watched):
        forkable.before_fork()


def _after_in_parent() -> None:
    for forkable in list(_watched):
        forkable.after_fork_in_parent()


def _after_in_child() -> None:
    for forkable in list(_watched):
        forkable.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
