"""Builds a plan's requests from the arguments of a call."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from hashrange.design.declare.item import View
from hashrange.design.declare.keys.key_length import check_key_value
from hashrange.design.declare.schema import KeyColumn
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import BadValue
from hashrange.design.execute.reads.comparisons import Arguments, comparison
from hashrange.design.execute.reads.spread import (
    bucket_numbers,
    choices,
    present,
    shard_numbers,
)
from hashrange.design.plan.plans import Plan
from hashrange.model import limits
from hashrange.model.values import AttributeValue, Item, compare, equal


class KeyRange(NamedTuple):
    """The key condition of one Query: equal values, then at most one comparison.

    Ranges with the same `group` are read together; the groups are read one after another.
    """

    equals: tuple[tuple[str, AttributeValue], ...]
    attribute: str = ""
    operator: str = ""
    operands: tuple[AttributeValue, ...] = ()
    group: int = 0

    def holds(self, position: Item) -> bool:
        """Whether a key in wire form is in the range."""
        if any(not equal(position[name], value) for name, value in self.equals):
            return False
        if not self.operator:
            return True
        value = position[self.attribute]
        if self.operator == "begins_with":
            return bool(value.get("S", "").startswith(self.operands[0]["S"]))
        signs = [compare(value, operand) for operand in self.operands]
        if any(sign is None for sign in signs):
            return False
        first = signs[0] or 0
        if self.operator == "BETWEEN":
            return first >= 0 and (signs[1] or 0) <= 0
        return {"<": first < 0, "<=": first <= 0, ">": first > 0, ">=": first >= 0}[self.operator]


class RequestBuilder:
    """Builds the requests of one plan."""

    def __init__(self, plan: Plan, model: TableModel) -> None:
        self.plan = plan
        self.model = model
        self.table_name = model.name
        self.clock = present

    @property
    def limited(self) -> bool:
        """Whether the request has Limit=1. A table that hides expired items cannot use it."""
        return self.plan.limited and not self.model.hide_expired

    @property
    def may_skip(self) -> bool:
        """Whether the result may lack some of the items that are read."""
        plan = self.plan
        return plan.filtered or plan.followed is not None or self.model.hide_expired

    # ---- requests ----

    def key(self, arguments: Arguments) -> Item:
        """The primary key of a GetItem. Raises BadValue."""
        return self.plan.route.entity.primary_key(self._values(arguments))

    def get(self, arguments: Arguments) -> dict[str, Any]:
        return {"TableName": self.table_name, "Key": self.key(arguments), **self._get_constant}

    @cached_property
    def _get_constant(self) -> dict[str, Any]:
        request: dict[str, Any] = {}
        if self.plan.pattern.facts.consistent:
            request["ConsistentRead"] = True
        if self._projection:
            names = {f"#p{n}": name for n, name in enumerate(self._projection)}
            request["ProjectionExpression"] = ", ".join(names)
            request["ExpressionAttributeNames"] = names
        return request

    def queries(
        self, arguments: Arguments, reverse: bool = False, now: datetime | None = None
    ) -> list[tuple[KeyRange | None, dict[str, Any]]]:
        """(range, request) for each partition to read; empty if no key can be in the range.

        With @st.buckets, a range without an upper end is read up to the bucket of `now`.
        """
        forward = self.plan.pattern.facts.latest == reverse
        queries = self._queries(arguments, forward, now or self.clock())
        if reverse:
            for _, request in queries:
                request["ScanIndexForward"] = forward
        return queries

    def _queries(
        self, arguments: Arguments, forward: bool, now: datetime
    ) -> list[tuple[KeyRange | None, dict[str, Any]]]:
        try:
            if self.plan.operation == "Scan":
                return [(None, self._request(None, arguments))]
            ranges = self._ranges(arguments, forward, now)
            return [(asked, self._request(asked, arguments)) for asked in ranges]
        except BadValue as error:
            raise error.of(self.plan.entities[0] if self.plan.routes else "") from None

    def _request(self, asked: KeyRange | None, arguments: Arguments) -> dict[str, Any]:
        operator = None if asked is None else asked.operator
        form = self._forms.get(operator)
        if form is None:
            form = self._forms[operator] = self._form(asked)
        values: Item = {}
        if asked is not None:
            equals = [value for _, value in asked.equals]
            values.update(zip(form.placeholders, (*equals, *asked.operands), strict=True))
        values |= form.values
        if self.plan.filter is not None:
            values |= self.plan.filter.bind(arguments)
        if self._counts_unexpired:
            values[":x"] = {"N": str(int(time.time()))}
        request = dict(form.request)
        if values:
            request["ExpressionAttributeValues"] = values
        return request

    @cached_property
    def _forms(self) -> dict[str | None, "_Form"]:
        """A cache of requests without the values of a call, by the operator on the sort key."""
        return {}

    def _form(self, asked: KeyRange | None) -> "_Form":
        request = self._constant()
        names: dict[str, str] = {}
        placeholders: list[str] = []
        if asked is not None:
            request["KeyConditionExpression"], placeholders = _key_condition(asked, names)
        values = self._add_filter(request, names)
        if self._projection:
            shown = {f"#p{n}": name for n, name in enumerate(self._projection)}
            request["ProjectionExpression"] = ", ".join(shown)
            names |= shown
        if names:
            request["ExpressionAttributeNames"] = names
        return _Form(request, placeholders, values)

    def _constant(self) -> dict[str, Any]:
        plan = self.plan
        request: dict[str, Any] = {"TableName": self.table_name}
        if plan.source.name is not None:
            request["IndexName"] = plan.source.name
        if plan.pattern.facts.latest:
            request["ScanIndexForward"] = False
        if plan.pattern.facts.consistent:
            request["ConsistentRead"] = True
        if plan.pattern.shape == "count":
            request["Select"] = "COUNT"
        elif plan.fetches:
            request["Select"] = "ALL_ATTRIBUTES"
        if self.limited:
            request["Limit"] = 1
        request["ReturnConsumedCapacity"] = "TOTAL"
        return request

    @cached_property
    def _projection(self) -> tuple[str, ...]:
        """The attributes to project if the pattern returns a single view."""
        plan, results = self.plan, self.plan.pattern.results
        if plan.pattern.shape == "count" or len(results) != 1 or plan.followed is not None:
            return ()
        if not issubclass(results[0], View) or plan.source.project != "ALL":
            return ()
        entity = plan.entities[0]
        wanted = [entity.attributes[name] for name in results[0].model_fields]
        wanted += [column.attribute for column in plan.source.columns + self.model.table.columns]
        if self.model.type_attribute is not None:
            wanted.append(self.model.type_attribute)
        return tuple(dict.fromkeys(wanted))

    def _add_filter(self, request: dict[str, Any], names: dict[str, str]) -> Item:
        """Add the filter to the request. Returns its values that do not depend on the call."""
        texts, types = [], {}
        attribute = self.model.type_attribute
        if self._filters_types and attribute is not None:
            # A Scan has no routes, so the types come from the pattern's results.
            wanted = [self.model.entity(model) for model in self.plan.pattern.entities]
            entities = self.plan.entities or wanted
            types = {f":t{n}": {"S": e.name} for n, e in enumerate(entities)}
            names["#t"] = attribute
            texts.append(f"#t IN ({', '.join(types)})")
        if self.plan.filter is not None:
            names |= self.plan.filter.names
            texts.append(f"({self.plan.filter.text})")
        if self._counts_unexpired:
            names["#x"] = str(self.model.ttl_attribute)
            texts.append("(attribute_not_exists(#x) OR #x > :x)")
        if texts:
            request["FilterExpression"] = " AND ".join(texts)
        return types

    @cached_property
    def _counts_unexpired(self) -> bool:
        hides = self.model.hide_expired and self.model.ttl_attribute is not None
        return hides and self.plan.pattern.shape == "count"

    @cached_property
    def _filters_types(self) -> bool:
        """Whether to filter by type: other entities are in range, and the source has the type."""
        project, attribute = self.plan.source.project, self.model.type_attribute
        if not self.plan.outsiders and self.plan.operation != "Scan":
            return False
        return attribute is not None and (project == "ALL" or attribute in project)

    # ---- ranges ----

    def _values(self, arguments: Arguments) -> Mapping[str, Any]:
        values = {field: arguments[name] for field, name in self._fields}
        for field, length in self.plan.route.beginnings.items():
            self._expect_length(field, values[field], length)
        return self.plan.route.entity.complete(values) if self.plan.route.computes else values

    def _expect_length(self, field: str, prefix: str, length: int) -> None:
        """Raise BadValue for a prefix that does not fit the key.

        The partition key has the first `length` characters of the field, so the prefix must have at
        least `length` characters. It may be longer only if the sort key is compared with it too.
        """
        test = self.plan.test
        longer = test is not None and test.begins is self.plan.route.bound[field]
        if len(prefix) < length or (len(prefix) > length and not longer):
            least = "at least " if longer else ""
            raise BadValue(f"it needs {least}{length} characters", field=field, value=prefix)

    @cached_property
    def _fields(self) -> tuple[tuple[str, str], ...]:
        """(key field, name of the argument that gives its value) for each field."""
        return tuple((field, a.name) for field, a in self.plan.route.bound.items())

    def _ranges(self, arguments: Arguments, forward: bool, now: datetime) -> list[KeyRange]:
        plan = self.plan
        if plan.pattern.by_type is not None:
            entity = self.model.entity(arguments[plan.pattern.by_type])
            return [KeyRange(((plan.source.hash[0].attribute, {"S": entity.name}),))]
        if not self._spreads:
            return self._ranges_of(arguments, 0, None)
        buckets = bucket_numbers(plan, arguments, now)
        ranges: list[KeyRange] = []
        for group, number in enumerate(buckets if forward else reversed(buckets)):
            for chosen in choices(plan, arguments):
                ranges += self._ranges_of(chosen, group, number)
        return ranges

    @cached_property
    def _spreads(self) -> bool:
        """Whether a call can read several partitions."""
        route = self.plan.route
        return bool(route.bucket or route.shards or route.scattered)

    def _ranges_of(self, arguments: Arguments, group: int, bucket: int | None) -> list[KeyRange]:
        """The ranges to read in one bucket, one for each shard; all have the number `group`."""
        plan = self.plan
        values = self._values(arguments)
        test = self._sort_test(values, arguments)
        if test is None:
            return []
        attribute, operator, operands = test
        equals = plan.route.equals if plan.common is None else ()
        known = [self._known(column, values) for column in equals]
        divided = plan.route.bucket
        if divided is not None and bucket is not None:
            values = {**values, divided.placeholder.field: divided.start(bucket)}
        return [
            KeyRange((*self._hash(values, shard), *known), attribute, operator, operands, group)
            for shard in shard_numbers(plan, arguments)
        ]

    def _hash(
        self, values: Mapping[str, Any], shard: int | None
    ) -> list[tuple[str, AttributeValue]]:
        if shard is None:
            entity = self.plan.route.entity
            known = [self._known(column, values) for column in self.plan.route.key.hash]
            for column, (_, value) in zip(self.plan.route.key.hash, known, strict=True):
                check_key_value(entity, column, value, values, limits.PARTITION_KEY_BYTES_MAX)
            return known
        return [
            (column.attribute, {"S": column.template.render(values, shard) or ""})
            for column in self.plan.route.key.hash
        ]

    def _known(self, column: KeyColumn, values: Mapping[str, Any]) -> tuple[str, AttributeValue]:
        if column.natural is not None:
            value = column.value(values)
            assert value is not None
            return column.attribute, value
        template = column.template
        return column.attribute, {"S": template.render_known(template.parts, values)}

    def _sort_test(
        self, values: Mapping[str, Any], arguments: Arguments
    ) -> tuple[str, str, tuple[AttributeValue, ...]] | None:
        """(attribute, operator, operands) of the sort key; the operator "" means no condition.

        The result is None if no key can be in the range.
        """
        plan = self.plan
        if plan.common is not None:
            column = plan.route.key.range[0] if plan.route.key.range else None
            if column is None or not plan.common:
                return "", "", ()
            text = column.template.render_known(plan.common, values)
            return column.attribute, "begins_with", ({"S": text},)
        if plan.test is None:
            return "", "", ()
        compared = comparison(plan.test, values, arguments)
        return compared and (plan.test.column.attribute, *compared)


class _Form(NamedTuple):
    """A request without the values of a call.

    `placeholders` stand for the values of the key condition. `values` do not depend on the call.
    """

    request: dict[str, Any]
    placeholders: Sequence[str]
    values: Item


def _key_condition(asked: KeyRange, names: dict[str, str]) -> tuple[str, list[str]]:
    """The condition for a range, and its placeholders. Adds its attributes to `names`."""
    names |= {f"#k{n}": name for n, (name, _) in enumerate(asked.equals)}
    placeholders = [f":k{n}" for n in range(len(asked.equals))]
    texts = [f"#k{n} = {placeholder}" for n, placeholder in enumerate(placeholders)]
    if asked.operator:
        names["#s"] = asked.attribute
        operands = [f":s{n}" for n in range(len(asked.operands))]
        placeholders += operands
        if asked.operator == "begins_with":
            texts.append("begins_with(#s, :s0)")
        else:
            texts.append(f"#s {asked.operator} {' AND '.join(operands)}")
    return " AND ".join(texts), placeholders
