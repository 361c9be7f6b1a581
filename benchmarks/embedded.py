"""`Database.execute` in the process, in memory, with items of 100 bytes: no HTTP, no socket."""

import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import hashrange
from benchmarks import workloads
from benchmarks.workloads import Table

CALLS = 3_000
ROUNDS = 5


def microseconds(call: Callable[[int], object]) -> float:
    """The median over rounds of the mean time of one call."""
    rounds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for number in range(CALLS):
            call(number)
        rounds.append((time.perf_counter() - started) / CALLS * 1e6)
    return median(rounds)


def measure() -> dict[str, float]:
    """Microseconds per call, by operation."""
    table = Table("bench", 100, 1_000)
    partition = {"S": "fifty"}
    with hashrange.connect() as database:
        database.execute("CreateTable", json.loads(table.definition()))
        for body in table.load_bodies():
            database.execute("BatchWriteItem", json.loads(body))
        for number in range(50):
            item = table.item(number) | {"pk": partition, "sk": {"S": f"s{number:02}"}}
            database.execute("PutItem", {"TableName": table.name, "Item": item})

        gets = [json.loads(body) for body in workloads.get_item(table).bodies]
        puts = [json.loads(body) for body in workloads.put_item(table).bodies]
        query: dict[str, Any] = {
            "TableName": table.name,
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": partition},
        }
        assert database.execute("Query", query)["Count"] == 50
        return {
            "GetItem": microseconds(
                lambda number: database.execute("GetItem", gets[number % len(gets)])
            ),
            "PutItem": microseconds(
                lambda number: database.execute("PutItem", puts[number % len(puts)])
            ),
            "Query of 50": microseconds(lambda _: database.execute("Query", query)),
        }
