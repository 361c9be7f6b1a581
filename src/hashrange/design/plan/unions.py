"""Find the beginning that the sort keys of several entities share, so that one Query reads all."""

from collections.abc import Sequence
from itertools import takewhile

from hashrange.design.declare.keys.templates import Part, Placeholder
from hashrange.design.plan.routes import KeyRefusal, Route


def shared_beginning(routes: Sequence[Route]) -> tuple[Part, ...]:
    """The known beginning of the sort key that all routes share, with the first route's fields.

    Raises KeyRefusal if the routes differ in the partition or in the meaning of an argument.
    """
    first = routes[0]
    for route in routes[1:]:
        if _partition(route) != _partition(first):
            raise KeyRefusal(f"{first.entity} and {route.entity} are in different partitions")
    if any(route.computes for route in routes):
        raise KeyRefusal(
            "a key with an @st.derived field, which is computed from arguments, cannot serve "
            "several entities; make the field itself an argument"
        )
    if any(route.bucket or route.shard for route in routes):
        raise KeyRefusal("a query by @st.buckets or a shard number cannot read several entities")
    if any(r.shards for r in routes) or any(
        r.test is not None and (r.test.ranged or r.test.begins) for r in routes
    ):
        raise KeyRefusal("one query can read several entities only by a prefix that they share")
    known = [_by_arguments(route, route.known) for route in routes]
    pieces = zip(*known, strict=False)
    equal = len(list(takewhile(lambda p: len(set(p)) == 1, pieces)))
    heads = [parts[equal : equal + 1] for parts in known]
    texts = [head[0] if head and isinstance(head[0], str) else "" for head in heads]
    shared = _shared_text(texts)
    common = [*first.known[:equal], *([shared] if shared else [])]
    for route in routes:
        if not is_constant(route.known[equal:]):
            raise KeyRefusal(
                f"the arguments lead to different sort keys of {first.entity} and {route.entity}"
            )
    return tuple(common)


def is_constant(parts: Sequence[Part]) -> bool:
    return all(isinstance(part, str) for part in parts)


def _partition(route: Route) -> list[tuple[Part, ...]]:
    return [_by_arguments(route, column.template.parts) for column in route.key.hash]


def _by_arguments(route: Route, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts, with the names of arguments in place of field names.

    The entities of a union can have different names for the same field.
    """
    names = {field: argument.name for field, argument in route.bound.items()}
    return tuple(
        part._replace(field=names.get(part.field, part.field))
        if isinstance(part, Placeholder)
        else part
        for part in parts
    )


def _shared_text(texts: Sequence[str]) -> str:
    columns = zip(*texts, strict=False)
    return "".join(column[0] for column in takewhile(lambda c: len(set(c)) == 1, columns))
