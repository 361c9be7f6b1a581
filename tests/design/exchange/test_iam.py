"""Policies allow every request of a model, and with a tenant no key of another tenant."""

import json
import re
from typing import Any

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.exchange import iam
from hashrange.design.source.exported import ExchangeError
from hashrange.design.tools.proof import questions
from hashrange.design.tools.proof.prove import prove

from ..models import item, model, patterns
from .models import EXAMPLES, tables

TASKS = (
    item(
        "Task",
        "'org#{org}', 'task#{task}'",
        "org: st.Slug; task: st.Slug; owner: st.Slug; title: str = ''",
        "by_owner = st.index('GSI1', 'org#{org}#owner#{owner}', 'task#{task}')\n"
        "    by_title = st.index('GSI2', 'title#{title}', 'task#{task}')\n"
        "    one = st.unique('title#{org}#{title}')",
    )
    + item("Plan", "'plan#{plan}', 'info'", "plan: st.Slug")
    + "class P(st.Store, Protocol):\n"
    "    def task(self, org: str, task: str) -> Task | None: ...\n"
    "    def tasks(self, org: str) -> st.Query[Task]: ...\n"
    "    def owned(self, org: str, owner: str) -> st.Query[Task]: ...\n"
    "    def titled(self, title: str) -> st.Query[Task]: ...\n"
    "    def plan(self, plan: str) -> Plan | None: ...\n"
    "table = st.Table('app', P)\n"
)


def policy(declared: list[st.Table], tenant: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(iam.export(declared, tenant).text)
    return found


def allows(
    policy: dict[str, Any], operation: str, resource: str, keys: set[str], tag: str = ""
) -> bool:
    """Whether a statement allows the request, as IAM reads wildcards and variables."""
    for statement in policy["Statement"]:
        if f"dynamodb:{operation}" not in statement["Action"]:
            continue
        if statement["Resource"] != f"arn:aws:dynamodb:*:*:table/{resource}":
            continue
        leading = statement.get("Condition", {}).get("ForAllValues:StringLike")
        if leading is None:
            return True
        texts = [like(text, tag) for text in leading["dynamodb:LeadingKeys"]]
        if all(any(text.fullmatch(key) for text in texts) for key in keys):
            return True
    return False


def like(text: str, tag: str) -> re.Pattern[str]:
    """A pattern of StringLike with its variables filled in."""
    pieces = re.split(r"(\$\{[^}]*\}|\*|\?)", text)
    special = {"*": ".*", "?": ".", "${*}": r"\*", "${?}": r"\?", "${$}": r"\$"}
    return re.compile(
        "".join(
            special.get(p, re.escape(tag) if p.startswith("${aws:PrincipalTag/") else re.escape(p))
            for p in pieces
        ),
        re.DOTALL,
    )


class Guarded:
    """A database that a policy protects."""

    def __init__(self, policy: dict[str, Any]) -> None:
        self.policy = policy
        self.database = hashrange.connect()
        self.asked: set[str] = set()

    def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        for name, table, index in requests(operation, payload):
            resource = f"{table}/index/{index}" if index else table
            self.asked.add(name)
            assert allows(self.policy, name, resource, set()), (name, resource)
        return self.database.execute(operation, payload)


def requests(operation: str, payload: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(operation, table, index) of the parts of a request; none for those that manage tables."""
    if operation == "TransactWriteItems":
        names = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem",
                 "ConditionCheck": "ConditionCheckItem"}  # fmt: skip
        pairs = [next(iter(one.items())) for one in payload["TransactItems"]]
        return [(names[kind], part["TableName"], "") for kind, part in pairs]
    if operation in ("BatchGetItem", "BatchWriteItem"):
        return [(operation, table, "") for table in payload["RequestItems"]]
    if operation.startswith(("Create", "Describe", "Update")) and operation != "UpdateItem":
        return []
    if operation == "Scan" and payload.get("ConsistentRead"):
        return []  # the proof itself looks at the whole table
    return [(operation, payload["TableName"], payload.get("IndexName", ""))]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_request_of_the_examples_is_allowed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "QUESTIONS", 6)  # each is of the same form
    for table in tables(name):
        guarded = Guarded(policy([table]))
        assert prove(table, guarded).differences == []
        assert guarded.asked


def test_reads_that_no_pattern_makes_are_not_allowed() -> None:
    found = policy(tables("sensors"))
    assert not allows(found, "Scan", "sensor-management", set())
    assert not allows(found, "Query", "sensor-management/index/GSI9", set())
    assert not allows(found, "Query", "another-table", set())


def test_a_tenant_reaches_only_its_own_keys() -> None:
    found = policy([model(TASKS)], "org")
    table, index = "app", "app/index/GSI1"
    assert allows(found, "GetItem", table, {"org#7"}, "7")
    assert allows(found, "Query", table, {"org#7"}, "7")
    assert allows(found, "Query", index, {"org#7#owner#x"}, "7")
    assert allows(found, "PutItem", table, {"org#7"}, "7")
    marker = "unique#title#{org}#{title}#title#7#x"
    assert allows(found, "PutItem", table, {marker}, "7")
    assert not allows(found, "PutItem", table, {marker}, "8")
    for operation in ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"):
        assert not allows(found, operation, table, {"org#7"}, "8")
        assert not allows(found, operation, table, {"org#77"}, "7")
        assert not allows(found, operation, table, {"org#7", "org#8"}, "7")
        assert not allows(found, operation, table, {"plan#1"}, "7")
    assert not allows(found, "Query", index, {"org#77#owner#x"}, "7")


def test_patterns_across_tenants_are_left_out_with_a_warning() -> None:
    done = iam.export([model(TASKS)], "org")
    assert "GSI2" not in done.text
    assert (
        "P.titled: it reads items of several tenants in GSI 2, so it is left out" in done.warnings
    )
    assert any(line.startswith("Plan: org is not in its partition key") for line in done.warnings)


def test_a_wildcard_before_the_tenant_is_warned_of() -> None:
    text = item("A", "'{kind}#{org}', 'x'", "kind: st.Slug; org: st.Slug")
    done = iam.export([model(text + patterns())], "org")
    assert any("a field stands before the tenant" in line for line in done.warnings)


def test_a_tenant_that_no_key_has_is_refused() -> None:
    with pytest.raises(ExchangeError, match="did you mean 'org'"):
        iam.export([model(TASKS)], "orgg")


def test_wildcards_and_variables_in_templates_stand_for_themselves() -> None:
    text = item("A", "'*${{x}}?#{org}', 'x'", "org: st.Slug")
    found = policy([model(text + patterns())], "org")
    assert allows(found, "PutItem", "app", {"*${x}?#7"}, "7")
    assert not allows(found, "PutItem", "app", {"yy${x}z#7"}, "7")
