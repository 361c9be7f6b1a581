"""Refuse patterns that select items by a field that old items store in another form.

Such a pattern would miss the old items.
"""

from collections.abc import Collection, Sequence

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.patterns import Pattern
from hashrange.design.errors import DeclarationError
from hashrange.design.plan.routes import Route


def expect_one_form(
    pattern: Pattern,
    entities: Sequence[Entity],
    routes: Sequence[Route],
    condition: Collection[str],
) -> None:
    """Raise DeclarationError if an upgrade changes a field of a route's key or in `condition`."""
    asked = {entity.name: {*condition} for entity in entities}
    for route in routes:
        when = route.key.when
        asked[route.entity.name] |= {*route.key.fields, *(when.fields if when is not None else ())}
    for entity in entities:
        fault = entity.shapes.fault(asked[entity.name] - entity.key_fields)
        if fault is not None:
            raise DeclarationError(f"{entity}: {fault}", at=pattern.function)
