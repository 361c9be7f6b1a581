"""The writes of a migration. Each sets an item's epoch, and fails if the item has a later one."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import BadValue
from hashrange.design.execute.stamps import EPOCH
from hashrange.design.execute.writes.commit import ACTIONS_MAX
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.migrate.evaluation import Member
from hashrange.model.values import Item, equal


def identity(key: Item) -> str:
    return repr(sorted(key.items()))


class Requests:
    """Makes the actions of transactions on one table.

    An action that puts or updates an item also sets the item's epoch.
    """

    def __init__(self, model: TableModel, epoch: int) -> None:
        self.table = model.name
        self.names = tuple(column.attribute for column in model.table.columns)
        self.epoch = epoch
        self._stamps: dict[Any, dict[str, Any]] = {}

    def key(self, image: Item) -> Item:
        return {name: image[name] for name in self.names}

    def stamped(self, image: Item) -> Item:
        return {**image, EPOCH: {"N": str(self.epoch)}}

    # ---- conditions ----

    def not_above(self, expression: Expression) -> str:
        """A condition: the item does not exist, or its last write has no later epoch."""
        name, value = expression.name(EPOCH), expression.value({"N": str(self.epoch)})
        return f"(attribute_not_exists({name}) OR {name} <= {value})"

    def as_read(self, image: Item | None, owned: Iterable[str], expression: Expression) -> str:
        """A condition: the item has the image's attributes, and no other attribute of `owned`.

        If the image is None, there must be no item.
        """
        if image is None:
            return expression.as_read(self.names[0], None)
        absent = {EPOCH, *owned} - image.keys()
        parts = [f"attribute_exists({expression.name(self.names[0])})"]
        parts += [expression.as_read(n, image[n]) for n in sorted(image) if n not in self.names]
        parts += [expression.as_read(name, None) for name in sorted(absent)]
        return " AND ".join(parts)

    # ---- actions ----

    def own(
        self, key: Item, old: Item | None, new: Item | None, owned: Iterable[str]
    ) -> dict[str, Any]:
        """Change an item from `old` to `new`, on condition that it is still `old`.

        None means that there is no item. `as_read` explains `owned`.
        """
        expression = Expression()
        condition = self.as_read(old, owned, expression)
        if new is None and old is None:
            return self._action("ConditionCheck", {"Key": key}, condition, expression)
        if new is None:
            return self._action("Delete", {"Key": key}, condition, expression)
        if old is None:
            return self._action("Put", {"Item": self.stamped(new)}, condition, expression)
        return self._update(key, old, self.stamped(new), condition, expression)

    def _update(
        self, key: Item, old: Item, new: Item, condition: str, expression: Expression
    ) -> dict[str, Any]:
        changed = [n for n, v in new.items() if n not in old or not equal(old[n], v)]
        names = dict.fromkeys([EPOCH, *changed])
        sets = [f"{expression.name(n)} = {expression.value(new[n])}" for n in names]
        removes = [expression.name(n) for n in old if n not in new]
        text = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(removes)}" if removes else "")
        parameters = {"Key": key, "UpdateExpression": text}
        return self._action("Update", parameters, condition, expression)

    def stamp(self, key: Item, image: Item, owned: frozenset[str]) -> dict[str, Any]:
        """Set the epoch of an item, and change nothing else.

        The expressions are shared by items that have the same attributes. `as_read` explains
        `owned`.
        """
        known = owned, *image
        shared = self._stamps.get(known)
        if shared is None:
            names = {name: {"S": name} for name in image}
            shared = self._stamps[known] = self.own({}, names, names, owned)["Update"]
        values = {
            placeholder: image[one["S"]] if "S" in one else one
            for placeholder, one in shared["ExpressionAttributeValues"].items()
        }
        return {"Update": {**shared, "Key": key, "ExpressionAttributeValues": values}}

    def mirror(self, image: Item, *, absent: bool = False) -> dict[str, Any]:
        """Put a mirror; with `absent`, only if there is no item with its key."""
        if absent:
            expression = Expression()
            condition = expression.as_read(self.names[0], None)
            return self._action("Put", {"Item": self.stamped(image)}, condition, expression)
        return {"Put": {**self._mirror, "Item": self.stamped(image)}}

    @cached_property
    def _mirror(self) -> dict[str, Any]:
        expression = Expression()
        action = self._action("Put", {}, self.not_above(expression), expression)
        parameters: dict[str, Any] = action["Put"]
        return parameters

    def remove_mirror(self, key: Item) -> dict[str, Any]:
        expression = Expression()
        return self._action("Delete", {"Key": key}, self.not_above(expression), expression)

    def guard(self, key: Item, *, may_lack: bool) -> dict[str, Any]:
        expression = Expression()
        condition = expression.as_read("epoch", {"N": str(self.epoch)})
        if may_lack:
            condition += f" OR {expression.as_read(self.names[0], None)}"
        return self._action("ConditionCheck", {"Key": key}, condition, expression)

    def unchanged(self, key: Item, image: Item | None, owned: Iterable[str]) -> dict[str, Any]:
        """A check that the item is still as read. `as_read` explains `owned`."""
        expression = Expression()
        condition = self.as_read(image, owned, expression)
        return self._action("ConditionCheck", {"Key": key}, condition, expression)

    def set(
        self, key: Item, values: Mapping[str, Any], removes: Sequence[str], known: Item
    ) -> dict[str, Any]:
        """Set attributes of an item, and its epoch.

        The condition is that the item has the attributes `known` and no later epoch.
        """
        expression = Expression()
        condition = " AND ".join(
            [self.not_above(expression), *(expression.as_read(n, v) for n, v in known.items())]
        )
        all_values = self.stamped(dict(values))
        text = "SET " + ", ".join(
            f"{expression.name(n)} = {expression.value(v)}" for n, v in all_values.items()
        )
        if removes:
            text += " REMOVE " + ", ".join(map(expression.name, removes))
        return self._action("Update", {"Key": key, "UpdateExpression": text}, condition, expression)

    def fenced(self, member: Member) -> Member:
        """A copy of the write `member` that also sets the item's epoch.

        The condition is also that the item has no later epoch.
        """
        parameters = dict(member.parameters)
        condition = "(attribute_not_exists(#zz) OR #zz <= :zz)"
        own = parameters.get("ConditionExpression")
        parameters["ConditionExpression"] = f"({own}) AND {condition}" if own else condition
        parameters["ExpressionAttributeNames"] = {
            **parameters.get("ExpressionAttributeNames", {}),
            "#zz": EPOCH,
        }
        parameters["ExpressionAttributeValues"] = {
            **parameters.get("ExpressionAttributeValues", {}),
            ":zz": {"N": str(self.epoch)},
        }
        if member.kind == "Put":
            parameters["Item"] = self.stamped(parameters["Item"])
        if member.kind == "Update":
            text = parameters["UpdateExpression"]
            stamp = "SET #zz = :zz"
            sets = text.startswith("SET ")
            text = f"{stamp}, {text[4:]}" if sets else f"{stamp} {text}"
            parameters["UpdateExpression"] = text
        return Member(member.kind, parameters)

    def _action(
        self, kind: str, parameters: dict[str, Any], condition: str, expression: Expression
    ) -> dict[str, Any]:
        common = {"TableName": self.table, **parameters, "ConditionExpression": condition}
        return {kind: {**common, **expression.parameters()}}


def expect_room(actions: Sequence[object]) -> None:
    if len(actions) > ACTIONS_MAX:
        raise BadValue(
            f"with the mirrors of the migration, the transaction has {len(actions)} writes, but at "
            f"most {ACTIONS_MAX} are allowed: split it, at least until the migration has finished"
        )
