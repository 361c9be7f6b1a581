"""GetRecords: the records of a shard after the position of an iterator, at most 1,000 records or 1
MB."""

from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.log import streams
from hashrange.engine.log.shards import is_closed
from hashrange.engine.log.streams import RECORDS_MAX
from hashrange.engine.log.views import StreamView
from hashrange.model import requests
from hashrange.operations.common import number_sets
from hashrange.operations.common.parse import decode
from hashrange.operations.streams import lookup, shard_iterator


def parse(body: bytes) -> requests.GetRecords:
    request = decode(body, requests.GetRecords)
    lookup.check_limit(request.limit, RECORDS_MAX)
    return request


def weight(request: requests.GetRecords) -> int:
    return 1  # number sets are put in another order


def decide(request: requests.GetRecords, moment: Moment) -> Decide:
    now = int(moment.now * 1000)
    iterator = shard_iterator.parse(request.shard_iterator, now)
    stream = yield from lookup.find(iterator.stream_arn)
    latest = yield from streams.latest_commit()
    shard = lookup.shard_of(stream, iterator.shard_id, latest)
    limit = request.limit or RECORDS_MAX
    view = StreamView(stream)
    page = yield from streams.read(stream, shard, iterator.position, now, limit, view)
    response: Response = {"Records": page.records}
    if not (page.exhausted and is_closed(stream, shard, streams.settled(latest, moment))):
        following = shard_iterator.ShardIterator(stream.arn, shard.id, page.position, now)
        response["NextShardIterator"] = following.text()
    return answer(number_sets.in_hash_order(response))
