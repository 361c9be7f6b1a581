"""Access files and databases that have them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

import hashrange

ACCOUNT = "123456789012"
REGION = "us-east-1"
USER = f"arn:aws:iam::{ACCOUNT}:user/"
TABLES = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/"
THINGS = f"{TABLES}things"


def statement(effect: str, action: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


def document(*statements: dict[str, Any], version: str = "2012-10-17") -> str:
    return json.dumps({"Version": version, "Statement": list(statements)})


def access_file(folder: Path, users: Mapping[str, Any], more: str = "") -> Path:
    """A file with these users and `root`. A user has a policy, or lines of TOML; the access key
    has the user's name in capitals."""
    lines = [f'account = "{ACCOUNT}"', more]
    for name, given in {"root": 'access = "full"', **users}.items():
        lines += ["[[principals]]", f'arn = "{USER}{name}"', f'keys = ["{name.upper()}"]']
        if isinstance(given, str) and not given.startswith("{"):
            lines.append(given)
        else:
            (folder / f"{name}.json").write_text(given)
            lines.append(f'policies = ["{name}.json"]')
    path = folder / "access.toml"
    path.write_text("\n".join(lines))
    return path


def keys_file(folder: Path, *names: str) -> Path:
    path = folder / "keys"
    path.write_text("".join(f"{name.upper()} secret-of-{name}\n" for name in ("root", *names)))
    path.chmod(0o600)
    return path


def create_things(database: hashrange.Database, name: str = "things") -> None:
    """A table with a global index `by_owner` on `owner`, and a stream."""
    database.boto3_session().client("dynamodb").create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "owner", "AttributeType": "S"},
        ],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_owner",
                "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )


def allowed(call: Any, /, **request: Any) -> bool:
    """Whether the request is allowed; it may be refused for another reason."""
    try:
        call(**request)
    except ClientError as error:
        return bool(error.response["Error"]["Code"] != "AccessDeniedException")
    return True


def client_of(database: hashrange.Database, user: str, service: str = "dynamodb") -> Any:
    return database.boto3_session(principal=USER + user).client(service)
