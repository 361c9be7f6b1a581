"""Described loads: the rates of a model's access patterns and writes, in TOML.

    model = "sensors.py"
    minutes = 10

    [rates]
    "Sensors.measurements" = 20
    "create Measurement" = { rate = 500, keys = "zipf(1.1)", of = 500 }

The units of each call are those of `hashrange design cost`, so both commands compute the same
dollars for requests.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from hashrange.database.connecting import connect
from hashrange.design import Table as Model
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import EntityKey
from hashrange.design.declare.volumes import Writes
from hashrange.design.plan.plans import Plan
from hashrange.design.tools.cost.cost import cost
from hashrange.design.tools.cost.examples import Examples
from hashrange.design.tools.cost.lines import CostLine
from hashrange.design.tools.cost.units import TABLE
from hashrange.design.tools.cost.writes import WriteCosts
from hashrange.design.tools.rules.rule import Context
from hashrange.metering.trace import LIMITS, Head
from hashrange.model.settings import Settings
from hashrange.runtime.prediction.loads import (
    KEYS_MAX,
    REQUESTS_MAX,
    STARTED,
    Call,
    Described,
    Keys,
    Part,
)
from hashrange.runtime.prediction.reading import TraceError

MINUTES = 10.0
KEYS_ASSUMED = 10_000
_ZIPF = re.compile(r"zipf\((\d+(?:\.\d+)?)\)")
_WRITE = re.compile(r"(create|delete|edit) (\w+)(?:: (.+))?")


class _Began:
    """A clock that is stopped at the time at which described loads begin."""

    def now(self) -> float:
        return STARTED


class Loads:
    """A load on one model. `assumed` lists the assumptions made for values that the description
    omits."""

    def __init__(self, path: Path, model: Model, content: Mapping[str, Any]) -> None:
        self.path = str(path)
        self.model = model
        self.assumed: list[str] = []
        self.minutes = self._number("minutes", content.get("minutes", MINUTES))
        rates = content.get("rates", {})
        if not isinstance(rates, dict):
            raise self._wrong("rates", "a TOML table with the names of calls and their rates")
        self.lines = [*cost(model).lines]
        for name in rates:
            if name not in [line.name for line in self.lines]:
                self.lines.append(self._new_write(name))
        self.rates = rates

    def described(self) -> Described:
        calls = [self._call(line) for line in self.lines]
        total = sum(call.rate for call in calls) * 60 * self.minutes
        if not total:
            raise TraceError(
                f"{self.path}: no rates; declare them with st.rate and st.writes, or in [rates]"
            )
        if total > REQUESTS_MAX:
            raise TraceError(f"{self.path}: {total:,.0f} requests are too many; give fewer minutes")
        with connect(clock=_Began()) as database:
            self.model.create(database)
            [table] = database.runtime.definitions()
        settings = {name: getattr(Settings(), name) for name in LIMITS}
        head = Head(
            keys="exact", started=STARTED, throughput="measured", settings=settings,
            source="described",
        )  # fmt: skip
        self.assumed.append(
            "requests come at regular intervals; no item collection is split, however hot it is"
        )
        return Described(self.path, head, table, calls, 60 * self.minutes)

    # ---- calls ----

    def _new_write(self, name: str) -> CostLine:
        match = _WRITE.fullmatch(name)
        known = {str(entity): entity for entity in self.model.model.entities}
        if match is None or match[2] not in known:
            names = ", ".join(line.name for line in self.lines)
            raise self._wrong(
                f'rates."{name}"',
                f"the name of a call: {names}, or `create ENTITY`, `delete ENTITY`, "
                "`edit ENTITY: field`",
            )
        kind, entity = match[1], known[match[2]]
        fields = tuple(part.strip() for part in (match[3] or "").split(",")) if match[3] else ()
        rates = {"create": 1.0} if kind == "create" else {"delete": 1.0} if kind == "delete" else {}
        wanted = Writes(entity.model, rates.get("create", 0), fields, 1.0, rates.get("delete", 0))
        wanted.check(self.model.model)
        lines = WriteCosts(Context(self.model), Examples(self.model)).lines(wanted)
        for line in lines:
            if line.name == name:
                return line
        raise self._wrong(f'rates."{name}"', "a write that the model can make")

    def _call(self, line: CostLine) -> Call:
        declared = self.rates.get(line.name, line.rate or 0)
        place = f'rates."{line.name}"'
        form: Mapping[str, Any] = declared if isinstance(declared, dict) else {"rate": declared}
        if unknown := set(form) - {"rate", "keys", "of"}:
            raise self._wrong(
                place, f'a table with only "rate", "keys" and "of", but it has "{min(unknown)}"'
            )
        rate = self._number(f"{place}.rate", form.get("rate", line.rate or 0), above_zero=False)
        zipf = self._zipf(f"{place}.keys", form.get("keys", "uniform"))
        of = form.get("of")
        if of is not None:
            of = int(self._number(f"{place}.of", of))
        if rate and "keys" not in form:
            self.assumed.append(f"{line.name}: all keys are equally frequent")
        parts = [
            Part(None if name == TABLE else name, written, units, self._keys(line, name, of, rate))
            for written, counts in ((False, line.reads), (True, line.writes))
            for name, units in counts.items()
            if units
        ]
        return Call(line.name, rate, tuple(parts), zipf)

    def _keys(self, line: CostLine, source: str, of: int | None, rate: float) -> Keys:
        """The partition keys that the calls use in `source`, the table or an index. `of` is the
        number of keys, if the description gives it. Otherwise it follows from the volumes, or is
        assumed."""
        entities = self._entities(line)
        by_type = self.model.model.by_type
        if by_type is not None and source == by_type.name and entities:
            return Keys(entities[0].name)  # one key for all items of an entity
        pair = self._entity_key(entities, None if source == TABLE else source)
        if pair is None:
            return Keys(f"{line.name} in {source}", of or KEYS_ASSUMED)
        entity, key = pair
        templates = [column.template for column in key.hash]
        fields = {field for template in templates for field in template.fields}
        name = " ".join(str(template) for template in templates)
        if not fields:
            return Keys(name)
        if of is not None:
            return Keys(name, min(of, KEYS_MAX))
        count = self._count(entity, fields)
        if count is None:
            count = KEYS_ASSUMED
            if rate:
                place = "the table" if source == TABLE else source
                text = f"{count:,} different partition keys of the form {name} in {place}"
                self.assumed.append(f"{line.name}: {text}")
        return Keys(name, max(1, min(int(count), KEYS_MAX)))

    def _count(self, entity: Entity, fields: set[str]) -> float | None:
        """The number of combinations of values of these fields: the number of items, in the
        volumes, of an entity whose key has exactly these fields. None if there is no such
        entity."""
        for other in (entity, *self.model.model.entities):
            if set(other.key.fields) == fields:
                count = self.model.volumes.count(other)
                if count is not None:
                    return count
        return None

    def _entities(self, line: CostLine) -> Sequence[Entity]:
        """The entities that a call reads or writes."""
        if line.kind == "pattern":
            plan = next(p for p in self.model.plans.values() if str(p.pattern) == line.name)
            return plan.entities if isinstance(plan, Plan) else ()
        name = line.name.split()[1].rstrip(":")
        return [entity for entity in self.model.model.entities if str(entity) == name]

    def _entity_key(
        self, entities: Sequence[Entity], source: str | None
    ) -> tuple[Entity, EntityKey] | None:
        for entity in entities:
            for key in (entity.key, *entity.indexes):
                if key.source.name == source:
                    return entity, key
        return None

    # ---- values ----

    def _number(self, place: str, value: object, above_zero: bool = True) -> float:
        right = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if not right or float(value) < 0 or (above_zero and not value):  # type: ignore[arg-type]
            least = "above 0" if above_zero else "of at least 0"
            raise self._wrong(place, f"a number {least}, not {value!r}")
        return float(value)  # type: ignore[arg-type]

    def _zipf(self, place: str, value: object) -> float | None:
        if value == "uniform":
            return None
        match = _ZIPF.fullmatch(value) if isinstance(value, str) else None
        if match is None or not 0 < float(match[1]) <= 10:
            raise self._wrong(place, f'"uniform" or "zipf(1.1)", not {value!r}')
        return float(match[1])

    def _wrong(self, place: str, text: str) -> TraceError:
        return TraceError(f"{self.path}: {place} must be {text}")


def read(path: Path, models: Any) -> Loads:
    """The load that a file describes: a model with its rates, or TOML that names a model.

    `models` returns the models that a Python file declares. Raises TraceError.
    """
    if path.suffix == ".py":
        return Loads(path, _one(path, models(path)), {})
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: {error}") from None
    if unknown := set(content) - {"model", "table", "minutes", "rates"}:
        raise TraceError(f"{path}: {min(unknown)}: use only model, table, minutes and rates")
    name, table = content.get("model"), content.get("table")
    if not isinstance(name, str):
        raise TraceError(f'{path}: model is missing, e.g. model = "model.py"')
    if table is not None and not isinstance(table, str):
        raise TraceError(f"{path}: table must be the name of a table, not {table!r}")
    return Loads(path, _one(path, models(path.parent / name), table), content)


def _one(path: Path, models: Sequence[Model], name: str | None = None) -> Model:
    chosen = [model for model in models if name in (None, model.name)]
    names = ", ".join(model.name for model in models)
    if not chosen:
        raise TraceError(f"{path}: the model has no table {name} (it has {names})")
    if len(chosen) > 1:
        raise TraceError(f'{path}: the model has several tables ({names}); name one: table = "…"')
    return chosen[0]
