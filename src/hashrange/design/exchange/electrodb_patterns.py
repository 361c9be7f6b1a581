"""Access patterns as methods in TypeScript: see `electrodb`."""

import re
from collections.abc import Iterator, Mapping, Sequence

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import View
from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.schema import EntityKey, KeyColumn
from hashrange.design.declare.table_model import TableModel
from hashrange.design.exchange.electrodb_keys import (
    Refusal,
    quoted,
    sort_test,
    stored,
    text_of,
    value_type,
)
from hashrange.design.plan.planner import plan_given
from hashrange.design.plan.plans import Plan, Unplanned

_TOKEN = re.compile(r"[#:]\w+")


class PatternWriter:
    """Writes one pattern as a method of the object that a table's function returns."""

    def __init__(self, model: TableModel, table: str, pattern: Pattern, method: str) -> None:
        self.model, self.table, self.pattern, self.method = model, table, pattern, method
        [result, *_] = [*pattern.results, None]
        self.view: list[str] = []
        """The attributes of the view that the pattern returns, if it returns one."""
        if result is not None and issubclass(result, View):
            attributes = model.entity(pattern.entities[0]).attributes
            self.view = [quoted(attributes[name]) for name in result.model_fields]

    def text(self) -> str:
        """The method. Raises Refusal."""
        self._expect_portable()
        bodies = []
        whole, *shorter = self._plans()
        for plan in reversed(shorter):
            absent = next(a.name for a in self.pattern.arguments if a.name not in plan.given)
            bodies.append(
                f"      if (args.{absent} === undefined) {{\n{self._body(plan)}      }}\n"
            )
        bodies.append(self._body(whole))
        parameters = f"args: {{ {self._arguments()} }}" if self._arguments() else ""
        signature = f"{self.method}{self._generic()}({parameters}): Promise<{self._result()}>"
        title = self.pattern.title.replace("*/", "* /")
        return f"    /** {title} */\n    async {signature} {{\n{''.join(bodies)}    }},"

    def _expect_portable(self) -> None:
        pattern = self.pattern
        if pattern.search is not None:
            raise Refusal("ElectroDB has no SearchVectors")
        if len(pattern.results) > 1 and any(issubclass(one, View) for one in pattern.results):
            raise Refusal("it returns both views and whole items")
        if any(argument.unit is not None for argument in pattern.arguments):
            raise Refusal("its range is of whole months, days or hours")
        for model in pattern.entities:
            entity = self.model.entity(model)
            if entity.shapes.shape > 1:
                raise Refusal(f"{entity} has upgrades, which are functions in Python")
        if self.model.type_attribute is None and len(self.model.entities) > 1:
            raise Refusal("no attribute says which entity an item belongs to")

    def _plans(self) -> Iterator[Plan]:
        """The plan with all arguments, then without the last optional argument, and so on."""
        for arguments in self.pattern.variants():
            plan = plan_given(self.pattern, self.model, arguments)
            assert not isinstance(plan, Unplanned), plan
            self._expect(plan)
            yield plan

    def _expect(self, plan: Plan) -> None:
        if plan.operation == "Scan":
            raise Refusal("a scan of ElectroDB finds only items that ElectroDB wrote")
        if plan.pattern.by_type is not None:
            return
        route = plan.route
        self._expect_projected(plan)
        if route.bucket is not None:
            raise Refusal("it reads several partitions, one for each unit of time (@st.buckets)")
        if route.computes:
            raise Refusal("a computed field is a function in Python")
        if route.beginnings:
            raise Refusal("it reads by a prefix in the partition key")
        if len(route.key.hash) > 1 or len(route.key.range) > 1:
            raise Refusal("its key has several attributes")
        for part in (p for c in route.key.hash for p in c.template.placeholders):
            if part.shards and (part.field in route.bound or route.shard is not None):
                raise Refusal("it needs the number of a shard, which is computed with BLAKE2b")

    def _expect_projected(self, plan: Plan) -> None:
        project, columns = plan.source.project, (*plan.source.columns, *self.model.table.columns)
        projected = {*project, *(quoted(column.attribute) for column in columns)}
        if project != "ALL" and not plan.fetches:
            projected |= {quoted(name) for name in project if project != "KEYS_ONLY"}
            absent = [name for name in self.view if name not in projected]
            if absent:
                raise Refusal(f"its view reads {', '.join(absent)} from the text of a key")

    # ---- the signature ----

    def _generic(self) -> str:
        by_type = self.pattern.by_type is not None
        return f"<T extends keyof {self.table}Items>" if by_type else ""

    def _arguments(self) -> str:
        parameters = []
        for argument in self.pattern.arguments:
            if not argument.values:
                parameters.append(
                    f"{argument.name}{'?' * argument.optional}: {self._type(argument)}"
                )
        if self.pattern.by_type is not None:
            parameters.append(f"{self.pattern.by_type}: T")
        return "; ".join(parameters)

    def _type(self, argument: Argument) -> str:
        kind = None
        for model in self.pattern.entities:
            entity = self.model.entity(model)
            kind = kind or entity.fields.get(argument.of(entity).field)
        choices = kind.choices if kind is not None and argument.exact else ()
        shown = value_type(argument.python, choices)
        if argument.operator == "any of":
            return f"({shown})[]"
        return f"[{shown}, {shown}]" if argument.operator == "between" else shown

    def _result(self) -> str:
        pattern = self.pattern
        if pattern.shape == "count":
            return "number"
        shown = " | ".join(f"{self.table}{model.__name__}" for model in pattern.entities)
        if self.view:
            shown = f"Pick<{shown}, {' | '.join(self.view)}>"
        if pattern.by_type is not None:
            return f"{self.table}Items[T][]"
        return f"{shown} | null" if pattern.shape == "one" else f"({shown})[]"

    # ---- the body ----

    def _body(self, plan: Plan) -> str:
        if plan.pattern.by_type is not None:
            return self._by_type(plan)
        entity = f"entity{plan.route.entity}"
        if plan.operation == "GetItem":
            consistent = ", consistent: true" if plan.pattern.facts.consistent else ""
            key = _key(plan.route.entity, plan.route.key, self._values(plan))
            read = self._reading(plan, "page.data.Item ? [page.data.Item] : []")
            return (
                f"      const page: any = await {entity}.get({key} as any)"
                f'.go({{ data: "raw"{consistent} }} as any);\n'
                f"      return {read}[0] ?? null;\n"
            )
        asked = f"{entity}, partitions({self._partitions(plan)}), {self._options(plan)}"
        if plan.pattern.shape == "count":
            return f"      return living(await all({asked}), HIDES).length;\n"
        if plan.pattern.shape == "one" and plan.followed is None:
            return f"      return first({asked}, (raws) => {self._reading(plan, 'raws')});\n"
        items = self._reading(plan, f"await all({asked})")
        if plan.followed is None:
            return f"      return {items};\n"
        return self._follow(plan, items)

    def _reading(self, plan: Plan, raws: str) -> str:
        """A TypeScript expression for the results of a pattern.

        `raws` is the expression for the stored items.
        """
        types = " | ".join(f"{self.table}{entity}" for entity in plan.entities)
        names = ", ".join(quoted(entity.name) for entity in plan.entities)
        picked = f".map((item) => picked(item, [{', '.join(self.view)}]))" if self.view else ""
        return f"reads<{types}>({raws}, {names}){picked}"

    def _follow(self, plan: Plan, items: str) -> str:
        followed, relation = plan.followed, plan.route.entity
        assert followed is not None
        values = {
            field: f"one[{quoted(relation.attributes[held])}]!" for field, held in plan.held.items()
        }
        if any(p.shards for column in followed.key.columns for p in column.template.placeholders):
            raise Refusal("it needs the number of a shard, which is computed with BLAKE2b")
        key = _key(followed, followed.key, values)
        every = (
            f"      const items = reads<{self.table}{followed}>(rows, {quoted(followed.name)});\n"
        )
        last = "items[0] ?? null" if plan.pattern.shape == "one" else "items"
        return (
            f"      const keys = {items}.map((one) => ({key}));\n"
            f"      const rows = await getAll(entity{followed}, keys);\n{every}"
            f"      return {last};\n"
        )

    def _by_type(self, plan: Plan) -> str:
        name, column = plan.pattern.by_type, plan.source.hash[0]
        names = ", ".join(f"{e}: {quoted(e.name)}" for e in self.model.entities)
        index = quoted(plan.source.name or "primary")
        key = f"{{ {quoted(column.attribute)}: name }}"
        partition = f"{{ index: {index}, key: {key}, sort: null, test: {{}} }}"
        return (
            f"      const name = {{ {names} }}[args.{name}];\n"
            f"      const found = await all(entities[args.{name}], [{partition}], {{}});\n"
            f"      return reads<{self.table}Items[T]>(found, name);\n"
        )

    # ---- the request ----

    def _argument(self, name: str) -> str:
        optional = any(a.optional for a in self.pattern.arguments if a.name == name)
        return f"args.{name}{'!' * optional}"

    def _values(self, plan: Plan) -> dict[str, str]:
        return {
            field: f"one_{field}" if a.operator == "any of" else self._argument(a.name)
            for field, a in plan.route.bound.items()
        }

    def _partitions(self, plan: Plan) -> str:
        route, values = plan.route, self._values(plan)
        columns = [*route.key.hash, *(route.equals if plan.common is None else ())]
        sort = quoted(route.key.range[0].attribute) if route.key.range else "null"
        members = {
            "index": quoted(plan.source.name or "primary"),
            "key": _columns(route.entity, columns, values),
            "sort": sort,
            "test": self._test(plan, values),
        }
        partitions = f"[{_object(members)}]"
        for argument in route.scattered:
            known = f"args.{argument.name}"
            if argument.values:
                kind = route.entity.fields[argument.field]
                contents = [next(iter(kind.encode(v).items())) for v in argument.values]
                shown = [c if tag == "N" else quoted(c) for tag, c in contents]
                known = f"[{', '.join(shown)}] as const"
            partitions = f"distinct({known}).flatMap((one_{argument.field}) => {partitions})"
        if route.shards is not None:
            count = route.shards.shards
            partitions = f"[...Array({count}).keys()].flatMap((shard) => {partitions})"
        return partitions

    def _test(self, plan: Plan, values: Mapping[str, str]) -> str:
        route = plan.route
        if plan.common is not None:
            if not route.key.range or not plan.common:
                return "{}"
            template = route.key.range[0].template
            return f"{{ begins: {text_of(route.entity, template, plan.common, values)} }}"
        if plan.test is None:
            return "{}"
        return sort_test(route.entity, plan.test, values, self._argument)

    def _options(self, plan: Plan) -> str:
        facts, members = plan.pattern.facts, {}
        members["order"] = quoted("desc" if facts.latest else "asc")
        if facts.consistent:
            members["consistent"] = "true"
        exact = plan.test is None or not any(
            end is not None and end.operator in ("after", "before")
            for end in (plan.test.low, plan.test.high)
        )
        if plan.limited and exact and not self.model.hide_expired:
            members["limit"] = "1"
        where = " AND ".join([*self._types(plan), *self._filter(plan)])
        if where:
            members["where"] = f"(a, op) => `{where}`"
        return _object(members)

    def _types(self, plan: Plan) -> Iterator[str]:
        """The filter that leaves out items of other entities in the range."""
        attribute, project = self.model.type_attribute, plan.source.project
        if plan.outsiders and attribute and (project == "ALL" or attribute in project):
            place = f"a[{quoted(attribute)}]"
            values = ", ".join(f"${{op.value({place}, {quoted(e.name)})}}" for e in plan.entities)
            yield f"${{op.name({place})}} IN ({values})"

    def _filter(self, plan: Plan) -> Iterator[str]:
        condition, entity = plan.filter, plan.route.entity
        if condition is None:
            return
        fields = {parameter: field for field, parameter in condition.pairs}
        if "." in condition.text or "[" in condition.text:
            raise Refusal("its filter has a nested path")
        if not set(condition.names.values()) <= set(entity.attributes.values()):
            raise Refusal(f"its filter has fields that {entity} lacks")

        def placed(match: re.Match[str]) -> str:
            name = match[0]
            if name[0] == "#":
                return f"${{op.name(a[{quoted(condition.names[name])}])}}"
            if name[1:] not in fields:
                raise Refusal(f"its filter does not compare {name} with a field")
            field = fields[name[1:]]
            value = stored(entity, field, self._argument(name[1:]))
            return f"${{op.value(a[{quoted(entity.attributes[field])}], {value})}}"

        yield f"({_TOKEN.sub(placed, condition.text)})"


def _key(entity: Entity, key: EntityKey, values: Mapping[str, str]) -> str:
    return _columns(entity, key.columns, values)


def _columns(entity: Entity, columns: Sequence[KeyColumn], values: Mapping[str, str]) -> str:
    """An object with the key attributes and expressions for their values."""
    members = {}
    for column in columns:
        if column.natural is not None:
            value = stored(entity, column.natural, values[column.natural])
        else:
            value = text_of(entity, column.template, column.template.parts, values)
        members[quoted(column.attribute)] = value
    return _object(members)


def _object(members: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{name}: {value}' for name, value in members.items())} }}"
