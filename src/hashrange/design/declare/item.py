"""Declaring items: a pydantic model with templates for its keys.

    class Sensor(st.Item):
        key = st.key("sensor#{sensor_id}", "info")
        in_room = st.index("GSI3", "room#{room_id}", "sensor#{sensor_id}")

        sensor_id: str
        room_id: str | None = None          # None: not in GSI3

The key attributes of templates are not fields: every write computes them, and no read uses them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, Unpack, cast

from pydantic import BaseModel, ConfigDict

from hashrange.design.declare.derived import Derived, derived_fields
from hashrange.design.declare.replaces import Replaces
from hashrange.design.declare.vectors import Vectors
from hashrange.design.errors import DeclarationError, suggest
from hashrange.model.values import Item as WireItem

E = TypeVar("E", bound="Item")
F = TypeVar("F", bound=Callable[..., Any])

AS_READ = "_as_read"
"""The name of the instance attribute with the stored form of an item that was read. It is not a
field: pydantic keeps it in copies, and leaves it out of comparisons and dumps."""


@dataclass(frozen=True, slots=True)
class Attr:
    """A field that is itself a key attribute (S, N or B)."""

    field: str


KeyPart = str | Attr | tuple[str, ...]
"""A template, a field that is itself the key attribute, or (in a global index) several fields."""
Projection = Literal["ALL", "KEYS_ONLY"] | tuple[str, ...]


@dataclass(frozen=True)
class Key:
    """See `key`."""

    hash: KeyPart
    range: KeyPart | None


@dataclass(frozen=True)
class Index:
    """See `index` and `local`. `hash` is None in a local index, whose hash key is the table's."""

    name: str
    hash: KeyPart | None
    range: KeyPart | None
    project: Projection
    when: str | None = None
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unique:
    """See `unique`."""

    template: str
    namespace: str


@dataclass(frozen=True)
class Copy:
    """See `copy`. This object is the field's value until the copy is filled in."""

    owner: type["Item"]
    field: str
    sync: "Sync"
    by: str | None = None


Sync = Literal["transaction", "batch", "stream"]


def key(hash: KeyPart, range: KeyPart | None = None, /) -> Key:
    """The primary key. Its partition and sort key are templates or fields (`st.attr("name")`)."""
    return Key(hash, range)


def index(
    name: str,
    hash: KeyPart,
    range: KeyPart | None = None,
    /,
    *,
    project: Literal["ALL", "KEYS_ONLY"] | Sequence[str] = "ALL",
    when: str | None = None,
    **values: Any,
) -> Index:
    """This entity's key in the global index `name`.

    An item is not in the index while a field of the key is None or the condition `when` is false.
    The values of the condition's parameters are keywords: `when="status = :open", open="OPEN"`.
    `project` is "ALL", "KEYS_ONLY" or a sequence of field names.
    """
    return Index(name, hash, range, _projection(project), when, values)


def local(
    name: str,
    range: KeyPart,
    /,
    *,
    project: Literal["ALL", "KEYS_ONLY"] | Sequence[str] = "ALL",
    when: str | None = None,
    **values: Any,
) -> Index:
    """This entity's sort key in the local index `name`.

    The index sorts each partition of the table by this key. `project`, `when` and `values` have the
    same meaning as in `index`.
    """
    return Index(name, None, range, _projection(project), when, values)


def _projection(project: Literal["ALL", "KEYS_ONLY"] | Sequence[str]) -> Projection:
    """The projection as declared. The table checks it later, when an error can name the entity."""
    return cast(Projection, project) if isinstance(project, str) else tuple(project)


def attr(field: str) -> Attr:
    """Use the field itself as the key attribute, under its own name and type."""
    return Attr(field)


def unique(template: str, /, *, namespace: str | None = None) -> Unique:
    """Declare that no two items have the same text from the template `template`.

    A marker item reserves the text. It is written in the same transaction as the item. Entities and
    declarations of the table with the same `namespace` (default: the template) must not share a
    text either.
    """
    return Unique(template, template if namespace is None else namespace)


def copy(owner: type["Item"], field: str, *, sync: Sync, by: str | None = None) -> Any:
    """The field is a copy of `owner.field`.

    The owner is the item that this entity refers to. If the entity has several references to
    `owner`, `by` selects one: it names a field of that reference. A value that you do not pass is
    filled in from the owner.

    `sync` says how a change of the owner reaches its copies. With "transaction", they are written
    together with the owner. With "batch", they are written after the owner; `sync` of the store
    continues an interrupted update. With "stream", a reader of the table's stream writes them
    (`st.follow`, `st.lambda_handler`).
    """
    if not (isinstance(owner, type) and issubclass(owner, BaseModel)):
        raise DeclarationError(f"st.copy({owner!r}, {field!r}) needs the owner's class, not a name")
    return Copy(owner, field, sync, by)


def upgrade(*, from_version: int) -> Callable[[F], F]:
    """Convert items of an old shape when they are read.

    The decorated static method takes and returns plain values by attribute name. The class names
    its present shape (`class Sensor(st.Item, shape=2)`), which every write stores. An item without
    a stored shape has shape 1. A pattern or condition cannot use a field that the method changes
    until all items have been written again and the class declares so with `backfilled=2`.
    """

    def decorate(change: F) -> F:
        if isinstance(change, (staticmethod, classmethod)):
            raise DeclarationError(
                "write @st.upgrade below @staticmethod", at=cast(Any, change).__func__
            )
        change.__upgrades_from__ = from_version  # type: ignore[attr-defined]
        return change

    return decorate


DECLARATIONS = (Key, Index, Unique, Vectors)


class Item(BaseModel):
    """The base class of entities. `name` (default: the class's name) is stored as the type.

    `shape` is the version of the entity's attributes; see `upgrade`. A program refuses items with a
    higher shape than its class. But if its shape is at least the `readable_by` of the program that
    wrote an item, it reads the item, and refuses only to write it back. `backfilled` declares that
    all stored items have at least this shape.
    """

    model_config = ConfigDict(
        ignored_types=(*DECLARATIONS, Replaces, Derived),
        extra="forbid",
        validate_assignment=True,
        populate_by_name=True,
    )
    key: ClassVar[Any]
    entity_name: ClassVar[str]
    entity_shape: ClassVar[int] = 1
    entity_readable_by: ClassVar[int] = 1
    entity_backfilled: ClassVar[int] = 1

    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        shape: int | None = None,
        readable_by: int | None = None,
        backfilled: int | None = None,
        **config: Unpack[ConfigDict],
    ) -> None:
        super().__init_subclass__(**config)
        cls.entity_name = name or cls.__name__
        if shape is not None:
            cls.entity_shape = cls.entity_readable_by = shape
        if readable_by is not None:
            cls.entity_readable_by = readable_by
        if backfilled is not None:
            cls.entity_backfilled = backfilled

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        declared = {n for base in cls.__mro__ for n, v in vars(base).items() if _declares(v)}
        inherited = {n for base in cls.__mro__[1:] for n, v in vars(base).items() if _declares(v)}
        _check_upgrades(cls)
        for name in cls.model_fields:
            if name == "key" or name in declared | inherited:
                raise DeclarationError(
                    f"the field {name!r} has the same name as a declaration: rename one of them",
                    at=cls,
                )
            if hasattr(Item, name):
                raise DeclarationError(
                    f"the field {name!r} hides a method of pydantic's models: rename it, and "
                    f"keep the attribute's name with Field(alias={name!r})",
                    at=cls,
                )

    def replace(self, **changes: Any) -> Self:
        """A validated copy with the `changes`. `save` compares the copy with the item as read."""
        values = {
            name: value
            for name, value in self.__dict__.items()
            if name in type(self).model_fields and not isinstance(value, Copy)
        }
        unknown = [name for name in changes if name not in type(self).model_fields]
        if unknown:
            hint = suggest(unknown[0], type(self).model_fields)
            raise TypeError(f"{type(self).__name__} has no field {unknown[0]!r}{hint}")
        new = type(self).model_validate({**values, **changes})
        if AS_READ in self.__dict__:
            vars(new)[AS_READ] = vars(self)[AS_READ]
        return new


def _declares(value: object) -> bool:
    return isinstance(value, DECLARATIONS)


def as_read(item: Item) -> WireItem | None:
    """The stored item that this item was read from, if any.

    Instead of the stored item, which is seldom needed, a reader may keep a function and its
    argument. The function is called on first use.
    """
    raw: Any = item.__dict__.get(AS_READ)
    if isinstance(raw, tuple):
        make, argument = raw
        raw = vars(item)[AS_READ] = make(argument)
    return cast("WireItem | None", raw)


def declarations(model: type[Item]) -> dict[str, Key | Index | Unique | Vectors]:
    """The model's own and inherited declarations, in the order of the source."""
    declared: dict[str, Key | Index | Unique | Vectors] = {}
    for base in reversed(model.__mro__):
        declared |= {name: value for name, value in vars(base).items() if _declares(value)}
    return declared


def upgrades(model: type[Item]) -> dict[int, Callable[[dict[str, Any]], dict[str, Any]]]:
    """The functions marked with `upgrade`, by the shape that they convert from."""
    by_shape = {}
    for name in dir(model):
        function = getattr(model, name, None) if not name.startswith("__") else None
        shape = getattr(function, "__upgrades_from__", None)
        if shape is not None and callable(function):
            by_shape[shape] = function
    return by_shape


def _check_upgrades(model: type[Item]) -> None:
    known, shape = upgrades(model), model.entity_shape
    for name, number in (
        ("readable_by", model.entity_readable_by),
        ("backfilled", model.entity_backfilled),
    ):
        if not 1 <= number <= shape:
            message = f"{name}={number} is not a shape from 1 to {shape}"
            raise DeclarationError(message, at=model)
    for version in range(model.entity_backfilled, shape):
        if version not in known:
            raise DeclarationError(
                f"shape {shape} needs an @st.upgrade from shape {version}", at=model
            )
    if known and max(known) >= shape:
        message = f"an upgrade from shape {max(known)} needs a class with a higher shape"
        raise DeclarationError(message, at=model)


class View(BaseModel, Generic[E]):
    """A read-only selection of an entity's fields: `class SensorRef(st.View[Sensor])`."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        if cls.__pydantic_generic_metadata__["origin"] is View:
            return
        entity = viewed(cls)
        for name in cls.model_fields:
            if name not in entity.model_fields and name not in derived_fields(entity):
                hint = suggest(name, entity.model_fields)
                raise DeclarationError(f"{entity.__name__} has no field {name!r}{hint}", at=cls)


def viewed(view: type[View[Any]]) -> type[Item]:
    """The entity whose fields a view selects."""
    for base in view.__mro__:
        metadata = getattr(base, "__pydantic_generic_metadata__", None)
        if metadata and metadata["origin"] is View:
            entity: type[Item] = metadata["args"][0]
            return entity
    raise DeclarationError("name the entity of a view: st.View[Sensor]", at=view)
