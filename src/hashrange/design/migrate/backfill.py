"""A migrator's writes of items: it adds and deletes mirrors, and deletes old items.

Each transaction checks that no other migrator has taken over, and that every item is still as it
was read. An item that has changed since is read again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hashrange.design.execute import batches
from hashrange.design.execute.stamps import EPOCH, OTHER_OWNER, stamp_of, visible
from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps
from hashrange.design.execute.writes.commit import ACTIONS_MAX
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.unique_markers import OWNER_ATTRIBUTE, markers_of
from hashrange.design.migrate.ledger import TAKEN_OVER, Ledger
from hashrange.design.migrate.phases import MigrationError, State
from hashrange.design.migrate.requests import Requests
from hashrange.design.migrate.sides import Side
from hashrange.design.migrate.twins import Twin
from hashrange.model.values import Item, equal

ATTEMPTS = 20
_RETRIED = frozenset({"ConditionalCheckFailed", "TransactionConflict"})


@dataclass(frozen=True)
class Job:
    """An item's key, and actions for it. A transaction with them fails if the item has changed."""

    key: Item
    actions: list[dict[str, Any]]


class Backfill:
    """Writes items of one table for a migrator, until another migrator takes over."""

    def __init__(self, side: Side, state: State) -> None:
        self.side = side
        self.state = state
        self.requests = Requests(side.model, state.epoch)
        self.check = Ledger(side.model).check(state)

    # ---- what an item needs ----

    @property
    def unswept(self) -> dict[str, Any]:
        """The filter of a Scan for items last written before programs began to write mirrors.

        For other items, `job` and `lone` have nothing to do.
        """
        expression = Expression()
        name, value = expression.name(EPOCH), {"N": str(self.state.swept_from)}
        text = f"attribute_not_exists({name}) OR {name} < {expression.value(value)}"
        return {"FilterExpression": text, **expression.parameters()}

    def job(self, image: Item, *, always: bool = False) -> Job | None:
        """The job that mirrors an old item. None if the item needs no job.

        Unless `always`, an item that was written after programs began to write mirrors needs no
        job.
        """
        twin = self.side.twin_of(image)
        if twin is None or (stamp_of(image) >= self.state.swept_from and not always):
            return None
        key = self.requests.key(image)
        owned = twin.own.owned_attributes
        if twin.keeps_key:
            action = self.requests.own(key, image, twin.complete(image), owned)
            return Job(key, [action])
        mirror = twin.mirror(image)
        actions = [
            self.requests.stamp(key, image, owned),
            self.requests.mirror(mirror),
            *self._markers(twin, image, self.requests.key(mirror)),
        ]
        return Job(key, actions)

    def _markers(self, twin: Twin, image: Item, mirror: Item) -> Iterator[dict[str, Any]]:
        """Actions that write the mirror's key into each unique marker of the old item."""
        for marker in markers_of(self.side.model, twin.own, image).values():
            known = {OWNER_ATTRIBUTE: {"M": marker.owner}}
            yield self.requests.set(marker.key, {OTHER_OWNER: {"M": mirror}}, (), known)

    # ---- writing ----

    def write(self, jobs: Sequence[Job]) -> Steps[int]:
        """Write the jobs of a page, many in one transaction. Returns the number of written items.

        A page has at most 1 MB, so a transaction stays far below the limit of 4 MB.
        """
        written = 0
        for chunk in _chunks(jobs):
            failed = yield from self._send(chunk)
            written += len(chunk) - len(failed)
            for job in failed:
                written += yield from self._alone(job.key)
        return written

    def _send(self, jobs: Sequence[Job]) -> Steps[list[Job]]:
        """Send the jobs in one transaction. Returns the jobs to try again: all or none."""
        actions = [self.check, *(action for job in jobs for action in job.actions)]
        try:
            yield ApiCall("TransactWriteItems", {"TransactItems": actions})
        except ApiFailure as failure:
            codes = [reason.get("Code", "None") for reason in failure.reasons]
            if codes and codes[0] == "ConditionalCheckFailed":
                raise MigrationError(TAKEN_OVER) from None
            if not any(code in _RETRIED for code in codes):
                raise
            return list(jobs)
        return []

    def _alone(self, key: Item) -> Steps[int]:
        """Read a changed item once more, and mirror it. Returns the number of mirrored items."""
        for _ in range(ATTEMPTS):
            [image] = yield from batches.get_all(self.side.model.name, [key], consistent=True)
            job = self.job(image) if image is not None else None
            if job is None:
                return 0
            failed = yield from self._send([job])
            if not failed:
                return 1
        raise MigrationError(
            f"the item {key} was changed {ATTEMPTS} times while it was mirrored, or its unique "
            "marker is missing: run st.rebuild_markers, and go on with `resume`"
        )

    # ---- mirrors that stand alone ----

    def lone(self, images: Sequence[Item]) -> Steps[None]:
        """Delete each mirror whose old item is gone or has another mirror.

        Such mirrors are left over if the migration went back and was started again.
        """
        for image in images:
            twin = self._mirrored_by(image)
            if twin is not None and stamp_of(image) < self.state.swept_from:
                yield from self._delete_if_lone(twin, image)

    def _delete_if_lone(self, twin: Twin, image: Item) -> Steps[None]:
        mirror = self.requests.key(image)
        for _ in range(ATTEMPTS):
            key = self.requests.key(twin.reversed.mirror(visible(image)))
            old, now = yield from batches.get_all(
                self.side.model.name, [key, mirror], consistent=True
            )
            if now is None or (old is not None and self._maps(twin, old, mirror)):
                return
            actions = [
                self.requests.unchanged(key, old, twin.own.owned_attributes),
                self.requests.own(mirror, now, None, twin.other.owned_attributes),
            ]
            if not (yield from self._send([Job(key, actions)])):
                return
            image = now
        raise MigrationError(
            f"the item {mirror} was changed at each of {ATTEMPTS} attempts to delete it: go on "
            "with `resume`"
        )

    def _mirrored_by(self, image: Item) -> Twin | None:
        """The twin of which this item is a mirror; None if it is no mirror."""
        twins = (twin for twin in self.side.twins if not twin.keeps_key)
        return next((twin for twin in twins if twin.reversed.owns(image)), None)

    def _maps(self, twin: Twin, old: Item, mirror: Item) -> bool:
        return equal({"M": self.requests.key(twin.mirror(old))}, {"M": mirror})

    def mend(self, keys: Sequence[Item]) -> Steps[None]:
        """Mirror old items again, and delete mirrors without an old item.

        `keys` has keys of old items and of mirrors.
        """
        images = yield from batches.get_all(self.side.model.name, keys, consistent=True)
        for image in images:
            if image is None:
                continue
            twin = self._mirrored_by(image)
            if twin is not None:
                yield from self._delete_if_lone(twin, image)
            job = self.job(image, always=True)
            if job is not None:
                yield from self._send([job])

    # ---- contracting ----

    def contract(self, image: Item) -> Steps[int]:
        """Delete an old item. Returns 1 if it was deleted, else 0.

        For a unique marker, the owner becomes the new item instead. Raises MigrationError if a
        program that does not follow the migration wrote the item.
        """
        if OTHER_OWNER in image and self.side.is_marker(self.requests.key(image)):
            known = {OTHER_OWNER: image[OTHER_OWNER]}
            values = {OWNER_ATTRIBUTE: image[OTHER_OWNER]}
            key = self.requests.key(image)
            action = self.requests.set(key, values, [OTHER_OWNER], known)
            yield from self._send([Job(key, [action])])
            return 0
        twin = self.side.twin_of(image)
        if twin is None or twin.keeps_key:
            return 0
        key = self.requests.key(image)
        if stamp_of(image) < self.state.swept_from:
            raise MigrationError(
                f"the old item {key} was written by a program that does not follow the migration: "
                "copy its values to the new item, delete the old item, and go on with `resume`"
            )
        action = self.requests.own(key, image, None, twin.own.owned_attributes)
        try:
            yield ApiCall("DeleteItem", action["Delete"])
        except ApiFailure as failure:
            if failure.code != "ConditionalCheckFailedException":
                raise
            return 0  # a program has deleted it, with its own write
        return 1


def _chunks(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Split the jobs so that each chunk, with the check of the term, fits in a transaction."""
    chunk: list[Job] = []
    actions = 0
    for job in jobs:
        actions += len(job.actions)
        if chunk and actions >= ACTIONS_MAX:
            yield chunk
            chunk, actions = [], len(job.actions)
        chunk.append(job)
    if chunk:
        yield chunk
