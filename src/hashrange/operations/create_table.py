"""CreateTable: a table with its keys, indexes and settings."""

from itertools import chain
from typing import NamedTuple
from uuid import UUID

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceInUseException, ValidationException
from hashrange.model.tables import Index, KeyType, Table
from hashrange.operations import stream_settings, table_capacity, table_schema
from hashrange.operations.parse import decode
from hashrange.operations.table_description import describe
from hashrange.operations.table_schema import GivenIndex

ACCOUNT = "000000000000"
"""Of every table: all callers share one account."""


class Request(NamedTuple):
    given: requests.CreateTable
    key: list[requests.KeySchemaElement]
    types: dict[str, KeyType]


def parse(body: bytes) -> Request:
    given = decode(body, requests.CreateTable)
    table_capacity.check_table(given)
    stream_settings.check(given.stream_specification)
    definitions, key = given.attribute_definitions, given.key_schema
    if definitions is None or key is None:
        raise ValidationException(
            "One or more parameter values were invalid: "
            "AttributeDefinitions and KeySchema must be specified"
        )
    types = table_schema.attribute_types(definitions)
    table_schema.check_defined(key, types)
    table_schema.check_key_schema(key)
    local, global_ = given.local_secondary_indexes, given.global_secondary_indexes
    if local is not None:
        table_schema.check_local_indexes(local, key, types)
    if global_ is not None:
        table_schema.check_global_indexes(global_, types)
    table_schema.check_names([*(local or ()), *(global_ or ())])
    _check_all_used(given, types)
    return Request(given, key, types)


def _given_indexes(given: requests.CreateTable) -> list[GivenIndex]:
    return [*(given.local_secondary_indexes or ()), *(given.global_secondary_indexes or ())]


def _check_all_used(given: requests.CreateTable, types: dict[str, KeyType]) -> None:
    indexes = _given_indexes(given)
    schemas = [given.key_schema or [], *(index.key_schema for index in indexes)]
    used = {element.attribute_name for element in chain(*schemas)}
    if len(used) == len(types):
        return
    if not indexes:
        raise table_schema.refuse(
            "Number of attributes in KeySchema does not exactly match number of attributes "
            "defined in AttributeDefinitions"
        )
    raise table_schema.refuse(
        "Some AttributeDefinitions are not used. "
        f"AttributeDefinitions: {table_schema.listed(types)}, "
        f"keys used: {table_schema.listed(sorted(used))}"
    )


def decide(request: Request, moment: Moment) -> Decide:
    given = request.given
    name = fetch.plain_name(given.table_name)
    if (yield from fetch.find_table(name)) is not None:
        raise ResourceInUseException(f"Table already exists: {name}")
    indexes = _given_indexes(given)
    spaces = iter((yield from fetch.new_spaces(2 + len(indexes))))
    table = Table(
        name=name,
        id=str(UUID(bytes=moment.entropy, version=4)),
        account=ACCOUNT,
        region=moment.region,
        space=next(spaces),
        hash=table_schema.names_of(request.key, "HASH"),
        range=table_schema.names_of(request.key, "RANGE"),
        types=request.types,
        indexes=tuple(_index(index, next(spaces)) for index in indexes),
        created_at=moment.now,
        active_at=moment.now + moment.settings.table_delay,
        on_demand=given.billing_mode == "PAY_PER_REQUEST",
        throughput=table_capacity.throughput(given.provisioned_throughput),
        on_demand_limits=table_capacity.on_demand(given.on_demand_throughput),
        warm=table_capacity.warm(given.warm_throughput),
        deletion_protection=bool(given.deletion_protection_enabled),
        table_class=given.table_class,
        tags={tag.key: tag.value for tag in given.tags or ()},
    )
    table, streams = stream_settings.changed(table, given.stream_specification, spaces, moment)
    response = {"TableDescription": describe(table, "CREATING")}
    return Decision([TableChange(None, table), *streams], lambda _: response)


def _index(given: GivenIndex, space: int) -> Index:
    return table_schema.index(given, space, local=isinstance(given, requests.LocalSecondaryIndex))
