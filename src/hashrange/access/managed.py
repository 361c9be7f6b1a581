"""AWS's managed policies for programs that use DynamoDB, by their names.

A policy for many services is reduced to the parts that concern DynamoDB. Source: AWS managed policy
reference guide.
"""

import json
from typing import Any

ARN_PREFIX = "arn:aws:iam::aws:policy/"

_STREAMS = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"]
_READ_ONLY = (
    *("BatchGetItem", "Describe*", "List*", "GetAbacStatus", "GetItem", "GetResourcePolicy"),
    *("Query", "Scan", "PartiQLSelect"),
)


def _allow(*actions: str) -> dict[str, Any]:
    named = [f"dynamodb:{action}" for action in actions]
    return {"Effect": "Allow", "Action": named, "Resource": "*"}


_EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
_POWER = {
    "Effect": "Allow",
    "NotAction": ["iam:*", "organizations:*", "account:*"],
    "Resource": "*",
}

_STATEMENTS = {
    "AdministratorAccess": _EVERYTHING,
    "PowerUserAccess": _POWER,
    "ReadOnlyAccess": _allow(
        "BatchGet*", "Describe*", "Get*", "List*", "PartiQLSelect", "Query", "Scan"
    ),
    "AmazonDynamoDBFullAccess": _allow("*"),
    "AmazonDynamoDBFullAccess_v2": _allow("*"),
    "AmazonDynamoDBReadOnlyAccess": _allow(*_READ_ONLY),
    "AWSLambdaDynamoDBExecutionRole": _allow(*_STREAMS),
    "AWSLambdaInvocation-DynamoDB": _allow(*_STREAMS),
}

NAMES = tuple(_STATEMENTS)


def document(name: str) -> str:
    """The policy with this name, as JSON."""
    return json.dumps({"Version": "2012-10-17", "Statement": [_STATEMENTS[name]]})
