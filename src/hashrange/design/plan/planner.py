"""Choosing the key or index that serves a pattern, or explaining why none does.

The planner tries every key of the table. A key serves a pattern if each argument is a field of its
partition key or of a leading part of its sort key. If items of other entities are in the same range
of keys, they are read too, and are filtered out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hashrange.design.declare import conditions
from hashrange.design.declare.argument_types import check_argument, unknown_field_error
from hashrange.design.declare.conditions import FieldCondition
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.keys.possible_texts import ANY, REST, CharRun
from hashrange.design.declare.keys.templates import Part
from hashrange.design.declare.known_values import known_values
from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.schema import EntityKey, KeyColumn, Source
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.types import tag_of
from hashrange.design.errors import DeclarationError, suggest
from hashrange.design.plan.followed import held_key
from hashrange.design.plan.forms import expect_one_form
from hashrange.design.plan.plain_keys import plain_key
from hashrange.design.plan.plans import OperationName, Plan, Unplanned
from hashrange.design.plan.projections import missing_fields, needed_fields
from hashrange.design.plan.routes import KeyRefusal, Route, find_route
from hashrange.design.plan.searches import find_search
from hashrange.design.plan.unions import is_constant, shared_beginning

_RANK = {"table": 0, "LSI": 1, "GSI": 2}


def plan_variants(pattern: Pattern, model: TableModel) -> Plan | Unplanned:
    """The plan for calls with all arguments.

    The result is Unplanned if no key serves some call, with or without optional arguments. Raises
    DeclarationError for an argument that fits no field or that no plan uses.
    """
    planned = [plan_given(pattern, model, arguments) for arguments in pattern.variants()]
    return next((one for one in planned if isinstance(one, Unplanned)), planned[0])


def plan_given(
    pattern: Pattern, model: TableModel, arguments: Sequence[Argument]
) -> Plan | Unplanned:
    """The plan for a call with these arguments, in which all other arguments are None.

    Raises DeclarationError for an argument that fits no field, or for a field that old items have
    in another form.
    """
    planner = _Planner(pattern, model, arguments)
    plan = planner.plan()
    if isinstance(plan, Plan):
        asked = [*planner.held.values(), *(plan.filter.fields if plan.filter is not None else ())]
        expect_one_form(pattern, planner.entities, plan.routes, asked)
    return plan


class _Planner:
    def __init__(self, pattern: Pattern, model: TableModel, arguments: Sequence[Argument]) -> None:
        self.pattern = pattern
        self.model = model
        self.followed = None
        models: Sequence[type[Any]] = pattern.entities
        if pattern.facts.through is not None:
            self.followed = model.entity(models[0])
            models = [pattern.facts.through]
        self.entities = [model.entity(m) for m in models]
        self.held: Mapping[str, str] = {}
        if self.followed is not None:
            self.held = held_key(pattern, self.entities[0], self.followed, model)
        self.given = frozenset(a.name for a in arguments)
        self.filter = self._filter(arguments)
        filtered = self.filter.parameters if self.filter else frozenset()
        self.arguments = [a for a in arguments if a.name not in filtered]
        self.arguments += [self._scattered(name) for name in pattern.facts.scatter]
        equal = self.filter.equalities if self.filter else {}
        self.filtered = [a for a in arguments if equal.get(a.field) == a.name and not a.optional]
        self._check_arguments()

    def plan(self) -> Plan | Unplanned:
        if self.pattern.by_type is not None:
            return self._by_type()
        if self.pattern.search is not None:
            return self._search()
        candidates, refusals = [], []
        for source in self.model.sources:
            try:
                candidates.append(self._through(source))
            except KeyRefusal as refusal:
                refusals.append((source, refusal))
        if candidates:
            return min(candidates, key=self._badness)
        if self.pattern.facts.scan is not None:
            self._expect_no_argument("a Scan")
            return self._plan(self.model.table, "Scan", (), None, ())
        return self._unserved(refusals)

    # ---- arguments ----

    def _filter(self, arguments: Sequence[Argument]) -> FieldCondition | None:
        text = self.pattern.facts.where
        if text is None:
            return None
        entity = self.entities[0]
        at = self.pattern.function
        condition = conditions.parse(text, entity.fields, entity.attributes, at, "#f")
        tags = {a.name: tag_of(a.python) for a in arguments}
        conditions.check_values(text, condition, tags, at)
        return condition

    def _scattered(self, field: str) -> Argument:
        """An argument that has every value of the field (@st.scatter). Raises DeclarationError."""
        values: dict[Any, None] = {}
        for entity in self.entities:
            if field not in entity.fields:
                text = f"@st.scatter: {field} is not a field{suggest(field, entity.fields)}"
                raise DeclarationError(text, at=self.pattern.function)
            known = known_values(entity.fields[field])
            if not known:
                raise DeclarationError(
                    f"@st.scatter: the values of {field} are not known: use an enum, a literal or "
                    f"an int with both bounds, or let callers name them with st.AnyOf",
                    at=self.pattern.function,
                )
            values |= dict.fromkeys(known)
        python = self.entities[0].fields[field].python
        return Argument(f"every {field}", field, "any of", python, False, values=tuple(values))

    def _check_arguments(self) -> None:
        names = {str(entity) for entity in self.entities}
        for general in self.arguments:
            for name, _ in general.fields:
                if name not in names:
                    text = f"{general.name!r}: the pattern returns no {name}{suggest(name, names)}"
                    raise DeclarationError(text, at=self.pattern.function)
            for entity in self.entities:
                argument = general.of(entity)
                if argument.operator == "shard" and argument.field == argument.name:
                    continue  # it names no field
                if argument.field not in entity.fields:
                    raise unknown_field_error(argument, entity.fields, self.pattern.function)
                check_argument(argument, entity.fields[argument.field], self.pattern.function)

    def _expect_no_argument(self, reading: str) -> None:
        for argument in self.arguments:
            raise DeclarationError(
                f"{argument.name!r} has no effect on {reading}: filter by it with "
                f'@st.where("{argument.field} = :{argument.name}")',
                at=self.pattern.function,
            )

    # ---- the table or one index ----

    def _through(self, source: Source) -> Plan:
        routes = tuple(self._best_route(entity, source) for entity in self.entities)
        if self.pattern.facts.consistent and source.kind == "GSI":
            raise KeyRefusal(f"{source.name} is only eventually consistent", rule="I13")
        self._expect_projected(source, routes)
        self._expect_start(routes)
        common = None
        if len(routes) > 1:
            common = shared_beginning(routes)
        get = (
            source.kind == "table"
            and self.pattern.shape == "one"
            and self.filter is None
            and len(routes) == 1
            and routes[0].complete
        )
        if get:
            return self._plan(source, "GetItem", routes, None, ())
        outsiders = tuple(self._outsiders(source, routes, common))
        self._expect_countable(source, outsiders)
        if not outsiders and source.kind == "GSI":
            routes, common = self._without_needless_test(source, routes, common)
        return self._plan(source, "Query", routes, common, outsiders)

    def _expect_countable(self, source: Source, outsiders: Sequence[Entity]) -> None:
        """Raise KeyRefusal if a count would include items of other entities."""
        attribute, project = self.model.type_attribute, source.project
        known = attribute is not None and (project == "ALL" or attribute in project)
        if self.pattern.shape == "count" and outsiders and not known:
            others = " and ".join(str(entity) for entity in outsiders)
            reason = "the table has no type attribute"
            if attribute is not None:
                reason = f"{source.name} does not project {attribute}"
            raise KeyRefusal(f"items of {others} would be counted too, since {reason}", rule="I16")

    def _expect_start(self, routes: Sequence[Route]) -> None:
        """Raise KeyRefusal if it is unknown which partition to read first (@st.buckets)."""
        newest = self.pattern.facts.latest and self.pattern.shape == "one"
        for route in routes:
            if route.bucket is not None and route.bucket.low is None and not newest:
                raise KeyRefusal(
                    f"the range of {route.bucket.placeholder.field} needs a start, e.g. st.AtLeast"
                )

    def _best_route(self, entity: Entity, source: Source) -> Route:
        refusal = None
        wanted = self.pattern.facts.using
        if wanted is not None and all(known.name != wanted for known in self.model.indexes):
            text = f"@st.using: {self.model.name} has no index {wanted}"
            raise DeclarationError(text, at=self.pattern.function)
        if wanted is not None and source.name != wanted:
            raise KeyRefusal(f"@st.using selects {wanted} instead")
        for key in (entity.key, *entity.indexes):
            if key.source.name == source.name:
                if key.when is not None and wanted is None:
                    hint = f"read it with @st.using({entity}.{key.declared_as})"
                    raise KeyRefusal(f"it holds only some items; {hint}")
                try:
                    arguments = [argument.of(entity) for argument in self.arguments]
                    buckets = self.pattern.facts.buckets is not None
                    return find_route(entity, key, arguments, self.filtered, buckets=buckets)
                except KeyRefusal as error:
                    refusal = error
        raise refusal or KeyRefusal(f"{entity} is not in it", [*entity.fields])

    def _plan(
        self,
        source: Source,
        operation: OperationName,
        routes: tuple[Route, ...],
        common: tuple[Part, ...] | None,
        outsiders: tuple[Entity, ...],
    ) -> Plan:
        return Plan(
            self.pattern, source, operation, routes, common, outsiders,
            self.filter, self.given, self.followed, self.held,
        )  # fmt: skip

    def _badness(self, plan: Plan) -> tuple[Any, ...]:
        """A value by which plans are compared: the best plan has the least value.

        A GetItem is best. Next come reads that miss no item, and among them reads without other
        entities' items. Then the kind of the source and the length of the known sort key decide.
        """
        narrow = sum(len(route.known) for route in plan.routes)
        get = plan.operation == "GetItem"
        return (not get, _leaves_out(plan), bool(plan.outsiders), _RANK[plan.source.kind], -narrow)

    def _expect_projected(self, source: Source, routes: Sequence[Route]) -> None:
        """Raise KeyRefusal if a global index lacks a field that the pattern returns.

        A local index may lack it, because DynamoDB then fetches it from the table.
        """
        if source.kind != "GSI" or self.pattern.shape == "count":
            return
        for route in routes:
            missing = missing_fields(
                needed_fields(self.pattern, route.entity), route.entity, source
            )
            if self.followed is not None:
                missing = [f for f in missing if f in self.held.values()]
            if missing:
                names = ", ".join(map(repr, missing))
                where = f"{route.entity}.{route.key.declared_as}"
                raise KeyRefusal(
                    f"{source.name} does not project {', '.join(missing)}",
                    rule="I11",
                    proposal=f"add {names} to project= of {where}",
                )

    # ---- other entities in the same range ----

    def _outsiders(
        self, source: Source, routes: Sequence[Route], common: tuple[Part, ...] | None
    ) -> Iterator[Entity]:
        inside = {route.entity.name for route in routes}
        for other in self.model.entities:
            if other.name not in inside:
                plain = plain_key(other, source)
                for key in (other.key, *other.indexes, *([plain] if plain is not None else ())):
                    if key.source.name == source.name and self._reads(routes[0], common, key):
                        yield other
                        break

    def _reads(self, route: Route, common: tuple[Part, ...] | None, other: EntityKey) -> bool:
        clean = self.model.clean
        for mine, theirs in zip(route.key.hash, other.hash, strict=True):
            if not mine.meets(theirs, clean, clean):
                return False
        for n, (mine, theirs) in enumerate(zip(route.key.range, other.range, strict=True)):
            runs = self._asked(route, common, mine, n)
            if runs is None:
                return True
            if not self.model.can_be(theirs, runs):
                return False
        return True

    def _asked(
        self, route: Route, common: tuple[Part, ...] | None, column: KeyColumn, number: int
    ) -> list[CharRun] | None:
        """The texts that the query reads in sort column `number`; None if it reads all texts."""
        if column.tag != "S":
            return None
        clean = self.model.clean
        if common is not None:
            return column.template.beginning(clean, common) if number == 0 else None
        if number < len(route.equals):
            return column.template.runs(clean)
        if number == len(route.equals) and route.test is not None:
            known = column.template.runs(clean, route.test.parts)
            if route.test.ranged or route.test.begins is not None:
                return [*known, CharRun(ANY), REST]
            return [*known, REST]
        return None

    def _without_needless_test(
        self, source: Source, routes: tuple[Route, ...], common: tuple[Part, ...] | None
    ) -> tuple[tuple[Route, ...], tuple[Part, ...] | None]:
        """Drop a test for constant text at the start of an index's sort key.

        It is not needed if the query's partitions have only the entity's own items.
        """
        route, *others = routes
        test = route.test
        if others or route.equals:
            return routes, common
        if test is None or test.ranged or test.begins or not is_constant(test.parts):
            return routes, common
        wider = replace(route, equals=(), test=None)
        if any(self._outsiders(source, [wider], None)):
            return routes, common
        return (wider,), common

    # ---- all items of an entity ----

    def _by_type(self) -> Plan | Unplanned:
        self._expect_no_argument("a query by type")
        source = self.model.by_type
        if source is None:
            return self._unplanned(
                "it needs an index over the entity's type", proposal='st.Table(..., by_type="GSI1")'
            )
        return self._plan(source, "Query", (), None, ())

    # ---- the nearest items ----

    def _search(self) -> Plan | Unplanned:
        try:
            index, routes = find_search(self.pattern, self.entities, self.model, self.arguments)
        except KeyRefusal as refusal:
            return self._unplanned(refusal.reason, refusal.rule)
        return replace(self._plan(index.source, "SearchVectors", routes, None, ()), search=index)

    # ---- patterns that nothing serves ----

    def _unserved(self, refusals: Sequence[tuple[Source, KeyRefusal]]) -> Unplanned:
        near = [(s, r) for s, r in refusals if not r.missing] or list(refusals)
        reason = "; ".join(f"{source}: {refusal.reason}" for source, refusal in near)
        rule = next((r.rule for _, r in near if r.rule != "A01"), "A01")
        proposal = next((r.proposal for _, r in near if r.proposal), "")
        return self._unplanned(reason, rule, proposal)

    def _unplanned(self, reason: str, rule: str = "A01", proposal: str = "") -> Unplanned:
        absent = [a.name for a in self.pattern.arguments if a.name not in self.given]
        return Unplanned(self.pattern, reason, rule, tuple(absent), proposal)


def _leaves_out(plan: Plan) -> bool:
    """Whether the index can lack items, because a key field without an argument can be None."""
    return any(
        route.entity.fields[name].optional and name not in route.bound
        for route in plan.routes
        for name in route.key.fields
    )
