"""`st.Table`: checks and plans a model's entities, indexes and access patterns together."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from hashrange.design.declare import table_model
from hashrange.design.declare.item import Copy, Item, View, as_read
from hashrange.design.declare.patterns import Pattern, read_patterns, with_subclasses
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.declare.protocols.stores import AsyncStore, Store
from hashrange.design.declare.volumes import Ignored, Volumes, Writes
from hashrange.design.errors import DeclarationError, NotFound
from hashrange.design.execute.connection import connect, connect_async
from hashrange.design.execute.observation import Observer
from hashrange.design.execute.reads.loading import Loader
from hashrange.design.execute.reads.pattern_calls import PatternCall, bind
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.design.execute.store import OpenStore
from hashrange.design.execute.store_methods import OpenPattern, StoreMethods, explain
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.plan.plans import Plan, Unplanned
from hashrange.design.plan.proposals import plan
from hashrange.design.tools.create import create

if TYPE_CHECKING:
    from hashrange.design.plan.plan_table import PlanTable

P = ParamSpec("P")
R = TypeVar("R")
_UNSHOWN = ("patch", "transaction", "transact", "read_transaction", "batch", "delete_tree", "sync")


class Table:
    """A table, declared by its Protocols of patterns and by entities that no pattern returns.

    `keys` and `index_keys` name the attributes that templates write; the default for an index
    `GSI1` is `GSI1-pk` and `GSI1-sk`. `type_attribute` names the attribute that holds the name of
    each item's entity; if it is None, the entity is recognised by the item's key. `by_type` is the
    name of an index over the type attribute. With `hide_expired`, reads leave out items whose
    st.TTL has passed. With `stream`, or if a copy has sync="stream", the table has a stream of old
    and new items. `st.lint` uses `volumes`, `writes` and `ignore`. `st.cost` uses `volumes`,
    `writes`, `recovery` (point-in-time recovery) and `backups` (the number of full backups that are
    kept).

    Raises DeclarationError for a model that cannot work.
    """

    def __init__(
        self,
        name: str,
        /,
        *declared: Any,
        keys: tuple[str, str] = ("pk", "sk"),
        index_keys: Mapping[str, tuple[str, str]] | None = None,
        type_attribute: str | None = "entityType",
        by_type: str | None = None,
        hide_expired: bool = False,
        stream: bool = False,
        recovery: bool = False,
        backups: int = 0,
        volumes: Volumes | None = None,
        writes: Sequence[Writes] = (),
        ignore: Sequence[Ignored] = (),
    ) -> None:
        self.name = name
        self.protocols = [d for d in declared if not _is_item(d)]
        entities = [d for d in declared if _is_item(d)]
        own = {p: read_patterns(p) for p in self.protocols}
        every = iter(with_subclasses([one for found in own.values() for one in found], entities))
        self.patterns = {p: [next(every) for _ in found] for p, found in own.items()}
        self.model = table_model.build(
            name,
            _entities([p for patterns in self.patterns.values() for p in patterns], entities),
            keys=keys,
            index_keys=index_keys or {},
            type_attribute=type_attribute,
            by_type=by_type,
            hide_expired=hide_expired,
            stream=stream,
        )
        for pattern in (p for patterns in self.patterns.values() for p in patterns):
            for result in pattern.results:
                if issubclass(result, View):
                    self.model.check_view(result)
        self.recovery = recovery
        self.backups = backups
        self.volumes = volumes or Volumes()
        self.writes = tuple(writes)
        self.ignore = tuple(ignore)
        self.volumes.check(self.model)
        for fact in self.writes:
            fact.check(self.model)
        self.plans: dict[str, Plan | Unplanned] = {
            str(pattern): plan(pattern, self.model)
            for patterns in self.patterns.values()
            for pattern in patterns
        }

    @property
    def unserved(self) -> list[Unplanned]:
        """The patterns that no key and no index serves."""
        return [plan for plan in self.plans.values() if isinstance(plan, Unplanned)]

    def plan(self) -> "PlanTable":
        """A report with a row for each pattern: how the pattern is served."""
        from hashrange.design.plan.plan_table import PlanTable, plan_row

        types = [entity.name for entity in self.model.entities]
        return PlanTable(self.name, tuple(plan_row(plan, types) for plan in self.plans.values()))

    def open(
        self,
        protocol: Callable[[], R],
        connection: Any,
        *,
        observe: Observer | None = None,
        cursor_key: bytes | None = None,
    ) -> R:
        """A store with the protocol's patterns, on a hashrange database or a boto3 client.

        `observe` is called with an `Observation` after each call; `cursor_key` signs cursors.
        Raises Unserved if no key or index serves a pattern, TypeError for a connection of another
        kind.
        """
        patterns = self.patterns_of(protocol)
        core = StoreSteps(self.model, patterns, observe, cursor_key)
        opened: Any
        if AsyncStore in getattr(protocol, "__mro__", ()):
            from hashrange.design.execute.async_store import OpenAsyncStore

            opened = OpenAsyncStore(core, connect_async(connection))
        else:
            opened = OpenStore(core, connect(connection))
        return cast(R, opened)

    def patterns_of(self, protocol: Any) -> list[Pattern]:
        """The patterns of a protocol. Raises DeclarationError for a protocol of another table."""
        for known, patterns in self.patterns.items():
            if known is protocol:
                return patterns
        raise DeclarationError(f"{protocol.__name__} is not among the table's protocols")

    def request(
        self,
        method: Callable[Concatenate[Any, P], Any],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Explanation:
        """The requests of a pattern or a write: `table.request(Sensors.floors, "b-1")`.

        Nothing is sent. For a write (`table.request(Sensors.put, item)`), reads before the write
        are assumed to find nothing. A write by a pattern takes the Protocol's method
        (`table.request(Sensors.delete, Sensors.sensor, "s-1")`). For `edit` and `update`, only the
        read is shown; pass `Sensors.save` and `item.replace(...)` to see the write. Raises
        TypeError for `patch`, `transaction` and `batch`.
        """
        name = method.__name__
        if getattr(Store, name, None) is method or getattr(AsyncStore, name, None) is method:
            return self._write_request(name, [*args], kwargs)
        return explain(self._call(method).bind(args, kwargs))

    def _call(self, method: object) -> PatternCall:
        for known in (p for patterns in self.patterns.values() for p in patterns):
            if known.function is method:
                return PatternCall(known, self.model)
        raise DeclarationError(f"{method!r} is not a pattern of this table")

    def _write_request(self, name: str, args: Sequence[Any], kwargs: Any) -> Explanation:
        if name in _UNSHOWN:
            raise TypeError(
                f"the requests of {name} cannot be shown; those of put, save and delete can"
            )
        what, *rest = args
        steps = self._steps(name, what, rest, kwargs)
        requests: list[tuple[str, dict[str, Any]]] = []
        try:
            call = next(steps)
            while True:
                if isinstance(call, ApiCall):
                    requests.append((call.operation, call.payload))
                call = steps.send({})
        except (StopIteration, NotFound):
            return Explanation(f"{name} {getattr(what, '__qualname__', repr(what))}", requests)

    def _steps(self, name: str, what: Any, args: Sequence[Any], kwargs: Any) -> Steps[Any]:
        store = _Unsent(StoreSteps(self.model, [], None, None))
        first = what if isinstance(what, Item) else OpenPattern(store, self._call(what))
        if name == "edit":
            return store._core.get_for_edit(bind(first, args, kwargs))
        steps: Steps[Any] = getattr(store, name)(first, *args, **kwargs)
        return steps

    def create(self, connection: Any) -> bool:
        """Create the table, or check the existing table. Returns True if it was created.

        Raises TableDiffers if the existing table does not fit the model.
        """
        return create(self.model, connection)

    def dump(self, item: Item) -> dict[str, Any]:
        """The item in its stored form, in wire form.

        Attributes that were read with the item but are not in the model are included.
        """
        entity = self.model.entity(type(item))
        foreign = as_read(item) or {}
        kept = {n: v for n, v in foreign.items() if n not in entity.owned_attributes}
        return kept | entity.dump(item)

    def load(self, raw: dict[str, Any]) -> Item | None:
        """Convert a stored item in wire form; None if the model does not know its entity.

        Raises ItemError if the item does not fit the entity's class.
        """
        loader = Loader(self.model, [entity.model for entity in self.model.entities])
        entity = loader.recognise(raw)
        return None if entity is None else entity.load(raw)


class _Unsent(StoreMethods):
    """A store that sends no requests: its methods return the steps that would send them."""

    def _run(self, steps: Steps[Any]) -> Steps[Any]:
        return steps


def _is_item(declared: Any) -> bool:
    return isinstance(declared, type) and issubclass(declared, Item)


def _entities(patterns: Sequence[Pattern], listed: Sequence[type[Item]]) -> list[type[Item]]:
    """All entities of a table: those of patterns, the listed ones, and the owners of copies."""
    models: dict[type[Item], None] = {}
    for pattern in patterns:
        for model in pattern.entities:
            models[model] = None
        if pattern.facts.through is not None:
            models[pattern.facts.through] = None
    models |= dict.fromkeys(listed)
    for model in list(models):
        for info in model.model_fields.values():
            if isinstance(info.default, Copy):
                models[info.default.owner] = None
    return list(models)
