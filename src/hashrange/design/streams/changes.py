"""Changes of items, and the functions that handle them.

@st.on(table, User, changed=("name",))
def greet(change: st.Change[User]) -> None:
    print(change.old, change.new)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar, cast

from hashrange.design.declare.item import Item
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DeclarationError, DesignError, suggest
from hashrange.design.execute.reads.loading import Loader
from hashrange.design.execute.stamps import visible
from hashrange.design.table import Table
from hashrange.model.values import Item as WireItem

E = TypeVar("E", bound=Item)
TTL_PRINCIPAL = "dynamodb.amazonaws.com"
DeletedBy = Literal["user", "ttl"]


@dataclass(frozen=True)
class Change(Generic[E]):
    """A change of one item. `old` is None if the item was created, `new` if it was deleted.

    `deleted_by` is "ttl" if the item was deleted because it had expired, and "user" for any other
    deletion. `sequence` is the record's sequence number, which is larger for later changes of the
    item. `at` is the record's time to the second.
    """

    old: E | None
    new: E | None
    deleted_by: DeletedBy | None
    sequence: str
    at: datetime

    @property
    def item(self) -> E:
        """The item after the change, or the deleted item."""
        item = self.new if self.new is not None else self.old
        assert item is not None
        return item

    def changed(self, *fields: str) -> bool:
        """Whether the change gave one of these fields of an existing item a new value."""
        if self.old is None or self.new is None:
            return False
        return any(getattr(self.old, name) != getattr(self.new, name) for name in fields)


Function = TypeVar("Function", bound=Callable[[Change[Any]], object])


@dataclass(frozen=True)
class Handler:
    """See `on`. Without `changed`, all changes are handled."""

    entity: type[Item]
    changed: tuple[str, ...]
    function: Callable[[Change[Any]], object]

    def handles(self, change: Change[Any]) -> bool:
        mine = type(change.item) is self.entity
        return mine and (not self.changed or change.changed(*self.changed))


def on(
    table: Table, entity: type[E], *, changed: Sequence[str] = ()
) -> Callable[[Callable[[Change[E]], object]], Callable[[Change[E]], object]]:
    """Register the decorated function, which is called for each change of the entity's items.

    With `changed`, it is called only if one of these fields of an existing item gets a new value.
    `st.follow` and `st.lambda_handler` call the function. Raises DeclarationError.
    """
    fields = table.model.entity(entity).fields
    for name in changed:
        if name not in fields:
            raise DeclarationError(
                f"{entity.__name__} has no field {name!r}{suggest(name, fields)}"
            )

    def register(function: Callable[[Change[E]], object]) -> Callable[[Change[E]], object]:
        if not table.model.stream:
            raise DeclarationError(
                f"{table.name} has no stream: declare one with st.Table(..., stream=True)",
                at=function,
            )
        handler = Handler(entity, tuple(changed), cast(Callable[[Change[Any]], object], function))
        table.model.handlers.append(handler)
        return function

    return register


def change_of(model: TableModel, record: Mapping[str, Any]) -> Change[Any] | None:
    """The change of a stream record in wire form.

    None if the table does not know the entity, or if the images differ only in attributes that a
    migration keeps in the item. Raises ItemError, and DesignError if the record has no images.
    """
    stored = record["dynamodb"]
    loader = Loader(model, [entity.model for entity in model.entities])
    old, new = stored.get("OldImage"), stored.get("NewImage")
    if old is None and new is None:
        raise DesignError(f"the stream of {model.name} has no images: it needs NEW_AND_OLD_IMAGES")
    if old is not None and new is not None and visible(old) == visible(new):
        return None
    items = [_load(loader, image) for image in (old, new)]
    if items == [None, None]:
        return None
    who = record.get("userIdentity") or {}  # an event of Lambda has its members in lower case
    by_ttl = TTL_PRINCIPAL in (who.get("PrincipalId"), who.get("principalId"))
    deleted: DeletedBy = "ttl" if by_ttl else "user"
    at = stored.get("ApproximateCreationDateTime", 0)
    return Change(
        old=items[0],
        new=items[1],
        deleted_by=deleted if new is None else None,
        sequence=stored["SequenceNumber"],
        at=at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC),
    )


def _load(loader: Loader, image: WireItem | None) -> Item | None:
    entity = None if image is None else loader.recognise(image)
    return None if entity is None or image is None else entity.load(image)
