"""Declaring that an entity replaces an entity of an older model that has another primary key.

    class Reading(st.Item):
        replaces = st.replaces("Measurement", value=st.pair("milli", to_milli, from_milli))

`st.Migration` reads it; nothing else does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Convert = Callable[[Any], Any]


class Pair(NamedTuple):
    """See `pair`. Without functions, the value stays as it is."""

    field: str
    forward: Convert | None
    inverse: Convert | None


@dataclass(frozen=True)
class Replaces:
    """See `replaces`."""

    entity: str
    pairs: Mapping[str, Pair]


def pair(field: str, forward: Convert | None = None, inverse: Convert | None = None, /) -> Pair:
    """Name the new field that holds the value of an old field. Its name and type can differ.

    `forward` makes the new value from the old one, and `inverse` the old one from the new one. A
    migration checks `inverse(forward(x)) == x` for every item. Raises TypeError if only one of the
    two functions is passed.
    """
    if (forward is None) != (inverse is None):
        raise TypeError(f"st.pair({field!r}) needs both functions or neither")
    return Pair(field, forward, inverse)


def replaces(entity: str, /, **pairs: Pair) -> Replaces:
    """Declare that the items of `entity` in the old model become items of this entity.

    `entity` is the name stored in the items. Each keyword is an old field. Fields that are not
    named keep their names and values.
    """
    return Replaces(entity, pairs)
