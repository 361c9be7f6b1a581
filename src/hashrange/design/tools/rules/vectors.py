"""Rules about vector indexes: V01 to V04."""

from collections.abc import Iterator

from hashrange.design.declare.patterns import TOP
from hashrange.design.plan.plans import Plan
from hashrange.design.tools.rules.rule import Context, Found, checked_at_declaration, rule
from hashrange.model import floats, limits

SEARCHED_BYTES_PER_SECOND = 10**9
"""DynamoDB's quota of bytes searched per second in one partition of a vector index."""

checked_at_declaration(
    "V01",
    "error",
    "vectors that do not fit their index",
    "A vector has 1 to 4,096 dimensions. In all items of a table, the vectors of one attribute "
    "have the same number of dimensions: DynamoDB refuses items with another number. The model is "
    "refused when it is declared.",
)


@rule(
    "V02",
    "warning",
    "a vector index with partitions that are too large",
    "A search reads the vectors of its partition, and DynamoDB searches at most 1 GB of one "
    "partition in a second. Choose a partition with fewer items, such as the tenant.",
)
def too_coarse(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.search is None:
            continue
        searched = _searched_bytes(c, plan)
        rate = plan.pattern.facts.rate
        if searched is not None and searched * max(rate or 0, 1) > SEARCHED_BYTES_PER_SECOND:
            often = f"{rate:g} times a second" if rate else "in each search"
            what = (
                "its partition" if plan.search.partition else f"the whole index {plan.search.name}"
            )
            yield str(plan.pattern), f"it searches {searched:,.0f} bytes of {what} {often}"


def _searched_bytes(c: Context, plan: Plan) -> float | None:
    assert plan.search is not None, "the plan must be that of a search"
    fields = {column.template.fields[0] for column in plan.route.key.hash}
    total = 0.0
    for entity in plan.search.entities:
        each = c.each("V02", entity, fields)
        if each is None:
            return None
        total += each.max * floats.BYTES * plan.search.dimensions
    return total


@rule(
    "V03",
    "warning",
    "a search whose items may have more than 16 MB",
    "A search returns at most 16 MB of items, measured before the projection: it ends before the "
    "item that would exceed this. Ask for fewer items, or keep large parts of an item elsewhere.",
)
def too_large_answer(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.search is None or plan.pattern.search is None:
            continue
        top = plan.pattern.search.top or limits.TOP_K_MAX
        for entity in plan.entities:
            size = c.size("V03", entity)
            if size is not None and size * top > limits.SEARCH_ANSWER_BYTES_MAX:
                yield str(plan.pattern), f"{TOP}={top}: each {entity} has {size:,} bytes"


@rule(
    "V04",
    "information",
    "a policy cannot restrict a search to one partition",
    "A request of SearchVectors has no dynamodb:LeadingKeys, so a policy that tests this condition "
    "key cannot restrict a search to one tenant: let only the application search.",
)
def leading_keys(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.search is not None and plan.search.partition:
            [column] = plan.search.partition
            text = f"a policy cannot restrict it to one {column.attribute}"
            yield str(plan.pattern), text
