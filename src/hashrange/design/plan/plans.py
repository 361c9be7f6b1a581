"""The plan of one pattern: the key or index that serves it, or why none does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from hashrange.design.declare.conditions import FieldCondition
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.keys.templates import Part
from hashrange.design.declare.known_values import known_values
from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.schema import Source
from hashrange.design.declare.types import FieldType
from hashrange.design.declare.vector_indexes import VectorIndex
from hashrange.design.errors import Unserved
from hashrange.design.plan.projections import missing_fields, needed_fields
from hashrange.design.plan.routes import Route, SortTest

OperationName = Literal["GetItem", "Query", "Scan", "SearchVectors"]


@dataclass(frozen=True)
class Plan:
    """How one pattern is served, with one route for each entity that is read.

    `common` is the known beginning of the sort key that several routes share. `outsiders` are other
    entities in the same range of keys. `given` are the names of the arguments.

    With `@st.through`, the first read finds items that hold the keys of another entity, `followed`.
    A second read gets the items with these keys. `held` maps each key field of `followed` to the
    field of the first items that holds its value.
    """

    pattern: Pattern
    source: Source
    operation: OperationName
    routes: tuple[Route, ...]
    common: tuple[Part, ...] | None
    outsiders: tuple[Entity, ...]
    filter: FieldCondition | None
    given: frozenset[str]
    followed: Entity | None = None
    held: Mapping[str, str] = field(default_factory=dict)
    search: VectorIndex | None = None
    """The vector index, if the operation is SearchVectors."""

    @property
    def route(self) -> Route:
        return self.routes[0]

    @property
    def test(self) -> SortTest | None:
        """The condition on the sort key; None if there are several routes, which use `common`."""
        return self.route.test if self.common is None and self.routes else None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple(route.entity for route in self.routes)

    @property
    def filtered(self) -> bool:
        """Whether the requests may read items that are not in the result."""
        return self.filter is not None or bool(self.outsiders)

    @property
    def fetches(self) -> bool:
        """Whether the table's items are read too, because a local index lacks needed fields."""
        if self.source.kind != "LSI" or self.pattern.shape == "count":
            return False
        compared = self.filter.fields if self.filter is not None else ()
        return any(
            missing_fields([*needed_fields(self.pattern, e), *compared], e, self.source)
            for e in self.entities
        )

    @property
    def limited(self) -> bool:
        """Whether the request can have Limit=1."""
        one = self.pattern.shape == "one" and self.operation == "Query"
        return one and not self.filtered and self.followed is None

    @property
    def route_shards(self) -> int:
        """The number of shards to query, if no argument gives the shard; else 0."""
        shards = self.route.shards if self.routes and self.route.shard is None else None
        return shards.shards if shards is not None else 0

    @property
    def queries_max(self) -> int:
        """The largest number of queries of one call, as far as the model's declarations tell.

        A list of values counts as one query if the declarations do not list the field's values.
        """
        count = max(1, self.route_shards)
        for argument in self.route.scattered if self.routes else ():
            count *= max(1, len(argument.values or known_values(self._kind(argument))))
        bucket = self.route.bucket if self.routes else None
        return count * (self.pattern.facts.buckets or 1) if bucket is not None else count

    def _kind(self, argument: Argument) -> FieldType:
        return self.route.entity.fields[argument.field]

    @property
    def open_ended(self) -> bool:
        """Whether buckets before those that a call reads may have items too (@st.buckets)."""
        bucket = self.route.bucket if self.routes else None
        return bucket is not None and bucket.low is None


@dataclass(frozen=True)
class Unplanned:
    """A pattern that no key serves, for a call without the arguments in `absent`.

    `proposal` is an index or a decorator with which it would be served, or "".
    """

    pattern: Pattern
    reason: str
    rule: str
    absent: tuple[str, ...]
    proposal: str = ""

    @cached_property
    def error(self) -> Unserved:
        without = f" without {', '.join(self.absent)}" if self.absent else ""
        advice = (
            f"This would: {self.proposal}" if self.proposal else "No single index would serve it"
        )
        return Unserved(
            f"no key or index serves this pattern{without}: {self.reason}. {advice}",
            at=self.pattern.function,
            rule=self.rule,
        )
