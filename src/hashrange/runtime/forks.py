"""A child process has one thread: locks that others held and work that others began are not its.

What holds such things is told in the child, before anything else runs there.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Watched(Protocol):
    def after_fork(self) -> None: ...


_watched: WeakSet[Watched] = WeakSet()


def watch(watched: Watched) -> None:
    """Call `after_fork` in each child, as long as the object lives."""
    _watched.add(watched)


def _after() -> None:
    for watched in list(_watched):
        watched.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after)
