"""`hashrange tables create` with serverless.yml and the files that it names."""

import json
from pathlib import Path
from typing import Any

from moving_data import Run, folder, run

__all__ = ["folder", "run"]  # fixtures


def table(name: object) -> dict[str, Any]:
    """A resource."""
    properties = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }
    return {"Type": "AWS::DynamoDB::Table", "Properties": properties}


def test_a_serverless_service_in_several_files(folder: Path, run: Run) -> None:
    """A stage that is an option with a default, as most templates have it, and files of tables."""
    Path("serverless.yml").write_text(
        "service: shop\n"
        "provider: {name: aws, stage: \"${opt:stage, 'dev'}\"}\n"
        "custom: {table: '${self:service}-${self:provider.stage}-users'}\n"
        "resources:\n"
        "  - ${file(tables/users.yml)}\n"
        "  - Resources: {Orders: '${file(tables/more.json):orders}'}\n"
        "  - ${file(../secret.yml)}\n"
    )
    Path("tables").mkdir()
    Path("../secret.yml").write_text("Resources: {}")
    users = {"Resources": {"Users": table("${self:custom.table}")}}
    Path("tables/users.yml").write_text(json.dumps(users))
    named = {"orders": table({"Fn::Sub": "${AWS::StackName}-orders"})}
    Path("tables/more.json").write_text(json.dumps(named))
    ended = run("tables", "create", "a.db", "serverless.yml")
    assert ended.out == "created shop-dev-users\ncreated shop-dev-orders\n", ended.error
    assert ended.error.startswith("hashrange: resources: ${file(../secret.yml)} is not read")
