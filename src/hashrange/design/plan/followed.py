"""The reference that a pattern with `@st.through` follows to the items that it returns."""

from collections.abc import Mapping

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.patterns import Pattern
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DeclarationError


def held_key(
    pattern: Pattern, relation: Entity, followed: Entity, model: TableModel
) -> Mapping[str, str]:
    """Map each primary key field of `followed` to the field of `relation` that holds its value.

    Raises DeclarationError unless there is exactly one such reference.
    """
    references = model.references.between(relation, followed)
    wanted = pattern.facts.through_field
    if wanted is not None:
        references = tuple(one for one in references if wanted in one.fields)
    elif len(references) > 1:
        # A reference that the arguments determine would return the same item again and again.
        known = {a.field for a in pattern.arguments if a.operator == "="}
        references = tuple(one for one in references if not one.fields <= known)
    if len(references) == 1:
        return references[0].held
    text = model.references.fault(relation, followed, wanted, several=len(references) > 1)
    raise DeclarationError(text, at=pattern.function)
