"""Terraform: an `aws_dynamodb_table` for each table, for version 6 of the AWS provider.

For global indexes, that version replaces `hash_key` and `range_key` by `key_schema` blocks. The
table itself still has `hash_key` and `range_key`.
"""

import re
from collections.abc import Iterator, Sequence

from hashrange.design.declare.schema import Source
from hashrange.design.exchange.omissions import omissions
from hashrange.design.source.exported import Exported
from hashrange.design.table import Table
from hashrange.design.tools.create import STREAM

FORMAT = "Terraform"
HEAD = """\
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.28"
    }
  }
}
"""


def export(tables: Sequence[Table]) -> Exported:
    """A configuration that creates the tables. The provider adds and drops indexes one by one."""
    taken: set[str] = set()
    blocks = [HEAD]
    for table in tables:
        name = _label(table.name, taken)
        taken.add(name)
        lines = "\n".join(f"  {line}".rstrip() for line in _table(table))
        blocks.append(f'resource "aws_dynamodb_table" {quoted(name)} {{\n{lines}\n}}\n')
    warnings = [line for table in tables for line in omissions(table, FORMAT, vectors=True)]
    return Exported("\n".join(blocks), tuple(warnings))


def _label(name: str, taken: set[str]) -> str:
    """A resource's name: letters, digits, `_` and `-`, and no digit first."""
    label = re.sub(r"[^A-Za-z0-9_]", "_", name)
    label = f"_{label}" if label[0].isdigit() else label
    numbers = ("", *(f"_{n}" for n in range(2, 100)))
    return next(label + number for number in numbers if label + number not in taken)


def _table(table: Table) -> Iterator[str]:
    model = table.model
    yield f"name         = {quoted(model.name)}"
    yield 'billing_mode = "PAY_PER_REQUEST"'
    yield f"hash_key     = {quoted(model.table.hash[0].attribute)}"
    for column in model.table.range:
        yield f"range_key    = {quoted(column.attribute)}"
    if model.stream:
        yield "stream_enabled   = true"
        yield f"stream_view_type = {quoted(str(STREAM['StreamViewType']))}"
    for column in dict.fromkeys(c for source in model.sources for c in source.columns):
        yield ""
        yield from _block(
            "attribute", [f"name = {quoted(column.attribute)}", f'type = "{column.tag}"']
        )
    for source in model.indexes:
        yield ""
        global_index = source.kind == "GSI"
        kind = "global_secondary_index" if global_index else "local_secondary_index"
        yield from _block(kind, [*(_global(source) if global_index else _local(source))])
    if model.ttl_attribute is not None:
        yield ""
        yield from _block(
            "ttl", [f"attribute_name = {quoted(model.ttl_attribute)}", "enabled        = true"]
        )
    if table.recovery:
        yield ""
        yield from _block("point_in_time_recovery", ["enabled = true"])


def _global(source: Source) -> Iterator[str]:
    yield f"name            = {quoted(source.name or '')}"
    yield from _projection(source)
    for columns, kind in ((source.hash, "HASH"), (source.range, "RANGE")):
        for column in columns:
            yield ""
            yield from _block(
                "key_schema",
                [f"attribute_name = {quoted(column.attribute)}", f'key_type       = "{kind}"'],
            )


def _local(source: Source) -> Iterator[str]:
    yield f"name            = {quoted(source.name or '')}"
    yield f"range_key       = {quoted(source.range[0].attribute)}"
    yield from _projection(source)


def _projection(source: Source) -> Iterator[str]:
    if isinstance(source.project, str):
        yield f'projection_type = "{source.project}"'
        return
    yield 'projection_type = "INCLUDE"'
    yield f"non_key_attributes = [{', '.join(map(quoted, source.project))}]"


def _block(kind: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"{kind} {{"
    yield from (f"  {line}" for line in lines)
    yield "}"


def quoted(text: str) -> str:
    """The text as a literal, in which `${` and `%{` do not begin a template."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + escaped.replace("${", "$${").replace("%{", "%%{") + '"'
