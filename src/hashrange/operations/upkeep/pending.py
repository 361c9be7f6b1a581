"""The steps of upkeep that are waiting: the name and the body of an operation for each."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.log import streams

STREAMS_MAX = 10_000
"""More than a database has: one for each table, and those disabled within the last day."""


def parse(body: bytes) -> None:
    return None


def decide(request: None, moment: Moment) -> Decide:
    steps = [
        {"Operation": "upkeep.EmptySpace", "Body": {"Space": space}}
        for space in (yield from fetch.dropped_spaces())
    ]
    for table in (yield from fetch.all_tables()):
        for index in table.indexes:
            if index.building:
                body = {"TableName": table.name, "IndexName": index.name}
                steps.append({"Operation": "upkeep.BuildIndex", "Body": body})
        if table.ttl:
            steps.append({"Operation": "upkeep.ExpireItems", "Body": {"TableName": table.name}})
    for stream in (yield from streams.listed(None, None, STREAMS_MAX)):
        steps.append({"Operation": "upkeep.TrimStream", "Body": {"StreamArn": stream.arn}})
    return answer({"Steps": steps})
