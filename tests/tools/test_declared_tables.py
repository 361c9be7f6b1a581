"""Tables without code: `hashrange tables create`, `import --create --key`, and `serve --tables`."""

import json
from pathlib import Path
from typing import Any

import pytest
from moving_data import Run, fault, folder, run
from programs import serving
from waiting import wait_until

import hashrange
from hashrange.declared.documents import Unresolved
from hashrange.declared.intrinsics import Intrinsics
from hashrange.declared.reading import read
from hashrange.formats.items import DataError
from hashrange.testing.postgres_server import PostgresServer

__all__ = ["folder", "run"]  # fixtures

TEMPLATE = """\
Parameters:
  Stage: {Type: String, Default: dev}
  Secret: {Type: String}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${Stage}-orders"
      BillingMode: !If [IsProd, PROVISIONED, PAY_PER_REQUEST]
      AttributeDefinitions:
        - {AttributeName: pk, AttributeType: S}
        - {AttributeName: sk, AttributeType: N}
        - {AttributeName: owner, AttributeType: S}
      KeySchema:
        - {AttributeName: pk, KeyType: HASH}
        - {AttributeName: sk, KeyType: RANGE}
      GlobalSecondaryIndexes:
        - IndexName: by-owner
          KeySchema: [{AttributeName: owner, KeyType: HASH}]
          Projection: {ProjectionType: ALL}
          ProvisionedThroughput: !If [IsProd, {ReadCapacityUnits: 9}, !Ref AWS::NoValue]
      TimeToLiveSpecification: {AttributeName: expires, Enabled: "true"}
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      SSESpecification: {SSEEnabled: true, KMSMasterKeyId: !ImportValue shared-key}
      Tags: [{Key: stage, Value: !Ref Stage}, {Key: number, Value: 5}]
  OnlyThere:
    Type: AWS::DynamoDB::Table
    Condition: IsProd
"""
KEYS: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
SAM = {"Resources": {"Users": {"Type": "AWS::Serverless::SimpleTable"}}}
SERVERLESS = """\
service: shop
provider: {name: aws, stage: test}
custom:
  names: {test: "users-${sls:stage}", prod: users}
resources:
  - Resources:
      Users:
        Type: AWS::DynamoDB::GlobalTable
        Properties:
          TableName: ${self:custom.names.${opt:stage, 'prod'}}
          BillingMode: PROVISIONED
          WriteProvisionedThroughputSettings:
            WriteCapacityAutoScalingSettings: {MinCapacity: 3, MaxCapacity: 9}
          Replicas:
            - Region: us-east-1
              DeletionProtectionEnabled: true
              ReadProvisionedThroughputSettings: {ReadCapacityUnits: 7}
          AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
          KeySchema: [{AttributeName: id, KeyType: HASH}]
  - ${file(others.yml)}
"""
PLAN = {
    "planned_values": {
        "root_module": {
            "child_modules": [
                {
                    "resources": [
                        {"mode": "data", "type": "aws_dynamodb_table", "values": {"name": "a"}},
                        {
                            "address": "module.shop.aws_dynamodb_table.users",
                            "type": "aws_dynamodb_table",
                            "name": "users",
                            "values": {
                                "name": "users",
                                "billing_mode": "PROVISIONED",
                                "read_capacity": 4,
                                "write_capacity": 2,
                                "hash_key": "id",
                                "range_key": "at",
                                "attribute": [
                                    {"name": "id", "type": "S"},
                                    {"name": "at", "type": "N"},
                                    {"name": "mail", "type": "S"},
                                ],
                                "global_secondary_index": [
                                    {
                                        "name": "by-mail",
                                        "hash_key": "mail",
                                        "range_key": "",
                                        "projection_type": "INCLUDE",
                                        "non_key_attributes": ["name"],
                                        "read_capacity": 1,
                                        "write_capacity": 1,
                                    }
                                ],
                                "local_secondary_index": [],
                                "stream_enabled": True,
                                "stream_view_type": "KEYS_ONLY",
                                "ttl": [{"enabled": True, "attribute_name": "until"}],
                                "tags_all": {"team": "shop"},
                            },
                        },
                    ]
                }
            ]
        }
    }
}
WORKBENCH = {
    "ModelName": "shop",
    "DataModel": [
        {
            "TableName": "users",
            "KeyAttributes": {"PartitionKey": {"AttributeName": "id", "AttributeType": "S"}},
            "NonKeyAttributes": [
                {"AttributeName": "mail", "AttributeType": "S"},
                {"AttributeName": "age", "AttributeType": "N"},
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-mail",
                    "KeyAttributes": {
                        "PartitionKey": {"AttributeName": "mail", "AttributeType": "S"}
                    },
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        }
    ],
}


def described(path: str, name: str) -> dict[str, Any]:
    with hashrange.connect(path) as db:
        table: dict[str, Any] = db.execute("DescribeTable", {"TableName": name})["Table"]
        expiry = db.execute("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
        tags = db.execute("ListTagsOfResource", {"ResourceArn": table["TableArn"]})["Tags"]
    return table | {"Expiry": expiry.get("AttributeName"), "Tags": tags}


def test_a_template_in_yaml_with_functions(folder: Path, run: Run) -> None:
    Path("template.yaml").write_text(TEMPLATE)
    ended = run("tables", "create", "a.db", "template.yaml")
    assert (ended.status, ended.out) == (0, "created dev-orders\n")
    assert ended.error.splitlines() == [
        "hashrange: dev-orders: SSESpecification is left out, because the file does not have the "
        "value of !ImportValue shared-key",
        "hashrange: OnlyThere is left out, because its condition is false",
    ]
    table = described("a.db", "dev-orders")
    assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["GlobalSecondaryIndexes"][0]["IndexName"] == "by-owner"
    assert table["StreamSpecification"]["StreamViewType"] == "NEW_IMAGE"
    assert table["Expiry"] == "expires"
    assert {tag["Key"]: tag["Value"] for tag in table["Tags"]} == {"stage": "dev", "number": "5"}
    assert run("tables", "create", "a.db", "template.yaml").out == "dev-orders exists already\n"


@pytest.mark.parametrize(
    ("name", "content", "table"),
    [
        ("template.json", json.dumps(SAM), "Users"),
        ("serverless.yml", SERVERLESS, "users-test"),
        ("plan.json", json.dumps(PLAN), "users"),
        ("model.json", json.dumps(WORKBENCH), "users"),
        ("table.json", json.dumps({"Table": KEYS | {"TableName": "users"}}), "users"),
    ],
)
def test_every_kind_of_file_makes_its_table(
    folder: Path, run: Run, name: str, content: str, table: str
) -> None:
    Path(name).write_text(content)
    if name == "table.json":  # CreateTable wants the billing mode
        with hashrange.connect() as db:
            db.execute("CreateTable", KEYS | {"TableName": "users", "BillingMode": ON_DEMAND})
            Path(name).write_text(json.dumps(db.execute("DescribeTable", {"TableName": "users"})))
    assert run("tables", "create", "a.db", name).out == f"created {table}\n"
    assert described("a.db", table)["KeySchema"][0] == KEYS["KeySchema"][0]


ON_DEMAND = "PAY_PER_REQUEST"


def test_what_a_plan_and_a_global_table_declare_beside_keys(folder: Path, run: Run) -> None:
    Path("plan.json").write_text(json.dumps(PLAN))
    Path("serverless.yml").write_text(SERVERLESS)
    run("tables", "create", "a.db", "plan.json")
    planned = described("a.db", "users")
    assert planned["ProvisionedThroughput"]["ReadCapacityUnits"] == 4
    [index] = planned["GlobalSecondaryIndexes"]
    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]}
    assert (planned["Expiry"], planned["Tags"]) == ("until", [{"Key": "team", "Value": "shop"}])
    said = run("tables", "create", "b.db", "serverless.yml")
    assert "${file(others.yml)} is not read" in said.error
    scaled = described("b.db", "users-test")
    assert scaled["DeletionProtectionEnabled"]
    units = scaled["ProvisionedThroughput"]
    assert (units["ReadCapacityUnits"], units["WriteCapacityUnits"]) == (7, 3)


def test_the_folder_that_cdk_writes(folder: Path, run: Run) -> None:
    table = {"Type": "AWS::DynamoDB::Table", "Properties": {**KEYS, "BillingMode": ON_DEMAND}}
    Path("cdk.out").mkdir()
    Path("cdk.out/Shop.template.json").write_text(json.dumps({"Resources": {"T8F7": table}}))
    Path("cdk.out/Site.template.json").write_text(json.dumps({"Resources": {"B": {"Type": "B"}}}))
    ended = run("tables", "create", "a.db", "cdk.out")
    assert ended.out == "created T8F7\n"
    assert ended.error == (
        "hashrange: T8F7: the table gets this name, because the file does not name it\n"
    )


def test_a_table_that_exists_with_another_key_stays(folder: Path, run: Run) -> None:
    Path("a.csv").write_text("id,at\n1,2\n")
    assert run("import", "a.db", "Users", "a.csv", "--create", "--key", "id:N,at").status == 0
    with hashrange.connect("a.db") as db:
        [item] = db.execute("Scan", {"TableName": "Users"})["Items"]
    assert item == {"id": {"N": "1"}, "at": {"S": "2"}}
    for key in ("id", "at", "id:N", "at,id:N", "id:S,at"):
        said = fault(run("import", "a.db", "Users", "a.csv", "--create", "--key", key))
        assert "with the key id:N,at:S: omit --key" in said
    Path("sam.json").write_text(json.dumps(SAM))
    said = run("tables", "create", "a.db", "sam.json").out
    assert said == "Users exists already, with other keys; it was not changed\n"


def test_a_wrong_key_is_one_line(folder: Path, run: Run) -> None:
    Path("a.csv").write_text("id\n1\n")
    arguments = ("import", "a.db", "users", "a.csv")
    assert "NAME:TYPE" in fault(run(*arguments, "--create", "--key", "id:X"))
    assert "NAME,NAME" in fault(run(*arguments, "--create", "--key", "a,b,c"))
    assert "it needs --create" in fault(run(*arguments, "--key", "id"))
    assert "or --key" in fault(run(*arguments, "--create"))
    assert not Path("a.db").exists()


def test_a_model_is_read_from_a_template_in_yaml(folder: Path, run: Run) -> None:
    Path("template.yaml").write_text(TEMPLATE.partition("  OnlyThere")[0])
    source = run("design", "import", "template.yaml", "--from", "cloudformation")
    assert source.status == 0, source.error
    assert "by-owner" in source.out


REFUSED = "ValidationException: x: "
"""Of a table that the database refuses: the line has its name instead of the file's."""


def declaring(member: str, value: object) -> dict[str, Any]:
    resource = {"Type": "AWS::DynamoDB::Table", "Properties": KEYS | {member: value}}
    return {"Resources": {"Orders": resource}}


ENDLESS = (
    "".join(f"x{n}: '${{self:x{n + 1}}} ${{self:x{n + 1}}}'\n" for n in range(30)) + "x30: a\n"
)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[1, 2]", "not a description of a table"),
        ("{", "not a description of a table"),
        ("a: &a [1]\nb: *a\n", "aliases are not supported"),
        ("a: [", "not YAML"),
        ("{}", "no KeySchema"),
        ('{"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}', "no table"),
        ('{"Resources": {"B": 3}}', "no table"),
        (json.dumps(declaring("KeySchema", {"Ref": "Keys"})), "the value of !Ref Keys"),
        (json.dumps(declaring("AttributeDefinitions", [])), "no AttributeDefinitions"),
        (json.dumps({"DataModel": [{}]}), "has the wrong form"),
        (json.dumps({"DataModel": [3]}), "has the wrong form"),
        (json.dumps({"Resources": {"B": {"Type": []}}}), "has the wrong form"),
        (json.dumps(declaring("GlobalSecondaryIndexes", 3)), "has the wrong form"),
        (json.dumps({"values": {"root_module": {"resources": 3}}}), "has the wrong form"),
        (json.dumps(declaring("ResourcePolicy", "x")), "not an object"),
        (
            "service: a\ncustom: {a: '${self:custom.a}'}\nresources: ${self:custom.a}",
            "${self:custom.a} is",
        ),
        ("service: a\nresources: {a: '${self:x1}'}\n" + ENDLESS, "without end"),
        ("service: a\nresources: 3\n", "no resources"),
        (json.dumps(declaring("TableName", "x")), REFUSED),
        ("x: " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_file_that_declares_no_table_is_one_line(
    folder: Path, run: Run, content: str, reason: str
) -> None:
    Path("file").write_text(content)
    said = fault(run("tables", "create", "a.db", "file"))
    assert said.startswith("file") or reason == REFUSED
    assert reason in said
    assert not Path("a.db").exists()


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ({"Fn::Join": ["-", ["a", {"Ref": "P"}]]}, "a-x"),
        ({"Fn::Select": ["1", {"Fn::Split": [",", "a,b"]}]}, "b"),
        ({"Fn::FindInMap": ["M", {"Ref": "P"}, "k"]}, 5),
        ({"Fn::Sub": ["${v}-${!Lit}-${P}", {"v": {"Ref": "AWS::Region"}}]}, "us-east-1-${Lit}-x"),
        ({"Fn::If": ["Both", "yes", "no"]}, "no"),
        ({"Fn::If": ["Either", "yes", "no"]}, "yes"),
        ({"Ref": "L"}, ["a", "b"]),
        ([{"Ref": "AWS::NoValue"}, 1], [1]),
        ({"Fn::If": ["Around", 1, 2]}, None),
        ({"Fn::If": ["Absent", 1, 2]}, None),
        ({"Fn::Select": ["7", ["a"]]}, None),
        ({"Fn::GetAtt": ["Key", "Arn"]}, None),
        ({"Fn::Sub": "${Unknown}"}, None),
    ],
)
def test_functions(function: object, value: object) -> None:
    """None stands for a value that the template does not tell."""
    is_x, is_y = ({"Fn::Equals": [{"Ref": "P"}, letter]} for letter in "xy")
    intrinsics = Intrinsics(
        {
            "Parameters": {"P": {"Default": "x"}, "L": {"Type": "List<String>", "Default": "a,b"}},
            "Mappings": {"M": {"x": {"k": 5}}},
            "Conditions": {
                "Both": {"Fn::And": [is_x, is_y]},
                "Either": {"Fn::Or": [{"Condition": "Missing"}, {"Fn::Not": [is_y]}]},
                "Around": {"Fn::Not": [{"Condition": "Around"}]},
            },
        }
    )
    result = intrinsics.resolved(function)
    assert isinstance(result, Unresolved) if value is None else result == value


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none")
    with pytest.raises(DataError, match="a folder without"):
        read(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_creates_what_is_missing(folder: Path, workers: int) -> None:
    Path("sam.json").write_text(json.dumps(SAM))
    arguments = ("a.db", "--workers", workers, "--tables", "sam.json")
    with serving(*arguments) as server:
        assert server.client().list_tables()["TableNames"] == ["Users"]
        server.process.terminate()
        _, log = server.process.communicate(timeout=30)
    assert log.count("--tables: created Users") == 1


@pytest.mark.slow
def test_servers_over_postgresql_create_tables_and_call_functions(
    folder: Path, durable_postgres_server: PostgresServer
) -> None:
    """Each server has the same template and the same trigger; one of them calls."""
    Path("app.py").write_text(
        "def handler(event, context):\n"
        "    with open('seen', 'a') as file:\n"
        "        for record in event['Records']:\n"
        "            print(record['dynamodb']['Keys']['id']['S'], file=file)\n"
    )
    declared = {
        "TableName": "orders",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    }
    Path("t.json").write_text(json.dumps({"Table": declared}))
    dsn = durable_postgres_server.new_schema()
    arguments = (dsn, "--tables", "t.json", "--trigger", "orders=app:handler")
    with serving(*arguments) as first, serving(*arguments) as second:
        for number, server in enumerate((first, second)):
            item = {"id": {"S": f"item-{number}"}}
            server.client().put_item(TableName="orders", Item=item)
        wait_until(lambda: Path("seen").exists() and len(Path("seen").read_text().split()) == 2)
        assert sorted(Path("seen").read_text().split()) == ["item-0", "item-1"]
