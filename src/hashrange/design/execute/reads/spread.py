"""The queries of one call that reads several partitions: one query for each combination of a
shard, a known value and a unit of time."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import product
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.known_values import KNOWN_MAX
from hashrange.design.declare.patterns import Argument
from hashrange.design.errors import BadValue
from hashrange.design.execute.reads.comparisons import Arguments
from hashrange.design.plan.plans import Plan
from hashrange.design.plan.time_buckets import Bucket


def present() -> datetime:
    return datetime.now(UTC)


def choices(plan: Plan, arguments: Arguments) -> Iterator[Arguments]:
    """The arguments of each query. Of an argument with several values, each query gets one value.

    Raises BadValue.
    """
    spread = plan.route.scattered
    if not spread:
        yield arguments
        return
    names = [argument.name for argument in spread]
    entity = plan.route.entity
    values = [_distinct(entity, a, a.values or arguments[a.name]) for a in spread]
    for chosen in product(*values):
        yield {**arguments, **dict(zip(names, chosen, strict=True))}


def _distinct(entity: Entity, argument: Argument, values: Any) -> list[Any]:
    """The distinct values, in the order of their stored forms.

    Raises BadValue if there are too many.
    """
    kind = entity.fields[argument.field]
    distinct = {repr(kind.encode(value)): value for value in values}
    if len(distinct) > KNOWN_MAX:
        reason = (
            f"it has {len(distinct)} different values, each of which needs a query of its own: at "
            f"most {KNOWN_MAX} are allowed"
        )
        raise BadValue(reason, field=argument.name, value=values)
    return [distinct[text] for text in sorted(distinct)]


def shard_numbers(plan: Plan, arguments: Arguments) -> list[int | None]:
    """The numbers of the shards to read. Raises BadValue.

    [None] means a single query: the key has no shards, or the arguments determine the shard.
    """
    placeholder, named = (plan.route.shards, plan.route.shard) if plan.routes else (None, None)
    if placeholder is None:
        return [None]
    if named is None:
        return [*range(placeholder.shards)]
    number = arguments[named.name]
    if not 0 <= number < placeholder.shards:
        reason = f"shards are numbered from 0 to {placeholder.shards - 1}"
        raise BadValue(reason, field=named.name, value=number)
    return [number]


def bucket_numbers(plan: Plan, arguments: Mapping[str, Any], now: datetime) -> list[int | None]:
    """The numbers of the buckets to read, the earliest first. Raises BadValue.

    [None] means a single query: the pattern has no @st.buckets.
    """
    bucket = plan.route.bucket if plan.routes else None
    if bucket is None:
        return [None]
    at_most = plan.pattern.facts.buckets
    assert at_most is not None
    last = bucket.number(now)
    if bucket.high is not None:
        last_or_none = bucket.last(_end(bucket.high, arguments, 1))
        if last_or_none is None:
            return []
        last = last_or_none
    first = last - at_most + 1
    if bucket.low is not None:
        first_or_none = bucket.first(_end(bucket.low, arguments, 0))
        if first_or_none is None:
            return []
        first = first_or_none
    if last - first >= at_most:
        low = arguments[bucket.low.name] if bucket.low is not None else None
        reason = _too_long(bucket, first, last, at_most)
        raise BadValue(reason, field=bucket.placeholder.field, value=low)
    return [*range(first, last + 1)]


def _end(argument: Argument, arguments: Mapping[str, Any], side: int) -> Any:
    value = arguments[argument.name]
    return value[side] if argument.operator == "between" else value


def _too_long(bucket: Bucket, first: int, last: int, at_most: int) -> str:
    end = "" if bucket.high is not None else " up to the present"
    return (
        f"the range{end} has {last - first + 1} {bucket.unit.name}s, each of which needs a "
        f"query, but @st.buckets allows at most {at_most}"
    )
