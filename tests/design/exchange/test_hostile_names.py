"""Names in files of others stay data: nothing of them runs in the written module."""

import json
from contextlib import nullcontext
from typing import Any

import pytest

from hashrange.design.errors import DesignError
from hashrange.design.exchange.read import read

from .models import imported

EVIL = [
    '"""\nraise SystemExit(7)\n"""',
    "'''\nraise SystemExit(7)\n'''",
    '"); raise SystemExit(7) #',
    "{__import__('os')._exit(7)}",
    "\\\nraise SystemExit(7)",
    "x\r\nraise SystemExit(7)",
    "x\u2028raise SystemExit(7)",
]


def run(document: Any, source: str, allowed: bool) -> None:
    """A name that DynamoDB does not allow is an error of the model, never a statement in it."""
    with nullcontext() if allowed else pytest.raises(DesignError):
        imported(read(json.dumps(document), source).text)


@pytest.mark.parametrize("evil", EVIL)
def test_names_in_templates(evil: str) -> None:
    key = [{"AttributeName": evil, "KeyType": "HASH"}]
    for table, index in ((evil, "index"), ("table", evil), ("table", "index")):
        properties = {
            "TableName": table,
            "KeySchema": key,
            "AttributeDefinitions": [{"AttributeName": evil, "AttributeType": "S"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": index,
                    "KeySchema": key,
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": [evil]},
                }
            ],
        }
        run({"Resources": {evil: {"Type": "AWS::DynamoDB::Table", "Properties": properties}}},
            "cloudformation", evil not in (table, index))  # fmt: skip


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("with_items", [True, False])
def test_names_and_values_in_workbench_files(evil: str, with_items: bool) -> None:
    column = {"AttributeName": evil, "AttributeType": "S"}
    items = [
        {evil: {"S": f"{evil}#{n}"}, "other": {"S": str(n)}, "type": {"S": evil}} for n in range(3)
    ]
    for table, index in ((evil, "index"), ("table", evil), ("table", "index")):
        run(
            {
                "ModelName": evil,
                "DataModel": [
                    {
                        "TableName": table,
                        "KeyAttributes": {"PartitionKey": column},
                        "NonKeyAttributes": [],
                        "TableFacets": [
                            {
                                "FacetName": evil,
                                "KeyAttributeAlias": {"PartitionKeyAlias": evil},
                                "TableData": items if with_items else [],
                            }
                        ],
                        "GlobalSecondaryIndexes": [
                            {
                                "IndexName": index,
                                "KeyAttributes": {"PartitionKey": column},
                                "Projection": {"ProjectionType": "KEYS_ONLY"},
                            }
                        ],
                    }
                ],
            },
            "nosql-workbench",
            evil not in (table, index),
        )
