"""Evaluates writes, in wire form, on the stored form of an item that was read."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hashrange.design.execute.steps import ApiCall, ApiFailure
from hashrange.expressions.request import Expressions
from hashrange.model.errors import ConditionalCheckFailedException, TransactionCanceledException
from hashrange.model.values import Item

KINDS = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete"}
CONDITION_FAILED = "ConditionalCheckFailed"
_FAILED = "The conditional request failed"


@dataclass(frozen=True)
class Member:
    """One write of a request, or one of its condition checks."""

    kind: str
    parameters: Mapping[str, Any]

    @property
    def table(self) -> str:
        name: str = self.parameters["TableName"]
        return name

    def key(self, names: tuple[str, ...]) -> Item:
        source = self.parameters["Item" if self.kind == "Put" else "Key"]
        return {name: source[name] for name in names}

    def holds(self, image: Item | None) -> bool:
        """Whether the condition of the write is true for the stored item."""
        text = self.parameters.get("ConditionExpression")
        return text is None or self._expressions().condition(text).matches(image)

    def result(self, image: Item | None) -> Item | None:
        """The stored item after the write. Raises ValidationException where DynamoDB does."""
        if self.kind == "Put":
            return dict(self.parameters["Item"])
        if self.kind == "Delete":
            return None
        update = self._expressions().update(self.parameters["UpdateExpression"])
        return update.apply(dict(self.parameters["Key"]) if image is None else image)

    def _expressions(self) -> Expressions:
        names = self.parameters.get("ExpressionAttributeNames")
        values = deepcopy(self.parameters.get("ExpressionAttributeValues"))
        return Expressions(names, values)


def members_of(call: ApiCall) -> list[Member]:
    if call.operation != "TransactWriteItems":
        return [Member(KINDS[call.operation], call.payload)]
    return [
        Member(kind, one) for each in call.payload["TransactItems"] for kind, one in each.items()
    ]


def alone(call: ApiCall) -> bool:
    """Whether the request is a single write, and not a transaction."""
    return call.operation != "TransactWriteItems"


def refusal(call: ApiCall, images: Mapping[int, Item | None]) -> ApiFailure:
    """The error of a request whose conditions fail.

    `images` has the stored item for each member whose condition fails, by the member's position.
    """
    if alone(call):
        error = ConditionalCheckFailedException(_FAILED)
        return ApiFailure("ConditionalCheckFailedException", _FAILED, error, Item=images[0])
    reasons = [
        {"Code": CONDITION_FAILED, "Message": _FAILED, "Item": images[number]}
        if number in images
        else {"Code": "None"}
        for number in range(len(members_of(call)))
    ]
    text = f"Transaction cancelled, {len(images)} conditions failed"
    cancelled = TransactionCanceledException(text)
    return ApiFailure("TransactionCanceledException", text, cancelled, CancellationReasons=reasons)


def answer(
    call: ApiCall, old: Item | None, new: Item | None, response: Mapping[str, Any]
) -> dict[str, Any]:
    """The response to a program's request, made from that of the transaction sent in its place.

    `old` and `new` are the item before and after the write, for a request that is a single write.
    """
    if not alone(call):
        return dict(response)
    answered: dict[str, Any] = {}
    returned = {"ALL_OLD": old, "ALL_NEW": new}.get(call.payload.get("ReturnValues", "NONE"))
    if returned is not None:
        answered["Attributes"] = returned
    consumed = response.get("ConsumedCapacity")
    if consumed:
        units = sum(one.get("CapacityUnits", 0.0) for one in consumed)
        answered["ConsumedCapacity"] = {
            "TableName": consumed[0]["TableName"],
            "CapacityUnits": units,
        }
    return answered
