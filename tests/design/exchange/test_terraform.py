"""Terraform configurations parse, and have the keys and indexes of the model."""

from typing import Any

import hcl2
import pytest

from hashrange import design as st
from hashrange.design.declare.schema import Source
from hashrange.design.exchange import terraform

from .models import EXAMPLES, rich, tables


def plain(value: Any) -> Any:
    """Parsed values without the quotes and marks of the parser."""
    if isinstance(value, dict):
        return {plain(k): plain(v) for k, v in value.items() if k != "__is_block__"}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value[1:-1] if isinstance(value, str) and value.startswith('"') else value


def resources(declared: list[st.Table]) -> dict[str, Any]:
    parsed = plain(hcl2.loads(terraform.export(declared).text))
    found = {}
    for resource in parsed["resource"]:
        [body] = resource["aws_dynamodb_table"].values()
        found[body["name"]] = body
    return found


def schema(source: Source) -> list[dict[str, str]]:
    return [
        {"attribute_name": column.attribute, "key_type": kind}
        for columns, kind in ((source.hash, "HASH"), (source.range, "RANGE"))
        for column in columns
    ]


@pytest.mark.parametrize("name", [*EXAMPLES, "rich"])
def test_the_configuration_has_the_model_s_keys(name: str) -> None:
    declared = [rich()] if name == "rich" else tables(name)
    found = resources(declared)
    assert set(found) == {table.name for table in declared}
    for table in declared:
        body, model = found[table.name], table.model
        assert body["hash_key"] == model.table.hash[0].attribute
        sort_key = [column.attribute for column in model.table.range]
        assert [body[name] for name in ("range_key",) if name in body] == sort_key
        columns = {(c.attribute, c.tag) for source in model.sources for c in source.columns}
        assert {(a["name"], a["type"]) for a in body["attribute"]} == columns
        global_indexes = {i["name"]: i for i in body.get("global_secondary_index", [])}
        local_indexes = {i["name"]: i for i in body.get("local_secondary_index", [])}
        for source in model.indexes:
            if source.kind == "GSI":
                index = global_indexes.pop(source.name)
                assert index["key_schema"] == schema(source)
                assert "hash_key" not in index
            else:
                index = local_indexes.pop(source.name)
                assert index["range_key"] == source.range[0].attribute
            kind = source.project if isinstance(source.project, str) else "INCLUDE"
            assert index["projection_type"] == kind
            assert index.get("non_key_attributes", []) == (
                [] if isinstance(source.project, str) else list(source.project)
            )
        assert not global_indexes
        assert not local_indexes
        assert body.get("stream_enabled", False) == model.stream
        assert ("point_in_time_recovery" in body) == table.recovery
        ttl = [block["attribute_name"] for block in body.get("ttl", [])]
        assert ttl == ([] if model.ttl_attribute is None else [model.ttl_attribute])


def test_text_cannot_begin_a_template_or_end_a_literal() -> None:
    assert terraform.quoted('a"${b}%{c}\\') == '"a\\"$${b}%%{c}\\\\"'


def test_a_configuration_names_each_resource_once() -> None:
    text = terraform.export([*tables("sensors"), *tables("sensors")]).text
    assert 'resource "aws_dynamodb_table" "sensor_management" {' in text
    assert 'resource "aws_dynamodb_table" "sensor_management_2" {' in text
