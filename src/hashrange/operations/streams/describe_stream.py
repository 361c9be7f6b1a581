"""DescribeStream: a stream and its shards with their parents, at most 100 shards per page."""

from itertools import islice
from typing import Any

from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.log import records, streams
from hashrange.engine.log.sequencer import sequence_number
from hashrange.engine.log.shards import Shard, is_closed, shards
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import DESCRIBE_STREAM_SHARDS_MAX
from hashrange.model.streams import Stream
from hashrange.operations.common.parse import decode
from hashrange.operations.streams import lookup


def parse(body: bytes) -> requests.DescribeStream:
    request = decode(body, requests.DescribeStream)
    lookup.check_arn(request.stream_arn)
    lookup.check_limit(request.limit, DESCRIBE_STREAM_SHARDS_MAX)
    if request.shard_filter and request.shard_filter.type and not request.shard_filter.shard_id:
        raise ValidationException("ShardId must be specified when ShardFilter type is CHILD_SHARDS")
    return request


def decide(request: requests.DescribeStream, moment: Moment) -> Decide:
    stream = yield from lookup.find(request.stream_arn)
    latest = yield from streams.latest_commit()
    stream_shards = shards(stream, latest, int(moment.now * 1000))
    if request.shard_filter and request.shard_filter.type:
        parent = request.shard_filter.shard_id
        stream_shards = (shard for shard in stream_shards if shard.parent_id == parent)
    after = request.exclusive_start_shard_id
    if after is not None:
        stream_shards = (shard for shard in stream_shards if shard.id > after)
    limit = request.limit or DESCRIBE_STREAM_SHARDS_MAX
    page = list(islice(stream_shards, limit + 1))
    description = _description(stream)
    settled = streams.settled(latest, moment)
    description["Shards"] = shown = []
    for shard in page[:limit]:
        shown.append((yield from _shard(stream, shard, settled)))
    if len(page) > limit:
        description["LastEvaluatedShardId"] = page[limit - 1].id
    return answer({"StreamDescription": description})


def _description(stream: Stream) -> dict[str, Any]:
    key_schema = [{"AttributeName": stream.hash, "KeyType": "HASH"}]
    if stream.range is not None:
        key_schema.append({"AttributeName": stream.range, "KeyType": "RANGE"})
    return {
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": "ENABLED" if stream.disabled_at is None else "DISABLED",
        "StreamViewType": stream.view,
        "CreationRequestDateTime": stream.enabled_at / 1000,
        "TableName": stream.table_name,
        "KeySchema": key_schema,
    }


def _shard(stream: Stream, shard: Shard, settled: int) -> Fetch[dict[str, Any]]:
    """The description of a shard. All commits before the time `settled`, in epoch milliseconds, are
    complete.

    The ending sequence number of a closed shard is that of its last record or, if it has no
    records, its starting sequence number.
    """
    start = sequence_number(shard.start, 0, shard.slot)
    numbers = {"StartingSequenceNumber": start}
    if is_closed(stream, shard, settled):
        last = yield from records.latest(stream.log, shard.first_key, shard.end_key)
        numbers["EndingSequenceNumber"] = last.sequence_number if last else start
    shown: dict[str, Any] = {"ShardId": shard.id, "SequenceNumberRange": numbers}
    if shard.parent_id:
        shown["ParentShardId"] = shard.parent_id
    return shown
