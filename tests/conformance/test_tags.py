"""Tags of a table, and what a ResourceArn may name."""

from typing import Any

import pytest

from .support import Client, NewTable, Response, Table, call, cases, gsi, refused

INVALID = "ValidationException: One or more parameter values were invalid: "
NO_RESOURCE = INVALID + "Provided Arn is not a DynamoDB resource arn: {}"
NOT_FOUND = "ResourceNotFoundException: Requested resource not found: "
ONLY_TABLES = (
    INVALID
    + "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {}"
)
TAG = {"Key": "a", "Value": "1"}
STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
TAGGING: dict[str, dict[str, Any]] = {
    "TagResource": {"Tags": [TAG]},
    "UntagResource": {"TagKeys": ["a"]},
    "ListTagsOfResource": {},
}
POLICY = ("GetResourcePolicy", "DeleteResourcePolicy")


@pytest.fixture(scope="module")
def tagged(new_shared_table: NewTable) -> Table:
    """A table with an index and a stream."""
    return new_shared_table("pk", gsi("byOwner", "owner"), StreamSpecification=STREAM)


def tags(table: Table) -> dict[str, str]:
    arn = table.wait()["TableArn"]
    found = call(table.client, "ListTagsOfResource", ResourceArn=arn)
    assert found.keys() == {"Tags"}
    return {tag["Key"]: tag["Value"] for tag in found["Tags"]}


def on(table: Table, operation: str, **parameters: Any) -> Response:
    return call(table.client, operation, ResourceArn=table.wait()["TableArn"], **parameters)


# ---- which resource ----

# What is given in place of the table's ARN, made of the ARN of a table and of its stream; and the
# refusal, which may name it.
NO_ARNS: list[tuple[str, str, str]] = [
    ("a name", "table", INVALID + "ARNs must start with 'arn:': {}"),
    ("no ARN at all", ":/:/:/", INVALID + "ARNs must start with 'arn:': {}"),
    ("an ill-made ARN", "arn:not/a/good/format", NO_RESOURCE),
    ("an index", "{table}/index/byOwner", ONLY_TABLES),
    ("an index that is not there", "{table}/index/absent", ONLY_TABLES),
    ("a backup", "{table}/backup/01791525400213-63b4d36a", NO_RESOURCE),
]


@pytest.mark.parametrize("operation", [*TAGGING, *POLICY])
@cases("name, given, refusal", NO_ARNS)
def test_arns_that_are_not_resources(
    tagged: Table, operation: str, name: str, given: str, refusal: str
) -> None:
    arn = given.format(table=tagged.wait()["TableArn"])
    more = TAGGING.get(operation, {})
    refused(refusal.format(arn), call, tagged.client, operation, ResourceArn=arn, **more)


@pytest.mark.parametrize("operation", TAGGING)
def test_streams_have_no_tags(tagged: Table, operation: str) -> None:
    description = tagged.wait()
    for arn in (description["TableArn"] + "x", description["LatestStreamArn"]):
        refusal = f"{NOT_FOUND}ResourceArn: {arn} not found"
        refused(refusal, call, tagged.client, operation, ResourceArn=arn, **TAGGING[operation])


@pytest.mark.parametrize("operation", TAGGING)
def test_texts_that_are_not_arns(client: Client, operation: str) -> None:
    refused("ValidationException: Invalid TableArn", call, client, operation)


def test_tables_and_streams_may_have_policies(tagged: Table) -> None:
    description = tagged.wait()
    table, stream = description["TableArn"], description["LatestStreamArn"]
    for arn in (table, stream):
        refusal = (
            "PolicyNotFoundException: Resource-based policy not found for the provided "
            f"ResourceArn: {arn}"
        )
        refused(refusal, call, tagged.client, "GetResourcePolicy", ResourceArn=arn)
        assert call(tagged.client, "DeleteResourcePolicy", ResourceArn=arn) == {}
    absent = {
        f"{table}x": f"{NOT_FOUND}Table: {tagged.name}x not found",
        f"{table}/stream/2000-01-01T00:00:00.000": f"{NOT_FOUND}Stream: 2000-01-01T00:00:00.000 "
        f"not found for Table: {tagged.name}",
    }
    for arn, refusal in absent.items():
        for operation in POLICY:
            refused(refusal, call, tagged.client, operation, ResourceArn=arn)


# ---- which tags ----

# (operation, parameters, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("TagResource", {}, "Atleast one Tag needs to be provided as Input."),
    ("TagResource", {"Tags": []}, "Atleast one Tag needs to be provided as Input."),
    ("TagResource", {"Tags": [{}]}, "The Tag Key provided is invalid, Key: null"),
    ("TagResource", {"Tags": [{"Value": "x"}]}, "The Tag Key provided is invalid, Key: null"),
    ("TagResource", {"Tags": [{"Key": "x"}]}, "The Tag Value provided is invalid, Value: null"),
    (
        "TagResource",
        {"Tags": [TAG, {"Key": "100%", "Value": ""}]},
        "The Tag Key provided is invalid, Key: 100%",
    ),
    (
        "TagResource",
        {"Tags": [TAG, {"Key": "AWS:x", "Value": ""}]},
        "Tag Key cannot be prefixed with aws:, Key: AWS:x",
    ),
    ("UntagResource", {}, "Atleast one Tag Key needs to be provided as Input."),
    ("UntagResource", {"TagKeys": []}, "Atleast one Tag Key needs to be provided as Input."),
    ("UntagResource", {"TagKeys": [""]}, "The Tag Key provided is invalid, Key: "),
    (
        "UntagResource",
        {"TagKeys": ["x" * 129]},
        "The Tag Key provided is invalid, Key: " + "x" * 129,
    ),
    (
        "UntagResource",
        {"TagKeys": ["aws:foo"]},
        "Tag Key cannot be prefixed with aws:, Key: aws:foo",
    ),
    (
        "UntagResource",
        {"TagKeys": [str(number) for number in range(51)]},
        "Number of Tags exceed the current limit for the provided ResourceArn",
    ),
]


@cases("operation, parameters, message", REFUSED)
def test_tags_are_refused(
    tagged: Table, operation: str, parameters: dict[str, Any], message: str
) -> None:
    before = tags(tagged)
    refused(f"ValidationException: {message}", on, tagged, operation, **parameters)
    assert tags(tagged) == before


def numbered(*numbers: int, value: str = "") -> dict[str, Any]:
    return {"Tags": [{"Key": f"k{number}", "Value": value} for number in numbers]}


def test_fifty_tags_are_listed_at_once(new_table: NewTable) -> None:
    """No more can be added, but each can be given another value."""
    table = new_table("pk", **numbered(*range(49)))
    assert on(table, "TagResource", **numbered(49)) == {}
    full = "ValidationException: Number of Tags exceed the current limit for the provided …"
    refused(full, on, table, "TagResource", **numbered(50))
    refused(full, on, table, "TagResource", **numbered(0, 50, value="new"))
    on(table, "TagResource", **numbered(*range(50), value="new"))
    assert tags(table) == {f"k{number}": "new" for number in range(50)}
    assert len(on(table, "ListTagsOfResource", NextToken="of no page")["Tags"]) == 50


def test_tags_of_any_script(new_table: NewTable) -> None:
    given = {"Env": "", "env": "x", " k ": "a+b-c=d.e_f:g/h@i", "ключ": "表\u00a0é", "א" * 128: "v"}
    table = new_table("pk")
    on(table, "TagResource", Tags=[{"Key": key, "Value": given[key]} for key in given])
    assert tags(table) == given
    assert on(table, "UntagResource", TagKeys=["Env", "absent"]) == {}
    assert "Env" not in tags(table)
