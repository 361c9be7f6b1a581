"""NoSQL Workbench files have the structure of its own models."""

import json
from typing import Any

import pytest

from hashrange.design.exchange import workbench

from .models import EXAMPLES, rich, tables

Json = dict[str, Any]
TYPES = {"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}
TABLE_MEMBERS = [
    "TableName", "KeyAttributes", "NonKeyAttributes", "TableFacets", "GlobalSecondaryIndexes",
    "TableData", "DataAccess", "SampleDataFormats", "BillingMode", "ProvisionedCapacitySettings",
]  # fmt: skip
"""The members of a table in the order of Workbench's own files."""


def check_key(key: Json, known: dict[str, str]) -> None:
    assert set(key) <= {"PartitionKey", "SortKey"}
    assert "PartitionKey" in key
    for column in key.values():
        assert set(column) == {"AttributeName", "AttributeType"}
        assert column["AttributeType"] in {"S", "N", "B"}
        assert known[column["AttributeName"]] == column["AttributeType"]


def check_table(table: Json) -> None:
    assert [m for m in TABLE_MEMBERS if m in table] == list(table)
    assert table["DataAccess"] == {"MySql": {}}
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    keys = {c["AttributeName"]: c["AttributeType"] for c in table["KeyAttributes"].values()}
    others = {a["AttributeName"]: a["AttributeType"] for a in table["NonKeyAttributes"]}
    assert len(others) == len(table["NonKeyAttributes"])
    assert not keys.keys() & others.keys()
    assert set(others.values()) <= TYPES
    check_key(table["KeyAttributes"], keys)
    for index in table.get("GlobalSecondaryIndexes", []):
        assert set(index) == {"IndexName", "KeyAttributes", "Projection"}
        check_key(index["KeyAttributes"], keys | others)
        project = index["Projection"]
        include = project["ProjectionType"] == "INCLUDE"
        assert ("NonKeyAttributes" in project) == include
        assert set(project.get("NonKeyAttributes", [])) <= others.keys()
    for facet in table["TableFacets"]:
        aliases = ["PartitionKeyAlias", "SortKeyAlias"][: len(keys)]
        assert list(facet["KeyAttributeAlias"]) == aliases
        assert set(facet["NonKeyAttributes"]) <= others.keys()
        for item in facet["TableData"]:
            assert keys.keys() <= item.keys()
            for attribute, value in item.items():
                assert len(value) == 1
                assert {**keys, **others}[attribute] == next(iter(value))


@pytest.mark.parametrize("name", [*EXAMPLES, "rich"])
def test_the_structure_of_a_file(name: str) -> None:
    declared = [rich()] if name == "rich" else tables(name)
    document = json.loads(workbench.export(declared).text)
    assert list(document) == ["ModelName", "ModelMetadata", "DataModel"]
    assert list(document["ModelMetadata"]) == [
        *("Author", "DateCreated", "DateLastModified", "Description", "AWSService", "Version"),
    ]
    assert document["ModelMetadata"]["Version"] == "3.0"
    assert [table["TableName"] for table in document["DataModel"]] == [t.name for t in declared]
    for table in document["DataModel"]:
        check_table(table)
    names = [f["FacetName"] for table in document["DataModel"] for f in table["TableFacets"]]
    assert len(set(names)) == len(names)
    for table in declared:
        for plan in table.plans.values():
            assert plan.pattern.title in document["ModelMetadata"]["Description"]


def test_every_item_is_in_the_facet_of_its_entity() -> None:
    [table] = tables("sensors")
    [exported] = json.loads(workbench.export([table]).text)["DataModel"]
    for facet in exported["TableFacets"]:
        assert facet["TableData"]
        for item in facet["TableData"]:
            assert type(table.load(item)).__name__ == facet["FacetName"]


def test_a_warning_names_each_part_that_a_file_cannot_express() -> None:
    lines = workbench.export([rich()]).warnings
    assert any("no local indexes: order" in line for line in lines)
    assert any("no keys of several attributes: many" in line for line in lines)
    assert any("no time to live: ends" in line for line in lines)
    for word in ("streams", "point-in-time recovery", "full backups"):
        assert any(word in line for line in lines)
    lines = workbench.export(tables("chat")).warnings
    assert any("no unique texts; left out: Login.one_owner" in line for line in lines)
    assert any("no copies; left out: Membership.username" in line for line in lines)
