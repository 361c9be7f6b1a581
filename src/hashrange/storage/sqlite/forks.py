"""SQLite's connections and file locks do not survive a fork: let go before, reopen after.

Only connections that are idle can be let go. A snapshot or transaction that is open during the
fork stays with the parent.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Watched(Protocol):
    def before_fork(self) -> None: ...
    def after_fork(self) -> None: ...


_watched: WeakSet[Watched] = WeakSet()


def watch(store: Watched) -> None:
    """Tell `store` before a fork, and after it in both processes."""
    _watched.add(store)


def _before() -> None:
    for store in list(_watched):
        store.before_fork()


def _after() -> None:
    for store in list(_watched):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
