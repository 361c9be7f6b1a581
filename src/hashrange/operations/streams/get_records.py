"""GetRecords: the records of a shard after the position of an iterator, at most 1,000 or 1 MB."""

from typing import Any

from msgspec import Raw
from msgspec.json import decode as decode_json

from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.log import streams
from hashrange.engine.log.streams import RECORDS_MAX, Record
from hashrange.model import requests
from hashrange.model.streams import Stream, is_closed, sequence_number
from hashrange.operations.common.parse import decode
from hashrange.operations.streams import lookup, shard_iterator


def parse(body: bytes) -> requests.GetRecords:
    given = decode(body, requests.GetRecords)
    lookup.check_limit(given.limit, RECORDS_MAX)
    return given


def decide(given: requests.GetRecords, moment: Moment) -> Decide:
    now = int(moment.now * 1000)
    iterator = shard_iterator.parse(given.shard_iterator, now)
    stream = yield from lookup.find(iterator.stream_arn)
    latest = yield from streams.latest_commit()
    shard = lookup.shard_of(stream, iterator.shard_id, latest)
    found, position, exhausted = yield from streams.records(
        stream, shard, iterator.position, now, given.limit or RECORDS_MAX
    )
    response: Response = {"Records": [_shown(stream, record) for record in found]}
    if not (exhausted and is_closed(stream, shard, latest)):
        following = shard_iterator.ShardIterator(stream.arn, shard.id, position, now)
        response["NextShardIterator"] = following.text()
    return answer(response)


def _shown(stream: Stream, record: Record) -> dict[str, Any]:
    number = sequence_number(record.milliseconds, record.number)
    content = decode_json(record.members["dynamodb"], type=dict[str, Raw])
    region = stream.table_arn.split(":")[3]
    return {
        "eventID": f"{record.number:032x}",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
        **record.members,
        "dynamodb": {**content, "SequenceNumber": number},
    }
