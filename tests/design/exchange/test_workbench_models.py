"""NoSQL Workbench files become models: our own come back, and those of others are read."""

import json
from typing import Any

import pytest

from hashrange import design as st
from hashrange.design.exchange import workbench
from hashrange.design.exchange.read import read
from hashrange.design.source.exported import ExchangeError

from ..inference.tables import templates
from .models import imported, rich, tables

Json = dict[str, Any]
SHARDED = {"unfulfilled-pk"}
"""Keys that need more items than a file has."""


def back(declared: list[st.Table]) -> list[st.Table]:
    return imported(read(workbench.export(declared).text, "nosql-workbench").text)


@pytest.mark.parametrize("name", ["organisations", "orders", "sensors", "animals", "chat"])
def test_the_round_trip_keeps_tables_entities_and_templates(name: str) -> None:
    declared = tables(name)
    for table, again in zip(declared, back(declared), strict=True):
        assert again.name == table.name
        kept = [s for s in table.model.sources if s.kind != "LSI"]
        assert [*again.model.sources] == kept
        entities = {str(entity): entity for entity in again.model.entities}
        for entity in table.model.entities:
            local = {"last_updated"}  # the key of a local index
            wanted = {a: t for a, t in templates(entity).items() if a not in SHARDED | local}
            got = {a: t for a, t in templates(entities[str(entity)]).items() if a not in SHARDED}
            assert got == wanted


def test_an_export_of_the_result_has_the_same_tables() -> None:
    first = json.loads(workbench.export(tables("sensors")).text)
    again = json.loads(workbench.export(back(tables("sensors"))).text)
    for one, other in zip(first["DataModel"], again["DataModel"], strict=True):
        assert one["KeyAttributes"] == other["KeyAttributes"]
        assert one["GlobalSecondaryIndexes"] == other["GlobalSecondaryIndexes"]
        assert {f["FacetName"]: f["KeyAttributeAlias"] for f in one["TableFacets"]} == {
            f["FacetName"]: f["KeyAttributeAlias"] for f in other["TableFacets"]
        }


def test_keys_of_every_type() -> None:
    [again] = back([rich()])
    assert again.model.table == rich().model.table
    assert {s.name for s in again.model.indexes} == {"some", "keys"}


def bank(**table: Any) -> Json:
    """A model of another author: aliases are free text, and items are in facets and beside them."""
    accounts = [
        {"PK": {"S": f"ACCT#{n}"}, "SK": {"S": "INFO"}, "accountId": {"S": str(n)},
         "owner": {"S": f"Owner {n}"}}
        for n in range(3)
    ]  # fmt: skip
    moves = [
        {"PK": {"S": f"ACCT#{n % 3}"}, "SK": {"S": f"MOVE#{n:04d}"}, "accountId": {"S": str(n % 3)},
         "number": {"N": str(n)}}
        for n in range(9)
    ]  # fmt: skip
    facets = [
        {"FacetName": "Account", "KeyAttributeAlias": {"PartitionKeyAlias": "ACCT#…",
         "SortKeyAlias": "INFO"}, "TableData": accounts, "NonKeyAttributes": ["owner"]},
        {"FacetName": "Move", "KeyAttributeAlias": {"PartitionKeyAlias": "PK"}, "TableData": moves},
    ]  # fmt: skip
    return {
        "ModelName": "Bank",
        "ModelMetadata": {"Version": "2.0", "DateCreated": "whenever"},
        "DataModel": [
            {
                "TableName": "bank",
                "KeyAttributes": {
                    "PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
                    "SortKey": {"AttributeName": "SK", "AttributeType": "S"},
                },
                "NonKeyAttributes": [
                    {"AttributeName": "accountId", "AttributeType": "S"},
                    {"AttributeName": "owner", "AttributeType": "S"},
                    {"AttributeName": "number", "AttributeType": "N"},
                ],
                "TableFacets": facets,
                "TableData": [accounts[0], moves[0]],
                "SavedQuery": {},
                **table,
            }
        ],
    }


def test_a_model_of_another_author() -> None:
    done = read(json.dumps(bank()), "nosql-workbench")
    [table] = imported(done.text)
    assert done.warnings == ("bank: SavedQuery is not understood, so it is left out",)
    assert {str(e): templates(e) for e in table.model.entities} == {
        "Account": {"PK": "ACCT#{account_id}", "SK": "INFO"},
        "Move": {"PK": "ACCT#{account_id}", "SK": "MOVE#{number:04d}"},
    }


def test_a_model_without_facets_is_read_by_its_items() -> None:
    facets = bank()["DataModel"][0]["TableFacets"]
    items = [item for facet in facets for item in facet["TableData"]]
    done = read(json.dumps(bank(TableFacets=[], TableData=items * 2)), "nosql-workbench")
    [table] = imported(done.text)
    assert {e.key.range[0].template.literal_text for e in table.model.entities} == {
        "INFO",
        "MOVE#",
    }


def test_a_model_without_items_has_its_attributes() -> None:
    done = read(json.dumps(bank(TableFacets=[], TableData=[])), "nosql-workbench")
    [table] = imported(done.text)
    [entity] = table.model.entities
    assert {entity.attributes[n]: k.tag for n, k in entity.fields.items()} == {
        "PK": "S", "SK": "S", "accountId": "S", "owner": "S", "number": "N",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("", "is not JSON"),
        ("[1]", "no DataModel"),
        ('{"Resources": {"T": {"Type": "AWS::DynamoDB::Table"}}}', "no DataModel"),
        ('{"DataModel": []}', "no DataModel"),
        ('{"DataModel": [{}]}', "in a table"),
        ('{"DataModel": ["x"]}', "in a table"),
        ('{"DataModel": [{"TableName": "t", "KeyAttributes": {"PartitionKey": 1}}]}', "in a table"),
        ('{"DataModel": [{"TableName": "t", "KeyAttributes": []}]}', "in a table"),
    ],
)
def test_other_documents_are_refused(document: str, said: str) -> None:
    with pytest.raises(ExchangeError, match=said) as refused:
        read(document, "nosql-workbench")
    assert "\n" not in str(refused.value)
