"""States of a database in memory, which a test can restore.

Restoring a state brings back its rows. But values that identify versions never go back: the version
of the catalog, the ids of spaces, the clock, and the sequence numbers of streams. So a number that
a client or a cache has seen never gets another meaning.
"""

from secrets import token_bytes

from hashrange import kv
from hashrange.engine.keyspace import system
from hashrange.runtime.base import BaseRuntime
from hashrange.runtime.vector_views import VectorViews
from hashrange.storage.memory import MemoryStore
from hashrange.storage.memory_rows import State

_CATALOG_BYTES = 8


class States:
    """The initial state of a database, and later states that are kept by name."""

    def __init__(self, store: MemoryStore, runtime: BaseRuntime) -> None:
        self._store = store
        self._runtime = runtime
        self._first = store.state()
        self._kept: dict[str, State] = {}

    @property
    def names(self) -> list[str]:
        return sorted(self._kept)

    def keep(self, name: str) -> None:
        """Keep the current state under `name`, in place of an earlier state of this name."""
        self._kept[name] = self._store.state()

    def go_back(self, name: str | None = None) -> None:
        """Restore the state `name` or, if it is None, the initial state. Raises KeyError if there
        is no state of this name."""
        wanted = self._first if name is None else self._kept[name]
        self._store.go_on_from(lambda now: _following(now, wanted))
        views = self._runtime.environment.views
        assert isinstance(views, VectorViews), (
            "a database in memory must have a cache of vector views"
        )
        views.clear()


def _following(now: State, wanted: State) -> State:
    """The state `wanted`, but with versions that are later than those of the current state
    `now`."""
    rows = dict(wanted.spaces[kv.SYSTEM_SPACE])
    spaces, catalog = system.SPACES[1], system.CATALOG_VERSION[1]
    made = [system.decode_number(s.spaces[kv.SYSTEM_SPACE].get(spaces)) for s in (now, wanted)]
    rows[spaces] = system.encode_number(max(made))
    rows[catalog] = system.new_version(token_bytes(_CATALOG_BYTES)).value
    clock = max(state.counters.get(kv.CLOCK, 0) for state in (now, wanted))
    return State({**wanted.spaces, kv.SYSTEM_SPACE: rows}, {**wanted.counters, kv.CLOCK: clock})
