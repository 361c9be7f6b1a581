"""The condition keys of requests: the properties of requests that policies may use.

A request is a list of `Member`s, each an action on a resource that a policy must allow. Names of
condition keys are in lower case. A condition key without a value is absent. Source: Service
Authorization Reference, "Actions, resources, and condition keys for Amazon DynamoDB"; developer
guide, "Using IAM policy conditions for fine-grained access control".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from hashrange.expressions.partiql import Delete, Exists, Insert, Select, Statement, Update
from hashrange.expressions.partiql import keys as partiql_keys
from hashrange.expressions.tree import Node, attributes_of
from hashrange.model import requests
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError
from hashrange.model.tables import Table, TableOrIndex
from hashrange.model.values import AttributeValue, Item
from hashrange.operations.item_shapes import key_text, named
from hashrange.operations.partiql.statements import table_name
from hashrange.operations.resources import Resources, index_arn, table_arn, table_of

Keys = dict[str, tuple[str, ...]]
OfTable = Callable[[Table | None], Keys]
"""Returns the condition keys of a request on a table. If the table does not exist (None), keys with
partition key values are absent."""

LEADING = (
    "dynamodb:leadingkeys",
    "dynamodb:secondpartitionkeyvalues",
    "dynamodb:thirdpartitionkeyvalues",
    "dynamodb:fourthpartitionkeyvalues",
)
FIRST = "dynamodb:firstpartitionkeyvalues"
"""A condition key with the same values as `dynamodb:leadingkeys`."""


def no_keys(table: Table | None) -> Keys:
    return {}


class Member(Struct):
    """An action on a resource, for which a request needs a permission.

    `table_name` is the TableName of the request, which may be an ARN. It is empty if the request
    has a ResourceArn or the ARN of a stream or a backup instead. `number` is the position of a
    statement in BatchExecuteStatement, whose statements are denied one by one.
    """

    action: str
    resource: str
    table_name: str = ""
    index_name: str | None = None
    keys: OfTable = no_keys
    number: int | None = None


def members(name: str, request: Any, caller: Caller, resources: Resources) -> list[Member]:
    """The members of a request that need permissions, in order. `resources` is the function that
    lists the resources of a request of this operation."""
    find = _BY_NAME.get(name)
    if find is not None:
        return list(find(request, caller))
    keys = _OTHERS.get(name, _none)(request)
    body = getattr(request, "body", request)
    index = getattr(body, "index_name", None)
    names = {table_arn(each, caller): each for each in _table_names(body)}
    return [
        Member(action, resource, names.get(table_of(resource), ""), index, keys)
        for action, resource in resources(request, caller)
    ]


def of_one_table(name: str, request: Any, table: Table) -> Keys:
    """All condition keys of a request for items of one table."""
    return _OTHERS.get(name, _none)(request)(table)


_NAMING = ("TableName", "SourceTableName", "TargetTableName")


def _table_names(request: Any) -> list[str]:
    """The names or ARNs of the tables in a request."""
    if isinstance(request, dict):
        return [request[member] for member in _NAMING if member in request]
    return list(filter(None, [getattr(request, "table_name", None)]))


def _none(request: Any) -> OfTable:
    return no_keys


def _member(
    action: str, name: str, caller: Caller, keys: OfTable, index: str | None = None
) -> Member:
    return Member(f"dynamodb:{action}", index_arn(name, index, caller), name, index, keys)


# ---- the values of keys ----


def _leading(
    source: TableOrIndex | None, values: Callable[[str], Iterable[AttributeValue | None]]
) -> Keys:
    """The condition keys that hold partition key values. `values` returns the request's values of
    an attribute."""
    keys: Keys = {}
    if source is None:
        return keys
    for key, attribute in zip(LEADING, source.hash, strict=False):
        texts = dict.fromkeys(filter(None, map(key_text, values(attribute))))
        if texts:
            keys[key] = tuple(texts)
    if LEADING[0] in keys:
        keys[FIRST] = keys[LEADING[0]]
    return keys


def _of_items(table: Table | None, items: Iterable[Item]) -> Keys:
    return _leading(table, lambda attribute: [item.get(attribute) for item in items])


def _attributes(*names: Iterable[str]) -> Keys:
    every = sorted({name for each in names for name in each})
    return {"dynamodb:attributes": tuple(every)} if every else {}


def _members_of(request: Any, select: str | None = None) -> Keys:
    """The condition keys of ReturnConsumedCapacity, ReturnValues and, if `select` is given,
    `dynamodb:select`."""
    keys: Keys = {}
    for key, member in (
        ("dynamodb:returnconsumedcapacity", "return_consumed_capacity"),
        ("dynamodb:returnvalues", "return_values"),
    ):
        value = getattr(request, member, None)
        if value is not None:
            keys[key] = (value,)
    if select is not None:
        keys["dynamodb:select"] = (select,)
    return keys


def _selected(projection: Any) -> str:
    return "ALL_ATTRIBUTES" if projection is None else "SPECIFIC_ATTRIBUTES"


# ---- single items ----


def _read_keys(request: Any, projection: Any, also: Keys, table: Table | None) -> Keys:
    """The condition keys of a GetItem, alone or in a transaction, together with `also`.

    Without a projection, there is no key `dynamodb:attributes`.
    """
    names = _attributes(request.key, named(projection)) if projection is not None else {}
    select = _members_of(request, _selected(projection))
    return {**_of_items(table, [request.key]), **names, **select, **also}


def _write_keys(request: Any, condition: Any, update: Any, also: Keys, table: Table | None) -> Keys:
    item = request.item if hasattr(request, "item") else request.key
    names = _attributes(item, named(condition), named(update))
    return {**_of_items(table, [item]), **names, **_members_of(request), **also}


def _write(request: Any) -> OfTable:
    update = getattr(request, "update", None)
    return partial(_write_keys, request.body, request.condition, update, {})


# ---- Query and Scan ----


def _page_keys(request: Any, table: Table | None) -> Keys:
    body, condition = request.body, getattr(request, "key_condition", None)
    shared = getattr(request, "parameters", request)
    whole = "ALL_ATTRIBUTES" if body.index_name is None else "ALL_PROJECTED_ATTRIBUTES"
    derived = whole if shared.projection is None else "SPECIFIC_ATTRIBUTES"
    keys = _members_of(body, body.select or derived)
    keys |= _attributes(named(condition), named(shared.filter), named(shared.projection))
    if condition is not None:
        keys |= _leading(_source(table, body.index_name), lambda name: [condition.equals(name)])
    return keys


def _source(table: Table | None, index: str | None) -> TableOrIndex | None:
    return table if table is None or index is None else table.index(index)


def _page(request: Any) -> OfTable:
    return partial(_page_keys, request)


# ---- batches and transactions ----


def _batch_get(request: Any, caller: Caller) -> Iterator[Member]:
    for name, wanted in request.body.request_items.items():
        projection = request.projections[name]
        names = _attributes(*wanted.keys, named(projection)) if projection is not None else {}
        also = {**names, **_members_of(request.body, _selected(projection))}
        yield _member("BatchGetItem", name, caller, partial(_batch_keys, wanted.keys, also))


def _batch_write(request: Any, caller: Caller) -> Iterator[Member]:
    for name, wanted in request.writes.items():
        items = [each.key if each.item is None else each.item for each in wanted]
        also = {**_attributes(*items), **_members_of(request.body)}
        yield _member("BatchWriteItem", name, caller, partial(_batch_keys, items, also))


def _batch_keys(items: list[Item], also: Keys, table: Table | None) -> Keys:
    return {**_of_items(table, items), **also}


def _enclosing(name: str, request: Any) -> Keys:
    return {"dynamodb:enclosingoperation": (name,), **_members_of(request)}


def _transact_get(request: Any, caller: Caller) -> Iterator[Member]:
    also = _enclosing("TransactGetItems", request.body)
    for action, projection in zip(request.body.transact_items, request.projections, strict=True):
        keys = partial(_read_keys, action.get, projection, also)
        yield _member("GetItem", action.get.table_name, caller, keys)


_ACTIONS: dict[type[Any], str] = {
    requests.Put: "PutItem",
    requests.Update: "UpdateItem",
    requests.Delete: "DeleteItem",
    requests.ConditionCheck: "ConditionCheckItem",
}


def _transact_write(request: Any, caller: Caller) -> Iterator[Member]:
    also = _enclosing("TransactWriteItems", request.body)
    for each in request.actions:
        keys = partial(_write_keys, each.body, each.condition, each.update, also)
        yield _member(_ACTIONS[type(each.body)], each.body.table_name, caller, keys)


# ---- PartiQL ----


def _statement(statement: Statement, also: Keys, caller: Caller) -> Member:
    read = statement.select if isinstance(statement, Exists) else statement
    index = read.index_name if isinstance(read, Select) else None
    keys = partial(_statement_keys, statement, also)
    action = f"PartiQL{type(read).__name__}"
    return _member(action, table_name(statement), caller, keys, index)


def _statement_keys(statement: Statement, also: Keys, table: Table | None) -> Keys:
    match statement:
        case Insert():
            keys = _of_items(table, [statement.item]) | _attributes(statement.item)
        case Update() | Delete():
            update = named(getattr(statement, "changes", None))
            keys = _written(table, statement.where) | _attributes(
                attributes_of(statement.where), update
            )
            if statement.returning is not None:
                keys["dynamodb:returnvalues"] = (_returned(statement.returning),)
        case Exists(select):
            # It reads the one item whose key is among the conditions, whatever a SELECT would do.
            keys = _select_keys(select, table) | {"dynamodb:fulltablescan": ("false",)}
            keys |= _written(table, select.where)
        case Select():
            keys = _select_keys(statement, table)
    return keys | also


def _written(table: Table | None, where: Node | None) -> Keys:
    if table is None or where is None:
        return {}
    try:
        key = partiql_keys.one_key(where, table.key)
    except ApiError:  # after access is allowed, the operation reports it
        return {}
    return _of_items(table, [key[0]]) if key else {}


def _returned(returning: Any) -> str:
    """The ReturnValues that corresponds to a RETURNING clause: `MODIFIED OLD` is UPDATED_OLD."""
    which, image = returning
    return f"{'UPDATED' if which == 'MODIFIED' else which}_{image}"


def _select_keys(select: Select, table: Table | None) -> Keys:
    columns = select.columns.attributes if select.columns else ()
    condition = attributes_of(select.where) if select.where is not None else frozenset()
    keys = _attributes(columns, condition, [order.name for order in select.order])
    keys["dynamodb:select"] = (
        "SPECIFIC_ATTRIBUTES" if columns else _selected_whole(select.index_name),
    )
    source = _source(table, select.index_name)
    if table is None or source is None:
        return keys
    range_name = source.range[0] if source.range else None
    try:
        queries = partiql_keys.plan(select.where, source.hash[0], range_name, table.types).queries
    except ApiError:  # after access is allowed, the operation reports it
        queries = None
    keys["dynamodb:fulltablescan"] = ("true" if queries is None else "false",)
    values = [query.hash_values[0] for query in queries or ()]
    return keys | _leading(source, lambda name: values if name == source.hash[0] else [])


def _selected_whole(index: str | None) -> str:
    return "ALL_ATTRIBUTES" if index is None else "ALL_PROJECTED_ATTRIBUTES"


def _execute(request: Any, caller: Caller) -> Iterator[Member]:
    yield _statement(request.statement, {}, caller)


def _execute_batch(request: Any, caller: Caller) -> Iterator[Member]:
    for number, each in enumerate(request.bound):
        if not isinstance(each, ApiError):
            member = _statement(each, {}, caller)
            member.number = number
            yield member


def _execute_transaction(request: Any, caller: Caller) -> Iterator[Member]:
    also = _enclosing("ExecuteTransaction", None)
    for each in (*request.reads, *request.changes):
        yield _statement(each, also, caller)


def refuse(request: Any, refusals: Mapping[int, ApiError]) -> Any:
    """The request to BatchExecuteStatement, with errors in place of refused statements. `refusals`
    maps the position of each refused statement to its error."""
    if not refusals:
        return request
    bound = [refusals.get(number, each) for number, each in enumerate(request.bound)]
    return request._replace(bound=bound)


# ---- tags ----


def _new_table(request: Any) -> OfTable:
    body = getattr(request, "body", request)
    return _tags({tag.key: tag.value or "" for tag in body.tags or ()}, ())


def _tagging(request: Any) -> OfTable:
    return _tags(request.new, request.gone)


def _tags(new: Mapping[str, str], gone: Iterable[str]) -> OfTable:
    keys: Keys = {}
    for key, value in new.items():
        name = f"aws:requesttag/{key}".lower()
        keys[name] = (*keys.get(name, ()), value)
    names = (*new, *gone)
    if names:
        keys["aws:tagkeys"] = names
    return lambda table: keys


_BY_NAME: dict[str, Callable[[Any, Caller], Iterator[Member]]] = {
    "BatchExecuteStatement": _execute_batch,
    "BatchGetItem": _batch_get,
    "BatchWriteItem": _batch_write,
    "ExecuteStatement": _execute,
    "ExecuteTransaction": _execute_transaction,
    "TransactGetItems": _transact_get,
    "TransactWriteItems": _transact_write,
}
_OTHERS: dict[str, Callable[[Any], OfTable]] = {
    "CreateTable": _new_table,
    "DeleteItem": _write,
    "GetItem": lambda request: partial(_read_keys, request.body, request.projection, {}),
    "PutItem": _write,
    "Query": _page,
    "Scan": _page,
    "TagResource": _tagging,
    "UntagResource": _tagging,
    "UpdateItem": _write,
}
