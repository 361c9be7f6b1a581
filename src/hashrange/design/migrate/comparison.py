"""Compares old items with their mirrors, to find writes that did not follow the migration."""

import time
from collections.abc import Sequence
from typing import Any

from hashrange.design.execute import batches
from hashrange.design.execute.stamps import OTHER_OWNER, visible
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.design.execute.writes.unique_markers import OWNER_ATTRIBUTE, markers_of
from hashrange.design.migrate.requests import Requests
from hashrange.design.migrate.sides import Side
from hashrange.design.migrate.twins import Twin
from hashrange.model.values import Item, equal

Pair = tuple[Item, Item]
"""The keys of an old item and of its mirror."""


class Comparison:
    """Compares each item of a page with its stored counterpart in the other model."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.requests = Requests(side.model, 0)

    def page(self, images: Sequence[Item]) -> Steps[list[Item]]:
        """The keys of old items whose mirrors differ, and of mirrors without an old item."""
        pairs = [pair for image in images for pair in self._pairs(image)]
        keys = [key for pair in pairs for key in pair]
        stored = yield from batches.get_all(self.side.model.name, keys, consistent=True)
        suspects = [
            pair
            for pair, old, new in zip(pairs, stored[::2], stored[1::2], strict=True)
            if not self._agree(old, new)
        ]
        differing = []
        for pair in suspects:
            old, new = yield from self._together(pair)
            if not self._agree(old, new):
                differing.append(pair[0] if self._is_mirror_of(old, pair[1]) else pair[1])
        for image in images:
            twin = self.side.twin_of(image)
            if twin is not None and twin.keeps_key:
                differing += yield from self._completed(twin, image)
            elif twin is not None:
                differing += yield from self._marked(twin, image)
        return differing

    def _pairs(self, image: Item) -> list[Pair]:
        for twin in self.side.twins:
            if twin.keeps_key:
                continue
            if twin.owns(image):
                return [(self.requests.key(image), self.requests.key(twin.mirror(image)))]
            if twin.reversed.owns(image):
                old = twin.reversed.mirror(image)
                return [(self.requests.key(old), self.requests.key(image))]
        return []

    def _agree(self, old: Item | None, new: Item | None) -> bool:
        """Whether the new item is the mirror of the old one.

        An expired item counts as deleted, since DynamoDB deletes the two items at different times.
        """
        old, new = self._live(old), self._live(new)
        if old is None or new is None:
            return old is new
        twin = self.side.twin_of(old)
        return twin is not None and equal({"M": visible(twin.mirror(old))}, {"M": visible(new)})

    def _is_mirror_of(self, old: Item | None, key: Item) -> bool:
        """Whether the mirror of the old item must have this key."""
        twin = None if old is None else self.side.twin_of(old)
        if old is None or twin is None:
            return False
        return equal({"M": self.requests.key(twin.mirror(old))}, {"M": key})

    def _live(self, image: Item | None) -> Item | None:
        expired = image is not None and self.side.model.expired(image, int(time.time()))
        return None if expired else image

    def _together(self, pair: Pair) -> Steps[tuple[Item | None, Item | None]]:
        """The items with the two keys of `pair`, read from one snapshot."""
        gets: list[Any] = [{"Get": {"TableName": self.side.model.name, "Key": key}} for key in pair]
        response = yield ApiCall("TransactGetItems", {"TransactItems": gets})
        old, new = (answer.get("Item") for answer in response["Responses"])
        return old, new

    def _completed(self, twin: Twin, image: Item) -> Steps[list[Item]]:
        if equal({"M": twin.complete(image)}, {"M": image}):
            return []
        key = self.requests.key(image)
        [now] = yield from batches.get_all(self.side.model.name, [key], consistent=True)
        agrees = now is None or equal({"M": twin.complete(now)}, {"M": now})
        return [] if agrees else [key]

    def _marked(self, twin: Twin, image: Item) -> Steps[list[Item]]:
        """A list with the old item's key if one of its unique markers has wrong owners; else empty.

        A marker must have the item and its mirror as owners.
        """
        if not twin.own.unique:
            return []
        key = self.requests.key(image)
        [now] = yield from batches.get_all(self.side.model.name, [key], consistent=True)
        markers = list(markers_of(self.side.model, twin.own, now).values())
        keys = [marker.key for marker in markers]
        stored = yield from batches.get_all(self.side.model.name, keys, consistent=True)
        if now is None:
            return []
        owners = {"M": key}, {"M": self.requests.key(twin.mirror(now))}
        named = [
            one is not None and (one.get(OWNER_ATTRIBUTE), one.get(OTHER_OWNER)) == owners
            for one in stored
        ]
        return [] if all(named) else [key]
