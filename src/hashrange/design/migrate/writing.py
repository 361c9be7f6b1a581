"""The writes of a program in each phase: its own items, and the mirrors in the same transaction.

In phases in which programs write one item, a write also sets the item's epoch, on condition that
the item has no later epoch. In phases in which programs write both items, the item is read first,
and the write is evaluated here. It is sent as a transaction, on condition that the item is still as
read. The transaction contains whole items, so that no mirror lacks an attribute.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

from hashrange.design.errors import DesignError
from hashrange.design.execute import batches
from hashrange.design.execute.stamps import OTHER_OWNER, stamp_of
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.design.execute.writes.unique_markers import OWNER_ATTRIBUTE, markers_of
from hashrange.design.migrate.evaluation import Member, alone, members_of, refusal
from hashrange.design.migrate.phases import BOTH, GUARD, RECEIPT, Phase, State, own_item
from hashrange.design.migrate.requests import Requests, expect_room, identity
from hashrange.design.migrate.sides import Side
from hashrange.design.migrate.twins import Twin
from hashrange.model.values import Item


class Part(NamedTuple):
    """An action of a transaction.

    `member` is the number of the caller's write that the action carries out, or None. `receipt` is
    True if the action stores the request's token, to detect a repetition of the request.
    """

    action: dict[str, Any]
    member: int | None = None
    receipt: bool = False


@dataclass
class Changed:
    """A write in the request that concerns a changed item or its unique marker.

    `number` is the position of `member` in the request. `old` and `new` are the stored item before
    and after the write.
    """

    number: int
    member: Member
    key: Item
    twin: Twin | None
    old: Item | None
    new: Item | None


@dataclass
class Translation:
    """The transaction that carries out one request.

    `changed` has the writes that concern changed items. `parts` has the actions, by item.
    """

    side: Side
    state: State
    changed: list[Changed] = field(default_factory=list)
    parts: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.requests = Requests(self.side.model, self.state.epoch)

    @property
    def images_of_first(self) -> tuple[Item | None, Item | None]:
        """(before, after): the stored item before and after the first write in `changed`."""
        first = next(iter(self.changed), None)
        return (None, None) if first is None else (first.old, first.new)

    @property
    def both(self) -> bool:
        return self.state.phase in BOTH

    # ---- from the request ----

    def read(self, call: ApiCall) -> Steps[None]:
        """Read the items that the request changes, and evaluate the request. Raises ApiFailure."""
        members = members_of(call)
        touched = {n: m for n, m in enumerate(members) if self._is_changed(m)}
        keys = [member.key(self.side.names) for member in touched.values()]
        images = yield from batches.get_all(self.side.model.name, keys, consistent=True)
        failed: dict[int, Item | None] = {}
        for (number, member), key, raw in zip(touched.items(), keys, images, strict=True):
            image = self._seen(key, raw)
            if not member.holds(image):
                failed[number] = image
            else:
                new = member.result(image)
                twin = self.side.twin_of(new or image or key)
                self.changed.append(Changed(number, member, key, twin, raw, new))
        if failed:
            raise refusal(call, failed)
        for number, member in enumerate(members):
            if number not in touched:
                action = {member.kind: dict(member.parameters)}
                self.parts[identity(member.key(self.side.names))] = Part(action, number)

    def _is_changed(self, member: Member) -> bool:
        if member.kind == "ConditionCheck" or member.table != self.side.model.name:
            return False
        return is_changed(self.side, member)

    def _seen(self, key: Item, raw: Item | None) -> Item | None:
        marker = raw is not None and self.side.is_marker(key)
        return self.side.seen(raw) if raw is not None and marker else raw

    # ---- to the transaction ----

    def write(self, token: str | None) -> list[Part]:
        """The actions of the transaction. Raises BadValue if there are too many.

        They include mirrors, markers, checks of guards, and a receipt of the token.
        """
        mirrored: dict[str, Item] = {}
        for change in self.changed:
            if change.twin is not None and not self.side.is_marker(change.key):
                self._item(change, change.twin, mirrored)
        for change in self.changed:
            if self.side.is_marker(change.key):
                self._marker(change, mirrored)
            elif change.twin is None:
                self._put(change.key, self.requests.own(change.key, change.old, change.new, ()))
        parts = [*self.parts.values(), *self._guards()]
        if token is not None:
            image = own_item(self.side.model, RECEIPT, token)
            receipt = self.requests.mirror(image, absent=True)
            parts.append(Part(receipt, receipt=True))
        expect_room(parts)
        return parts

    def _item(self, change: Changed, twin: Twin, mirrored: dict[str, Item]) -> None:
        old, new, owned = change.old, change.new, twin.own.owned_attributes
        if new is not None and self.both:
            new = twin.complete(new)
        self._put(change.key, self.requests.own(change.key, old, new, owned))
        if twin.keeps_key or not (self.both or self.state.phase is Phase.CONTRACTING):
            return
        was = self._mirror(twin, old)
        now = self._mirror(twin, new)
        old_key = None if was is None else self.requests.key(was)
        if now is not None:
            key = self.requests.key(now)
            mirrored[identity(change.key)] = key
            if self.both:
                self._mirrored(change, key, now, fresh=key != old_key)
            else:
                self._remove(key)
            first = old is not None and stamp_of(old) < self.state.swept_from
            if self.both and new is not None and old is not None and (first or key != old_key):
                self._rename_markers(twin, new, key)
        if old_key is not None and (now is None or old_key != self.requests.key(now)):
            self._remove(old_key)

    def _mirror(self, twin: Twin, image: Item | None) -> Item | None:
        """The mirror of a stored item; None if no mirror can be made and none is needed."""
        if image is None:
            return None
        try:
            return twin.mirror(image)
        except DesignError:
            if self.both:
                raise
            return None

    def _rename_markers(self, twin: Twin, new: Item, key: Item) -> None:
        """Write the mirror's key into the item's unique markers that the request does not write."""
        for marker in markers_of(self.side.model, twin.own, new).values():
            written = any(change.key == marker.key for change in self.changed)
            if not written:
                name = OWNER_ATTRIBUTE if self.side.is_new else OTHER_OWNER
                known = {OTHER_OWNER if self.side.is_new else OWNER_ATTRIBUTE: {"M": marker.owner}}
                self._put(marker.key, self.requests.set(marker.key, {name: {"M": key}}, (), known))

    def _marker(self, change: Changed, mirrored: dict[str, Item]) -> None:
        new = change.new
        if new is not None and self.both:
            owner = identity(new[OWNER_ATTRIBUTE]["M"])
            assert owner in mirrored, "a marker must be written together with its owner"
            new = self.side.with_both_owners(new, mirrored)
        owned = (OWNER_ATTRIBUTE, OTHER_OWNER)
        self._put(change.key, self.requests.own(change.key, change.old, new, owned))

    def _mirrored(self, change: Changed, key: Item, image: Item, *, fresh: bool) -> None:
        """Put the mirror `image` of a changed item.

        `fresh` says that the item had no mirror with this key before. A program of the new model
        then puts the mirror only if there is no item with the key.
        """
        name = identity(key)
        if fresh and self.side.is_new and name not in self.parts:
            action = self.requests.mirror(image, absent=True)
            self.parts[name] = Part(action, change.number)
        else:
            self.parts[name] = Part(self.requests.mirror(image))

    def _remove(self, key: Item) -> None:
        """Delete a mirror, unless the same transaction puts it for another item."""
        name = identity(key)
        if name not in self.parts:
            self.parts[name] = Part(self.requests.remove_mirror(key))
        elif self.parts[name].member is not None:  # the key is also put: replace the item
            self.parts[name] = Part(self.requests.mirror(self.parts[name].action["Put"]["Item"]))

    def _put(self, key: Item, action: dict[str, Any]) -> None:
        self.parts[identity(key)] = Part(action)

    def _guards(self) -> Iterator[Part]:
        """Checks that the guards have the epoch of `state`. None exist before the first start."""
        most = self.side.guards
        numbers = {crc32(identity(c.key).encode()) % most for c in self.changed} if most else set()
        for number in sorted(numbers):
            key = self.side.own_key(GUARD, str(number))
            yield Part(self.requests.guard(key, may_lack=not self.state.guards))


def is_changed(side: Side, member: Member) -> bool:
    """Whether a write may concern a changed item or its unique marker."""
    image: Mapping[str, Any] = member.parameters.get("Item") or member.parameters["Key"]
    return side.twin_of(dict(image)) is not None or side.is_marker(member.key(side.names))


def needs_images(side: Side, state: State, call: ApiCall) -> bool:
    """Whether a request must be translated; otherwise it only sets and checks the epoch."""
    touched = any(
        m.kind != "ConditionCheck" and m.table == side.model.name and is_changed(side, m)
        for m in members_of(call)
    )
    if not touched:
        return False
    return bool(side.guards) or state.phase in (*BOTH, Phase.CONTRACTING)


def fenced(side: Side, state: State, call: ApiCall) -> ApiCall:
    """A copy of the request in which each write of a changed item also sets the item's epoch.

    The condition of such a write is also that the item has no later epoch.
    """
    requests = Requests(side.model, state.epoch)
    members = []
    for member in members_of(call):
        ours = member.table == side.model.name and member.kind != "ConditionCheck"
        members.append(requests.fenced(member) if ours and is_changed(side, member) else member)
    shown = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    if alone(call):
        return ApiCall(call.operation, {**members[0].parameters, **shown})
    items = [
        {m.kind: {**m.parameters, **(shown if "ConditionExpression" in m.parameters else {})}}
        for m in members
    ]
    return ApiCall(call.operation, {**call.payload, "TransactItems": items})
