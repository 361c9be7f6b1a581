"""Searching a vector index: the request, and the results."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from hashrange.design.declare.item import View, viewed
from hashrange.design.declare.patterns import TOP
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.declare.vector_indexes import VectorIndex
from hashrange.design.declare.vectors import Match, Nearest, Vector, stored
from hashrange.design.errors import BadValue
from hashrange.design.execute.reads.loading import Loader
from hashrange.design.execute.reads.request_builder import RequestBuilder
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.model.limits import TOP_K_MAX
from hashrange.model.values import Item


class SearchBuilder(RequestBuilder):
    """Builds the request of a plan that searches a vector index."""

    @cached_property
    def index(self) -> VectorIndex:
        assert self.plan.search is not None, "the plan must be that of a search"
        return self.plan.search

    def checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The checked arguments of a call. Raises BadValue.

        The vector is rounded to 32-bit numbers. Without an argument `TOP`, the number of items is
        the one that the pattern declares.
        """
        search = self.plan.pattern.search
        assert search is not None, "the plan must be that of a search"
        vector, top = arguments.get(search.vector), arguments.get(TOP, search.top)
        if vector is None or top is None:
            missing = search.vector if vector is None else TOP
            raise TypeError(f"{self.plan.pattern}: {missing!r} is missing")
        if type(top) is not int or not 1 <= top <= TOP_K_MAX:
            raise BadValue(f"it must be from 1 to {TOP_K_MAX}", field=TOP, value=top)
        try:
            numbers = Vector(self.index.dimensions).validated(vector)
        except ValueError as error:
            raise BadValue(f"{search.vector}: {error}") from None
        return {**arguments, search.vector: numbers, TOP: top}

    def search(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A SearchVectors request. Raises BadValue."""
        pattern = self.plan.pattern
        assert pattern.search is not None, "the plan must be that of a search"
        names, values = self._condition(arguments)
        request: dict[str, Any] = {
            "TableName": self.table_name,
            "IndexName": self.index.name,
            "SearchVector": stored(arguments[pattern.search.vector])["L"],
            "TopK": arguments[TOP],
        }
        if values:
            pairs = zip(names, values, strict=True)
            condition = " AND ".join(f"{name} = {value}" for name, value in pairs)
            request["SearchConditionExpression"] = condition
            request["ExpressionAttributeValues"] = values
        shown = {f"#p{n}": attribute for n, attribute in enumerate(self._shown)}
        request["ProjectionExpression"] = ", ".join(shown)
        request["ExpressionAttributeNames"] = {**names, **shown}
        request["ReturnConsumedCapacity"] = "TOTAL"
        return request

    def _condition(self, arguments: Mapping[str, Any]) -> tuple[dict[str, str], Item]:
        """(names, values) of the condition, by their placeholders.

        The n-th name is compared with the n-th value.
        """
        names: dict[str, str] = {}
        values: Item = {}
        entity = self.plan.entities[0]
        for number, (field, argument) in enumerate(self.plan.route.bound.items()):
            value = arguments.get(argument.name)
            if value is not None:
                names[f"#c{number}"] = entity.attributes[field]
                values[f":c{number}"] = entity.fields[field].encode(value)
        if self.index.types is not None and len(self.plan.entities) == 1:
            names["#t"], values[":t"] = self.index.types, {"S": entity.name}
        return names, values

    @cached_property
    def _shown(self) -> tuple[str, ...]:
        """The attributes to project. A search returns a vector only if the request names it."""
        wanted = [column.attribute for column in self.model.table.columns]
        if self.model.type_attribute is not None:
            wanted.append(self.model.type_attribute)
        for result in self.plan.pattern.results:
            if issubclass(result, View):
                entity = self.model.entity(viewed(result))
                wanted += [entity.attributes[name] for name in result.model_fields]
            else:
                wanted += sorted(self.model.entity(result).owned_attributes)
        return tuple(dict.fromkeys(wanted))


def nearest(
    builder: RequestBuilder, arguments: Mapping[str, Any], loader: Loader
) -> Steps[tuple[Nearest[Any], Explanation]]:
    """Search, and load the items of the pattern's entities. Raises ItemError."""
    assert isinstance(builder, SearchBuilder), "the builder must be that of a search"
    request = builder.search(arguments)
    response = yield ApiCall("SearchVectors", request)
    matches = []
    for result in response["SearchResults"]:
        raw = result["Item"]
        entity = None if loader.model.hidden(raw) else loader.recognise(raw)
        if entity is not None and loader.wants(entity):
            matches.append(Match(loader.load(entity, raw), float(result["Score"])))
    took = Explanation(str(builder.plan.pattern), [("SearchVectors", request)], 0, 1)
    return Nearest(tuple(matches)), took
