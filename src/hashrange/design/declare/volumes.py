"""The numbers behind a model: how many items, of what size, and how often they are written.

    volumes=st.volumes(
        User=st.total(1_000_000, size=300),
        Membership=st.each("User", mean=8, max=50) & st.each("Server", mean=400, max=1_000_000),
    ),
    writes=[st.writes(Measurement, create=500), st.writes(Sensor, edit=("room_id",), rate=2)],

A lint rule is skipped, and counted as not checked, if a number that it needs is not declared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hashrange.design.declare.item import Item
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DeclarationError, suggest


@dataclass(frozen=True)
class Each:
    """The number of items for each item of another entity."""

    parent: str
    mean: float
    max: int


@dataclass(frozen=True)
class Volume:
    """One entity's number of items in all or for each parent, and the size of an item in bytes."""

    count: int | None = None
    each: tuple[Each, ...] = ()
    size: int | None = None

    def __and__(self, other: "Volume") -> "Volume":
        return Volume(
            self.count if other.count is None else other.count,
            self.each + other.each,
            self.size if other.size is None else other.size,
        )


def total(count: int, *, size: int | None = None) -> Volume:
    """The number of the entity's items in all; `size` is the size of an item in bytes."""
    return Volume(count=count, size=size)


def each(parent: type[Item] | str, *, mean: float, max: int, size: int | None = None) -> Volume:
    """The mean and largest number of the entity's items for each item of `parent`.

    `size` is the size of an item of the entity in bytes.
    """
    name = parent if isinstance(parent, str) else parent.__name__
    return Volume(each=(Each(name, mean, max),), size=size)


@dataclass(frozen=True)
class Volumes:
    """See `volumes`."""

    entities: Mapping[str, Volume] = field(default_factory=dict)

    def check(self, model: TableModel) -> None:
        """Raise DeclarationError for an entity that the table does not have, or an invalid number.

        A number is invalid if it is below 0, if it depends on itself, or if a mean exceeds its
        `max`.
        """
        known = {str(entity) for entity in model.entities}
        for name, volume in self.entities.items():
            _expect_numbers(name, volume)
            self._expect_no_cycle(name, ())
            for mentioned in (name, *(e.parent for e in volume.each)):
                if mentioned not in known:
                    raise DeclarationError(
                        f"volumes: {mentioned} is not an entity{suggest(mentioned, known)}"
                    )

    def _expect_no_cycle(self, name: str, below: tuple[str, ...]) -> None:
        if name in below:
            path = " of ".join((*below[below.index(name) :], name))
            raise DeclarationError(
                f"volumes: {path}: these numbers depend on each other in a circle: declare how "
                "many items one of the entities has, with st.total(...)"
            )
        for each in self.of(name).each:
            if each.parent != name:  # an entity that is its own parent is no cycle
                self._expect_no_cycle(each.parent, (*below, name))

    def of(self, entity: object) -> Volume:
        return self.entities.get(str(entity), Volume())

    def count(self, entity: object) -> float | None:
        """The number of the entity's items in all; None if the declarations do not determine it."""
        volume = self.of(entity)
        if volume.count is not None:
            return volume.count
        for each in volume.each:
            if each.parent != str(entity):
                parents = self.count(each.parent)
                if parents is not None:
                    return parents * each.mean
        return None

    def per(self, entity: object, parent: object) -> Each | None:
        """The number of items of `entity` per `parent`, directly or through other entities."""
        volume = self.of(entity)
        for each in volume.each:
            if each.parent == str(parent):
                return each
        for step in volume.each:
            above = self.per(step.parent, parent) if step.parent != str(entity) else None
            if above is not None:
                return Each(str(parent), step.mean * above.mean, step.max * above.max)
        return None


def _expect_numbers(name: str, volume: Volume) -> None:
    if (volume.count or 0) < 0 or (volume.size or 0) < 0:
        raise DeclarationError(f"volumes: {name}: a number and a size must be at least 0")
    for each in volume.each:
        if not 0 <= each.mean <= each.max:
            raise DeclarationError(
                f"volumes: {name}: mean={each.mean:g}, max={each.max:g}: the mean must be from 0 "
                "to max"
            )


def volumes(**entities: Volume | int) -> Volumes:
    """The number of items of each entity, by class name; a number `n` means `st.total(n)`."""
    return Volumes({n: total(v) if isinstance(v, int) else v for n, v in entities.items()})


@dataclass(frozen=True)
class Writes:
    """See `writes`."""

    entity: type[Item]
    create: float
    edit: tuple[str, ...]
    rate: float
    delete: float = 0

    def check(self, model: TableModel) -> None:
        """Raise DeclarationError for a field that the entity does not have, or a negative rate."""
        if min(self.create, self.rate, self.delete) < 0:
            raise DeclarationError(f"writes({self.entity.__name__}): a rate must be at least 0")
        fields = model.entity(self.entity).fields
        for name in self.edit:
            if name not in fields:
                raise DeclarationError(
                    f"writes({self.entity.__name__}): no field {name!r}{suggest(name, fields)}"
                )


def writes(
    entity: type[Item],
    *,
    create: float = 0,
    edit: Sequence[str] = (),
    rate: float = 0,
    delete: float = 0,
) -> Writes:
    """The writes of an entity's items per second.

    `create` and `delete` are numbers of items, `rate` is the number of edits of the fields `edit`.
    """
    return Writes(entity, create, tuple(edit), rate, delete)


@dataclass(frozen=True)
class Ignored:
    """See `ignore`."""

    rule: str
    where: str
    reason: str


def ignore(rule: str, where: str, *, reason: str) -> Ignored:
    """Accept a finding of the lint rule `rule` at `where`, for the given reason.

    `where` is an entity, an index or a pattern.
    """
    if not reason.strip():
        raise DeclarationError(f"ignore({rule!r}, {where!r}) needs a reason")
    return Ignored(rule, where, reason)
