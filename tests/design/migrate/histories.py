"""One random history: two models, programs of both, and migrators that are killed and replaced."""

from collections.abc import Generator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

from hashrange import design as st
from hashrange.design.errors import ConditionFailed
from hashrange.design.execute.steps import ApiFailure
from hashrange.design.execute.writes.transactions import PendingWrites
from hashrange.design.execute.writes.verbs import Write
from hashrange.design.migrate import following
from hashrange.design.migrate.phases import Phase, State

from .pairs_of_models import Models, random_models
from .world import LEASE_SECONDS, SIGNATURE_SECONDS, Actor, Key, LostAnswer, Truth, World, Wrong

GROUPS, NAMES, NUMBERS = ("x", "y"), ("p", "q"), (1, 2)
OPERATIONS = 10
PACE = 0.25
"""How likely a program begins its next operation: some are left for the later phases."""


@dataclass
class Program:
    """A program of one model: its store, and how its items are shown in terms of the old one."""

    name: str
    store: Any
    model: Any
    value: str
    unique: bool
    is_new: bool
    left: int = OPERATIONS
    began: int = 0
    wanted: Any = None

    @property
    def core(self) -> Any:
        return self.store._core

    def item(self, key: Key, c: str, n: int, s: str) -> Any:
        more = {"s": s} if self.unique else {}
        value = str(2 * n) if self.value == "m" else n
        return self.model(a=key[0], b=key[1], c=c, **{self.value: value}, **more)

    def seen(self, item: Any) -> dict[str, Any]:
        value = getattr(item, self.value)
        found = {"c": item.c, "n": int(value) // 2 if self.value == "m" else value, "t": item.t}
        return {**found, "s": item.s} if self.unique else found


def put_effect(key: Key, values: dict[str, Any], *, create: bool = False) -> Any:
    def effect(truth: Truth) -> None:
        if create and key in truth.items:
            raise Wrong(f"{key} was created although it existed")
        for other, item in truth.items.items():
            if other != key and "s" in values and item["s"] == values["s"]:
                raise Wrong(f"{key} and {other} both have the unique text {values['s']}")
        truth.items[key] = dict(values)

    return effect


def change_effect(key: Key, change: Any) -> Any:
    def effect(truth: Truth) -> None:
        if key not in truth.items:
            raise Wrong(f"{key} was changed although it did not exist")
        change(truth.items[key])

    return effect


def delete_effect(key: Key) -> Any:
    def effect(truth: Truth) -> None:
        truth.items.pop(key, None)

    return effect


@dataclass
class History:
    """See `run`."""

    random: Random
    world: World
    models: Models
    migration: st.Migration
    actors: dict[Actor, Program | None] = field(default_factory=dict)
    backs: int = 2
    kills: int = 3

    # ---- programs ----

    def operation(self, program: Program) -> Actor:
        random, core = self.random, program.core
        key = (random.choice(NAMES), random.choice(NUMBERS))
        values: dict[str, Any] = {"c": random.choice(GROUPS), "n": random.randrange(9), "t": None}
        if program.unique:
            values["s"] = random.choice(("u1", "u2", "u3"))
        item = program.item(key, values["c"], values["n"], values.get("s", ""))
        program.began, program.wanted = len(self.world.truth.versions) - 1, None
        kind = random.choice(
            ("put", "create", "add", "edit", "delete", "one", "of", "group", "both")
        )
        if program.is_new and not self.models.same_identity:
            kind = random.choice(("one", "of", "group"))  # its keys allow more items than the old
        elif program.is_new and kind == "add" and program.value == "m":
            kind = "edit"
        steps, effect = getattr(self, f"_{kind}")(program, core, key, item, values)
        return Actor(f"{program.name} {kind} {key}", core.follow(steps), effect)

    def _put(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        # A put of an item with a version is a create, since it names no version.
        create = "v" in type(item).model_fields
        return core.write(Write("put", item)), put_effect(key, values, create=create)

    def _create(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        return core.write(Write("create", item)), put_effect(key, values, create=True)

    def _add(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        def change(one: dict[str, Any]) -> None:
            one["n"] += 3

        return core.write(Write("add", item, values={"n": 3})), change_effect(key, change)

    def _edit(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        t = self.random.choice(("red", "blue"))
        changed: dict[str, Any] = {}

        def change(one: Any) -> None:
            """An edit writes the fields that differ from the item as it was read."""
            wanted = {"t": t, "c": values["c"]}
            changed.clear()
            changed.update({n: v for n, v in wanted.items() if getattr(one, n) != v})
            one.t, one.c = t, values["c"]

        def effect(truth: Truth) -> None:
            if key not in truth.items:
                raise Wrong(f"{key} was saved although it had been deleted")
            truth.items[key].update(changed)

        bound = program.store.one.call.bind(key, {})
        return core.update(bound, change), effect

    def _delete(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        bound = program.store.one.call.bind(key, {})
        return core.do(Write("delete", bound=bound)), delete_effect(key)

    def _both(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        """A transaction that creates one item and deletes another one, with a token.

        An item with a unique text that did not exist when it was read is not deleted.
        """
        other = (key[0], 3 - key[1])
        pending = PendingWrites()
        pending.create(item)
        if not program.unique:
            pending.delete(program.store.one, *other)
        put = put_effect(key, values, create=True)

        def effect(truth: Truth) -> None:
            if not program.unique:
                truth.items.pop(other, None)
            put(truth)

        token = f"token-{self.random.getrandbits(60)}"
        return core.transact([], pending, token), effect

    def _one(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        def steps() -> Generator[Any, Any, None]:
            found = yield from core.one(program.store.one.call.bind(key, {}))
            seen = None if found is None else program.seen(found)
            since = self.world.truth.since(program.began)
            if seen not in [version.get(key) for version in since]:
                raise Wrong(f"{key} is {seen}, not {since[-1].get(key)}")

        return steps(), None

    def _of(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        bound = program.store.of.call.bind((key[0],), {})
        return self._query(program, core, bound, lambda k, one: k[0] == key[0]), None

    def _group(self, program: Program, core: Any, key: Key, item: Any, values: Any) -> Any:
        bound = program.store.group.call.bind((values["c"],), {})
        return self._query(program, core, bound, lambda k, one: one["c"] == values["c"]), None

    def _query(self, program: Program, core: Any, bound: Any, wanted: Any) -> Any:
        def steps() -> Generator[Any, Any, None]:
            page = yield from core.page(bound, 100, None, None, False)
            found = {(one.a, one.b): program.seen(one) for one in page.items}
            if len(found) != len(page.items):
                raise Wrong(f"{bound.call.pattern} returned an item twice")
            since = self.world.truth.since(program.began)
            answers = [{k: v for k, v in version.items() if wanted(k, v)} for version in since]
            if found not in answers:
                raise Wrong(f"{bound.call.pattern} is {found}, not {answers[-1]}")

        return steps()

    # ---- the migrator ----

    def command(self) -> Actor:
        migrator = self.migration.migrator()

        def steps() -> Generator[Any, Any, None]:
            state: State = yield from migrator.ledger.read()
            if not state.active:
                yield from migrator.start()
            elif (
                self.backs
                and state.phase not in (Phase.NEW, Phase.CONTRACTING)
                and (self.random.random() < 0.15)
            ):
                self.backs -= 1
                yield from migrator.back()
            elif state.phase is Phase.CONTRACTING:
                yield from migrator.finish()
            elif self.random.random() < 0.1:
                yield from migrator.resume()
            else:
                yield from migrator.advance()

        return Actor("migrator", steps())


def run(seed: int) -> int:
    """One history from a seed; returns how many requests it made. Raises Wrong."""
    random = Random(seed)
    models = random_models(random)
    world = World(random, random.choice((0.0, 0.02, 0.05)))
    guards = random.choice((0, 0, 7))
    migration = models.migration(
        lease_seconds=LEASE_SECONDS, signature_seconds=SIGNATURE_SECONDS, guards=guards
    )
    try:
        with patch.object(following, "random", random):  # for the pauses of programs
            return _run(History(random, world, models, migration))
    except Wrong as wrong:
        raise Wrong(f"seed {seed}: {wrong}\n{models.source}") from wrong
    finally:
        world.close()


def _programs(history: History) -> list[Program]:
    models, world = history.models, history.world
    found = []
    for number in range(5):
        is_new = number > 2
        table = models.new if is_new else models.old
        [protocol] = table.protocols
        store = history.migration.open(protocol, world.database, clock=world.clock)
        model = next(iter(table.model.entities)).model
        value = models.value if is_new else "n"
        name = f"program {number}"
        found.append(Program(name, store, model, value, models.unique, is_new))
    return found


def _run(history: History) -> int:
    random, world = history.random, history.world
    history.models.old.create(world.database)
    programs = _programs(history)
    acting: dict[str, Actor] = {}
    migrator: Actor | None = history.command()
    while migrator is not None:
        if world.requests > 20_000:
            raise Wrong("the migration does not come to its end")
        if random.random() < 0.4:
            migrator = _migrate(history, migrator) or _next_command(history)
        else:
            program = random.choice(programs)
            actor = acting.get(program.name)
            if actor is None and program.left and random.random() < PACE:
                acting[program.name] = history.operation(program)
            elif actor is not None and not _operate(history, program, actor):
                del acting[program.name]
    compare_with_fresh(history, programs[-1])
    return world.requests


def _next_command(history: History) -> Actor | None:
    """None: the migration has ended."""
    ended = history.migration.status(history.world.database).phase is Phase.DONE
    return None if ended else history.command()


def _migrate(history: History, migrator: Actor) -> Actor | None:
    world = history.world
    if migrator.ready > world.now:
        world.now += 0.3
        return migrator
    if history.kills and migrator.started and history.random.random() < 0.01:
        history.kills -= 1
        request = migrator.request
        if not isinstance(request, type(None)) and hasattr(request, "operation"):
            world._may_be_late(migrator, request)
        return None
    try:
        return migrator if world.step(migrator) else None
    except (ApiFailure, LostAnswer, st.MigrationError):
        return None


def _operate(history: History, program: Program, actor: Actor) -> bool:
    """One step of a program's operation; whether it goes on."""
    if actor.ready > history.world.now:
        history.world.now += 0.05
        return True
    try:
        if history.world.step(actor):
            return True
    except st.MigrationError:
        return False  # this model must not run in this phase
    except (ApiFailure, LostAnswer, ConditionFailed):
        pass
    program.left -= 1
    return False


def compare_with_fresh(history: History, program: Program) -> None:
    """At the end the table is what the new model alone would have written."""
    table, world = history.models.new, history.world
    left = {}
    for raw in world.database.execute("Scan", {"TableName": table.name})["Items"]:
        if raw["pk"]["S"].startswith("~"):
            continue
        shown = {name: value for name, value in raw.items() if not name.startswith("~")}
        left[raw["pk"]["S"], raw["sk"]["S"]] = shown
    expected = {}
    for key, values in world.truth.items.items():
        item = program.item(key, values["c"], values["n"], values.get("s", ""))
        item = item.replace(t=values["t"])
        raw = table.dump(item)
        expected[raw["pk"]["S"], raw["sk"]["S"]] = raw
        if history.models.unique:
            name = f"unique#s#s#{values['s']}"
            owner_key = {k: raw[k] for k in ("pk", "sk")}
            expected[name, "unique"] = {
                "pk": {"S": name},
                "sk": {"S": "unique"},
                "owner": {"M": owner_key},
                "entityType": {"S": "unique"},
            }
    for raw in (*left.values(), *expected.values()):
        raw.pop("v", None)
    if left != expected:
        extra = {k: v for k, v in left.items() if expected.get(k) != v}
        missing = {k: v for k, v in expected.items() if left.get(k) != v}
        raise Wrong(f"at the end the table has {extra}, not {missing}")
