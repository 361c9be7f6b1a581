"""A small database for the shell's tests, and the commands on it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from waiting import SECONDS_MAX

import hashrange

HOSTILE = "\x1b[31m[bold]\x07\u0000\u202e\u009b5m"
ORDERS = 30


def create(path: Path) -> None:
    with hashrange.connect(path, durability="memory") as database:
        client = database.boto3_session().client("dynamodb")
        fill(client)


def fill(client: Any) -> None:
    """A table of orders: 30 of ann, one of bob, and a hostile item of eve."""
    client.create_table(
        TableName="orders",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("customer", "sk", "status")
        ],
        KeySchema=[
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-status",
                "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    for number in range(ORDERS):
        put(client, customer={"S": "ann"}, sk={"S": f"order#{number:02}"}, total={"N": str(number)})
    put(
        client, customer={"S": "bob"}, sk={"S": "order#1"}, status={"S": "open"}, zip={"S": "02134"}
    )
    deep: dict[str, Any] = {"S": HOSTILE}
    for _ in range(30):
        deep = {"L": [deep]}
    put(
        client,
        customer={"S": "eve"},
        sk={"S": HOSTILE},
        big={"S": "x" * 390_000},
        deep=deep,
        image={"B": b"\x89PNG\x1b"},
    )


def put(client: Any, **item: Any) -> None:
    client.put_item(TableName="orders", Item=item)


def run_apart(
    *arguments: object, given: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """`run` in a process of its own."""
    program = "from hashrange.tools.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS_MAX,
        check=False,
        env=os.environ | variables,
    )
