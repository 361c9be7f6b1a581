"""Definitions of key attributes that do not fit the key schemas. Captured in October 2026.

The service lists names in the order of its hash tables, which depends on the names alone.
"""

from typing import Any

import pytest

from .support import (
    Client,
    Index,
    NewTable,
    Table,
    attribute_definitions,
    call,
    cases,
    definition,
    gsi,
    lsi,
    refused,
    unique_name,
)

INVALID = "ValidationException: One or more parameter values were invalid: "
TWICE = "ValidationException: The KeySchema contains multiple key attributes with the same name"
NO_DEFINITION = (
    "ValidationException: Invalid KeySchema: Some index key attribute have no definition"
)
REDEFINED = (
    INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type"
    " as previously defined. "
)
UNUSED = f"{INVALID}Some AttributeDefinitions are not used. AttributeDefinitions: "
NOT_DEFINED = f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. Keys: "


def table_of(defined: str, keys: str, *indexes: Index) -> dict[str, Any]:
    given = {"AttributeDefinitions": attribute_definitions(*defined.split())}
    return {"TableName": unique_name(), **definition(keys, *indexes), **given}


# (attributes defined, keys, indexes, the refusal)
NEW_TABLES: list[tuple[str, str, list[Index], str]] = [
    ("pk owner a", "pk", [gsi("byOwner", "owner/a,a")], TWICE),
    ("pk owner", "pk", [gsi("byOwner", "owner,owner")], TWICE),
    ("pk owner a", "pk", [gsi("byOwner", "owner,a/a")], TWICE),
    ("pk owner a unused", "pk", [gsi("byOwner", "owner/a,a")], TWICE),
    (
        "pk owner",
        "pk",
        [gsi("byOwner", "owner/owner")],
        "ValidationException: Both the Hash Key and the Range Key element in the KeySchema have "
        "the same name",
    ),
    ("pk a", "pk", [gsi("byOwner", "a/m,n")], NO_DEFINITION),
    (
        "pk a b c d e f g h i",
        "pk",
        [gsi("byOwner", "a,b,c,d/e,f,g,h,i")],
        "ValidationException: 1 validation error detected: Value '[KeySchemaElement("
        "attributeName=a, keyType=HASH), …, KeySchemaElement(attributeName=i, keyType=RANGE)]' at "
        "'keySchema' failed to satisfy constraint: Member must have length less than or equal to "
        "8",
    ),
    (
        "PK h a unused",
        "PK",
        [gsi("gsi", "h/a")],
        f"{UNUSED}[h, a, unused, PK], keys used: [a, h, PK]",
    ),
    (
        "orderId customerId status createdAt notUsed",
        "orderId",
        [gsi("byCustomer", "customerId/createdAt"), gsi("byStatus", "status")],
        f"{UNUSED}[customerId, createdAt, notUsed, orderId, status], keys used: [createdAt, "
        "orderId, customerId, status]",
    ),
    (
        "PK a b c d u1 u2",
        "PK",
        [gsi("gsi0", "a/b"), gsi("gsi2", "c/d")],
        f"{UNUSED}[a, b, c, d, PK, u1, u2], keys used: [a, b, c, d, PK]",
    ),
    (
        "PK a b c d u1",
        "PK",
        [gsi("gsi0", "a/b"), gsi("gsi2", "c/d")],
        f"{UNUSED}[a, b, PK, c, d, u1], keys used: [a, b, c, d, PK]",
    ),
    (
        "pk sk l1 spare",
        "pk/sk",
        [lsi("lsi", "pk/l1")],
        f"{UNUSED}[sk, pk, l1, spare], keys used: [l1, sk, pk]",
    ),
    (
        " ".join(["PK", *(f"g{number}" for number in range(1, 15)), "u1"]),
        "PK",
        [gsi(f"gsi{number}", f"g{number}/g{number + 1}") for number in range(1, 15, 2)],
        f"{UNUSED}[g11, g10, g13, g12, g1, g2, g14, g3, g4, g5, g6, g7, g8, g9, PK, u1], keys "
        "used: [g11, g10, g13, g12, g1, g2, g14, g3, g4, g5, g6, g7, g8, g9, PK]",
    ),
    (
        "PK h a",
        "PK",
        [gsi("gsi", "h/a,zz")],
        f"{NOT_DEFINED}[h, zz, a], AttributeDefinitions: [h, a, PK]",
    ),
    (
        "PK a c",
        "PK",
        [gsi("gsi1", "a/b"), gsi("gsi2", "c/z")],
        f"{NOT_DEFINED}[a, b], AttributeDefinitions: [a, PK, c]",
    ),
    (
        "PK a b c",
        "PK",
        [gsi("gsi1", "a/b"), gsi("gsi2", "c/z")],
        f"{NOT_DEFINED}[z, c], AttributeDefinitions: [a, b, PK, c]",
    ),
    (
        "PK w x y",
        "PK",
        [gsi("gsi", "w/x,y,q")],
        f"{NOT_DEFINED}[x, y, q, w], AttributeDefinitions: [x, y, PK, w]",
    ),
    (
        "pk sk",
        "pk/sk",
        [lsi("lsi", "pk/l")],
        f"{NOT_DEFINED}[l, pk], AttributeDefinitions: [sk, pk]",
    ),
    (
        "PK a spare",
        "PK",
        [gsi("gsi1", "a/b")],
        f"{NOT_DEFINED}[a, b], AttributeDefinitions: [a, PK, spare]",
    ),
]


@cases("defined, keys, indexes, refusal", NEW_TABLES)
def test_a_table_is_refused(
    client: Client, defined: str, keys: str, indexes: list[Index], refusal: str
) -> None:
    refused(refusal, call, client, "CreateTable", **table_of(defined, keys, *indexes))


@pytest.fixture(scope="module")
def table(new_shared_table: NewTable) -> Table:
    return new_shared_table("pk/sk", gsi("byOwner", "owner"), lsi("byDate", "pk/date:N"))


# (the key of the index, attributes defined, the refusal)
NEW_INDEXES = [
    ("a,a", "a", TWICE),
    ("a/b", "b", NO_DEFINITION),
    ("pk/other", "other", NO_DEFINITION),  # though the table defines it
    (
        "pk:N",
        "pk:N",
        f"{REDEFINED}Existing schema: Schema:[SchemaElement: key{{pk:S:HASH}}, SchemaElement: "
        "key{sk:S:RANGE}] New schema: Schema:[SchemaElement: key{pk:N:HASH}]",
    ),
    (
        "title/owner:B",
        "title owner:B",
        f"{REDEFINED}Existing schema: Schema:[SchemaElement: key{{owner:S:HASH}}] New schema: "
        "Schema:[SchemaElement: key{title:S:HASH}, SchemaElement: key{owner:B:RANGE}]",
    ),
    (
        "date",
        "date",
        f"{REDEFINED}Existing schema: Schema:[SchemaElement: key{{pk:S:HASH}}, SchemaElement: "
        "key{date:N:RANGE}] New schema: Schema:[SchemaElement: key{date:S:HASH}]",
    ),
]


@cases("keys, defined, refusal", NEW_INDEXES)
def test_an_index_is_refused(table: Table, keys: str, defined: str, refusal: str) -> None:
    before = table.wait()
    table.refused(
        refusal,
        "UpdateTable",
        GlobalSecondaryIndexUpdates=[{"Create": gsi("added", keys).definition()}],
        AttributeDefinitions=attribute_definitions(*defined.split()),
    )
    assert table.wait() == before
