"""CloudFormation templates are valid, come back as they were, and change one index at a time."""

import json
from pathlib import Path
from typing import Any

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.exchange import cloudformation
from hashrange.design.exchange.cloudformation import next_update
from hashrange.design.exchange.read import read
from hashrange.design.source.exported import ExchangeError

from ..models import A, model, patterns
from .models import EXAMPLES, imported, rich, tables, with_indexes

Json = dict[str, Any]


def template(*declared: st.Table) -> str:
    return cloudformation.export(declared).text


def indexes(document: str) -> set[str]:
    [resource] = json.loads(document)["Resources"].values()
    return {i["IndexName"] for i in resource["Properties"].get("GlobalSecondaryIndexes", [])}


def problems(document: str) -> list[str]:
    """The errors and warnings of cfn-lint."""
    from cfnlint import lint_all

    return [str(found) for found in lint_all(document) if found.rule.id[0] in "EW"]


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("name", [*EXAMPLES, "rich"])
def test_cfn_lint_accepts_the_templates(name: str) -> None:
    declared = [rich()] if name == "rich" else tables(name)
    assert problems(template(*declared)) == []


@pytest.mark.parametrize("name", [*EXAMPLES, "rich"])
def test_the_round_trip_keeps_every_key_and_index(name: str) -> None:
    document = template(*([rich()] if name == "rich" else tables(name)))
    back = imported(read(document, "cloudformation").text)
    assert template(*back) == document
    assert [table.unserved for table in back] == [[]] * len(back)


def test_the_template_creates_the_table_that_the_model_needs(
    database: hashrange.Database,
) -> None:
    """A table that is created from the template's properties fits the model."""
    table = rich()
    [resource] = json.loads(template(table))["Resources"].values()
    properties = resource["Properties"]
    assert properties.pop("TimeToLiveSpecification") == {"AttributeName": "ends", "Enabled": True}
    recovery = properties.pop("PointInTimeRecoverySpecification")
    assert recovery == {"PointInTimeRecoveryEnabled": True}
    properties["StreamSpecification"]["StreamEnabled"] = True  # a template has no such member
    database.execute("CreateTable", properties)
    assert table.create(database) is False


# ---- one index for each update ----


def steps(wanted: st.Table, deployed: str) -> list[set[str]]:
    """The indexes after each update, until nothing is left."""
    found: list[set[str]] = []
    while True:
        done = next_update([wanted], deployed)
        if done.warnings == ("every index is deployed",):
            assert json.loads(done.text) == json.loads(deployed)
            return found
        deployed = done.text
        found.append(indexes(deployed))
        assert len(found) < 20


def test_indexes_are_added_one_by_one() -> None:
    assert steps(with_indexes("one", "two", "three"), template(with_indexes())) == [
        {"one"},
        {"one", "two"},
        {"one", "two", "three"},
    ]


def test_indexes_are_added_before_others_are_dropped() -> None:
    assert steps(with_indexes("two", "new"), template(with_indexes("one", "two"))) == [
        {"one", "two", "new"},
        {"two", "new"},
    ]


def test_an_index_whose_key_changes_is_dropped_and_added_again() -> None:
    changed = with_indexes("one", "two", one="y")
    assert steps(changed, template(with_indexes("one", "two"))) == [{"two"}, {"one", "two"}]


def test_an_update_says_what_it_does_and_what_is_left() -> None:
    done = next_update([with_indexes("one", "two")], template(with_indexes()))
    assert done.warnings == (
        "this update adds one; 1 more update must follow: deploy this one, then export again",
    )


@pytest.mark.slow
def test_cfn_lint_accepts_every_update() -> None:
    wanted, deployed = with_indexes("two", "new", two="y"), template(with_indexes("two"))
    for _ in range(3):
        deployed = next_update([wanted], deployed).text
        assert problems(deployed) == []


def test_other_parts_of_a_template_are_kept() -> None:
    deployed = json.loads(template(with_indexes()))
    [resource] = deployed["Resources"].values()
    resource["Properties"]["StreamSpecification"] = {"StreamViewType": "NEW_IMAGE"}
    deployed["Resources"]["Queue"] = {"Type": "AWS::SQS::Queue"}
    deployed["Outputs"] = {"X": {"Value": "y"}}
    after = json.loads(next_update([with_indexes("one")], json.dumps(deployed)).text)
    assert after["Outputs"] == deployed["Outputs"]
    assert after["Resources"]["Queue"] == deployed["Resources"]["Queue"]
    [changed] = [r for r in after["Resources"].values() if r["Type"].endswith("Table")]
    assert changed["Properties"]["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}


def test_a_table_beside_a_deployed_one_is_created_with_all_of_its_indexes() -> None:
    [organisations, projects] = tables("organisations")
    done = next_update([organisations, projects], template(organisations))
    assert (
        json.loads(done.text)["Resources"]
        == json.loads(template(organisations, projects))["Resources"]
    )
    assert done.warnings == ("this update creates the table projects",)


def test_the_template_of_another_table_is_refused() -> None:
    for document in (template(*tables("sensors")), '{"Resources": {}}'):
        with pytest.raises(ExchangeError, match="it has none of app"):
            next_update([with_indexes("one")], document)


def test_updates_that_would_replace_the_table_are_refused() -> None:
    other = model(A + patterns(table=", keys=('hash', 'range')"))
    with pytest.raises(ExchangeError, match="would replace the table"):
        next_update([other], template(model(A + patterns())))
    deployed = json.loads(template(rich()))
    [resource] = deployed["Resources"].values()
    del resource["Properties"]["LocalSecondaryIndexes"]
    with pytest.raises(ExchangeError, match="local indexes"):
        next_update([rich()], json.dumps(deployed))


# ---- templates of others ----


def test_names_of_parameters_and_properties_that_a_model_does_not_have() -> None:
    document = {
        "Parameters": {"Name": {"Type": "String", "Default": "app-live"}},
        "Resources": {
            "T": {
                "Type": "AWS::DynamoDB::Table",
                "Properties": {
                    "TableName": {"Ref": "Name"},
                    "KeySchema": [{"AttributeName": "class", "KeyType": "HASH"}],
                    "AttributeDefinitions": [{"AttributeName": "class", "AttributeType": "N"}],
                    "Tags": [],
                },
            }
        },
    }
    done = read(json.dumps(document), "cloudformation")
    [table] = imported(done.text)
    assert table.name == "app-live"
    assert table.model.table.hash == (("class", "N"),)
    assert done.warnings == ("app-live: Tags is left out, because a model cannot express it",)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("AWSTemplateFormatVersion: x", "is not JSON"),
        ("[]", "not a CloudFormation template"),
        ('{"DataModel": []}', "not a CloudFormation template"),
        ('{"Resources": {}}', "no table"),
        ('{"Resources": {"T": {"Type": "AWS::DynamoDB::Table"}}}', "no list of KeySchema"),
        (
            '{"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {'
            '"KeySchema": [{"AttributeName": "x"}], "AttributeDefinitions": []}}}}',
            "its keys cannot be read",
        ),
    ],
)
def test_other_documents_are_refused(document: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match=said) as refused:
        read(document, "cloudformation")
    assert "\n" not in str(refused.value)
