"""The export for ElectroDB. `tests/clients` compiles and runs it; here is what needs no Node.js."""

from pathlib import Path

import pytest

from hashrange import design as st
from hashrange.design.exchange.export import export
from hashrange.tools.cli.design.model_files import tables_of

from ..models import GET_A, A, model, patterns
from ..test_examples import EXAMPLES

KINDS = Path(__file__).parents[2] / "clients" / "every_kind.py"


def text(table: st.Table) -> str:
    return export(table, "electrodb").text


def test_what_cannot_be_carried_over_is_named() -> None:
    [table] = tables_of(KINDS)
    exported = export(table, "electrodb")
    left_out = [line.split(" is left out")[0] for line in exported.warnings]
    names = ["by_month", "old", "one_of_shards", "near", "like", "every_mark"]
    assert left_out == [f"kinds: Kinds.{name}" for name in names]
    for pattern in (p.name for found in table.patterns.values() for p in found):
        assert (f"async {pattern}(" in exported.text) == (pattern not in names)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("chat", 'async login(args: { method: "EMAIL" | "USERNAME" | "STEAM"; handle: string })'),
        ("animals", "if (args.street === undefined) {"),
        ("orders", "[...Array(10).keys()].flatMap((shard) =>"),
        (
            "organisations",
            'Promise<(Pick<ProjectsProject, "organisation_id" | "name" | "owner">)[]>',
        ),
        ("tasks", 'const HIDES: string | null = "expires";'),
        ("sensors", "async all_of<T extends keyof SensorManagementItems>(args: { entity: T })"),
    ],
)
def test_a_pattern_as_a_method(name: str, line: str) -> None:
    assert line in "".join(text(table) for table in tables_of(EXAMPLES / f"{name}.py"))


def test_a_pattern_named_like_the_entities_is_left_out() -> None:
    table = model(A + patterns(GET_A, "def entities(self, id: str) -> A | None: ..."))
    [line] = export(table, "electrodb").warnings
    reason = "the exported object already has a member of this name"
    assert line.endswith(f"P.entities is left out: {reason}")
