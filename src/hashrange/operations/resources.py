"""The resources that a request uses, as ARNs, and the IAM action that it needs on each.

Most actions have the name of the operation. A transaction needs the actions of its members instead
(PutItem, ConditionCheckItem, ...), and a PartiQL statement needs the action for its kind. Source:
Service Authorization Reference, "Actions, resources, and condition keys for Amazon DynamoDB";
developer guide, "Using IAM with DynamoDB transactions" and "IAM security policies with PartiQL for
DynamoDB".
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from hashrange.expressions.partiql import Exists, Select, Statement
from hashrange.model import requests
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError

ANY = "*"
"""The resource of an action that does not concern a table."""


class Access(NamedTuple):
    """An action, such as `dynamodb:GetItem`, on a resource, which is an ARN or `*`."""

    action: str
    resource: str


Resources = Callable[[Any, Caller], list[Access]]
"""Lists the accesses of a checked request: each once, in the order of the request."""


def nothing(request: Any, caller: Caller) -> list[Access]:
    """An empty list, for operations that need no permission because no client can send them."""
    return []


def table_arn(name_or_arn: str, caller: Caller) -> str:
    """The ARN of a table with this name or ARN."""
    if name_or_arn.startswith("arn:"):
        return name_or_arn
    return f"arn:aws:dynamodb:{caller.region}:{caller.account}:table/{name_or_arn}"


def table_of(arn: str) -> str:
    """The ARN of the table in the ARN of a table, index or stream."""
    before, table, rest = arn.rpartition(":table/")
    return before + table + rest.partition("/")[0]


def index_arn(name_or_arn: str, index_name: str | None, caller: Caller) -> str:
    """The ARN of an index, or of the table if `index_name` is None."""
    arn = table_arn(name_or_arn, caller)
    return arn if index_name is None else f"{arn}/index/{index_name}"


def _distinct(accesses: Iterable[tuple[str, str]]) -> list[Access]:
    return [Access(f"dynamodb:{name}", arn) for name, arn in dict.fromkeys(accesses)]


def _body(request: Any) -> Any:
    """The typed request. Many operations wrap it in an object that also has its parsed parts."""
    return getattr(request, "body", request)


# ---- one resource ----


def _anything(name: str, request: Any, caller: Caller) -> list[Access]:
    return _distinct([(name, ANY)])


def _table(name: str, request: Any, caller: Caller) -> list[Access]:
    return _distinct([(name, table_arn(_body(request).table_name, caller))])


def _table_or_index(name: str, request: Any, caller: Caller) -> list[Access]:
    body = _body(request)
    return _distinct([(name, index_arn(body.table_name, body.index_name, caller))])


def _stream(name: str, request: Any, caller: Caller) -> list[Access]:
    return _distinct([(name, _body(request).stream_arn)])


def _iterator(name: str, request: requests.GetRecords, caller: Caller) -> list[Access]:
    """The access to the stream of a shard iterator. It is `*` for a malformed iterator, which the
    operation will refuse."""
    arn, _, rest = request.shard_iterator.partition("|")
    return _distinct([(name, arn if rest else ANY)])


def _tagged(name: str, request: requests.ListTagsOfResource, caller: Caller) -> list[Access]:
    return _distinct([(name, request.resource_arn or ANY)])


def _tagging(name: str, request: Any, caller: Caller) -> list[Access]:
    return _distinct([(name, request.arn)])


# ---- several resources ----


def _new_table(name: str, request: Any, caller: Caller) -> list[Access]:
    """The accesses of CreateTable, which needs further actions if it sets tags or a policy."""
    body: requests.CreateTable = _body(request)
    names = [name]
    if body.tags:
        names.append("TagResource")
    if body.resource_policy is not None:
        names.append("PutResourcePolicy")
    return _distinct((each, table_arn(body.table_name, caller)) for each in names)


def _batch(name: str, request: Any, caller: Caller) -> list[Access]:
    return _distinct((name, table_arn(each, caller)) for each in _body(request).request_items)


def _transaction_reads(name: str, request: Any, caller: Caller) -> list[Access]:
    return _distinct(
        ("GetItem", table_arn(each.get.table_name, caller))
        for each in _body(request).transact_items
    )


def _transaction_writes(name: str, request: Any, caller: Caller) -> list[Access]:
    accesses = []
    for each in _body(request).transact_items:
        for action, action_body in (
            ("ConditionCheckItem", each.condition_check),
            ("PutItem", each.put),
            ("DeleteItem", each.delete),
            ("UpdateItem", each.update),
        ):
            if action_body is not None:
                accesses.append((action, table_arn(action_body.table_name, caller)))
    return _distinct(accesses)


def _statements(statements: Iterable[Statement | ApiError], caller: Caller) -> list[Access]:
    """The accesses of statements. EXISTS needs the same access as a SELECT. An invalid statement
    needs none."""
    accesses = []
    for each in statements:
        if isinstance(each, ApiError):
            continue
        statement = each.select if isinstance(each, Exists) else each
        index = statement.index_name if isinstance(statement, Select) else None
        arn = index_arn(statement.table_name, index, caller)
        accesses.append((f"PartiQL{type(statement).__name__}", arn))
    return _distinct(accesses)


def _statement(name: str, request: Any, caller: Caller) -> list[Access]:
    return _statements([request.statement], caller)


def _batch_of_statements(name: str, request: Any, caller: Caller) -> list[Access]:
    return _statements(request.bound, caller)


def _transaction_of_statements(name: str, request: Any, caller: Caller) -> list[Access]:
    return _statements([*request.reads, *request.changes], caller)


_BY_NAME: dict[str, Callable[[str, Any, Caller], list[Access]]] = {
    "BatchExecuteStatement": _batch_of_statements,
    "BatchGetItem": _batch,
    "BatchWriteItem": _batch,
    "CreateTable": _new_table,
    "DescribeContributorInsights": _table_or_index,
    "DescribeEndpoints": _anything,
    "DescribeLimits": _anything,
    "DescribeStream": _stream,
    "ExecuteStatement": _statement,
    "ExecuteTransaction": _transaction_of_statements,
    "GetRecords": _iterator,
    "GetShardIterator": _stream,
    "ListContributorInsights": _anything,
    "ListStreams": _anything,
    "ListTables": _anything,
    "ListTagsOfResource": _tagged,
    "Query": _table_or_index,
    "Scan": _table_or_index,
    "SearchVectors": _table_or_index,
    "TagResource": _tagging,
    "TransactGetItems": _transaction_reads,
    "TransactWriteItems": _transaction_writes,
    "UntagResource": _tagging,
    "UpdateContributorInsights": _table_or_index,
}
"""For each operation, the function that lists the accesses of a request. An operation that is not
listed accesses the table that it names."""


def of(name: str) -> Resources:
    """The function that lists the accesses of a request of this operation."""
    return partial(_BY_NAME.get(name, _table), name)


# ---- operations without typed requests: JSON as it came ----


def _global_table_arn(name: str, caller: Caller) -> str:
    return f"arn:aws:dynamodb::{caller.account}:global-table/{name}"


def _arns(member: str, request: dict[str, Any], caller: Caller) -> list[str]:
    """The ARNs in a member of a request; none if the member is absent."""
    named = request.get(member)
    if named is None:
        return []
    if member == "GlobalTableName":
        return [_global_table_arn(named, caller)]
    if member == "TableCreationParameters":
        return [table_arn(named["TableName"], caller)]
    if member == "TableName":
        return [index_arn(named, request.get("IndexName"), caller)]
    if member.endswith(("TableName", "TableArn")):
        return [table_arn(named, caller)]
    return [named]


def of_members(name: str, *members: str) -> Resources:
    """A function that finds the resources of a request in these members; `*` if all are absent."""

    def find(request: dict[str, Any], caller: Caller) -> list[Access]:
        arns = [arn for member in members for arn in _arns(member, request, caller)]
        return _distinct((name, arn) for arn in arns or [ANY])

    return find


_RESTORING = (
    *("BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem"),
)
"""The additional actions that a restore needs on the new table."""


def of_restore(name: str, *members: str) -> Resources:
    """Like `of_members`, with the additional actions that a restore needs on the new table. The
    last member names the new table."""
    named = of_members(name, *members)

    def find(request: dict[str, Any], caller: Caller) -> list[Access]:
        target = table_arn(request[members[-1]], caller)
        more = _distinct((each, target) for each in _RESTORING)
        return [*named(request, caller), *more]

    return find
