"""A policy that denies writes by programs that do not follow a migration, and a test of it.

A changed item is an item of an entity that the migration changes. Every program that follows the
migration names the attribute `~epoch` in each write of a changed item. The condition key
`dynamodb:Attributes` contains the attribute names of a request. So the policy denies any write to
the partition keys of changed items that does not name `~epoch`, whatever role sends it.
"""

from collections.abc import Iterator
from typing import Any

from hashrange.design.declare.keys.possible_texts import ANY
from hashrange.design.declare.schema import KeyColumn
from hashrange.design.execute.stamps import EPOCH
from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps
from hashrange.design.migrate.sides import Side

_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete")
_ESCAPED = str.maketrans({"*": "${*}", "?": "${?}", "$": "${$}"})
_PROBED = "~probe"


def unprotected(side: Side) -> str | None:
    """The reason why no policy can protect only the changed items; None if one can."""
    changed = [twin.own for twin in side.twins]
    for entity in side.model.entities:
        if entity in changed:
            continue
        for column in _columns(side):
            if column.meets(entity.key.hash[0], ANY, ANY):
                return (
                    f"a policy would also deny writes of {entity} items. The migration does not "
                    f"change {entity} items, but they can have the same partition keys as items "
                    f"that it changes ({column.template})"
                )
    return None


def policy(side: Side, arn: str) -> dict[str, Any]:
    """A resource policy for the table. Without `Principal`, it can be attached to a role."""
    keys = {"dynamodb:LeadingKeys": sorted({*map(_pattern, _columns(side)), *side.marker_patterns})}
    unstamped = {"ForAllValues:StringNotEquals": {"dynamodb:Attributes": [EPOCH]}}

    def deny(name: str, actions: tuple[str, ...], condition: dict[str, Any]) -> dict[str, Any]:
        return {
            "Sid": name,
            "Effect": "Deny",
            "Principal": "*",
            "Action": [f"dynamodb:{action}" for action in actions],
            "Resource": arn,
            "Condition": {"ForAnyValue:StringLike": keys, **condition},
        }

    batches = deny("BatchesOfChangedItems", ("BatchWriteItem",), {})
    return {
        "Version": "2012-10-17",
        "Statement": [deny("WritesThatDoNotFollow", _WRITES, unstamped), batches],
    }


def kept_out(side: Side) -> Steps[bool]:
    """Whether the table denies a write that does not name `~epoch`, and allows one that does.

    Both are tried with a delete whose condition is never true, so nothing is deleted.
    """
    for column in _columns(side):
        text = _pattern(column).replace("*", _PROBED)
        texts = (text, *[_PROBED] * (len(side.names) - 1))
        key = {name: {"S": each} for name, each in zip(side.names, texts, strict=True)}
        for name, wanted in ((side.names[0], True), (EPOCH, False)):
            if (yield from _is_denied(side.model.name, key, name)) is not wanted:
                return False
    return True


def _is_denied(table: str, key: dict[str, Any], name: str) -> Steps[bool]:
    request = {
        "TableName": table,
        "Key": key,
        "ConditionExpression": "attribute_exists(#name) AND attribute_not_exists(#name)",
        "ExpressionAttributeNames": {"#name": name},
    }
    try:
        yield ApiCall("DeleteItem", request)
    except ApiFailure as failure:
        if failure.code == "ConditionalCheckFailedException":
            return False
        if failure.code.startswith("AccessDenied"):
            return True
        raise
    raise AssertionError("DynamoDB deleted an item in spite of a condition that never holds")


def _columns(side: Side) -> Iterator[KeyColumn]:
    """The partition keys of changed items, in both models."""
    for twin in side.twins:
        for entity in (twin.own, twin.other):
            yield entity.key.hash[0]


def _pattern(column: KeyColumn) -> str:
    parts = column.template.parts
    return "".join(part.translate(_ESCAPED) if isinstance(part, str) else "*" for part in parts)
