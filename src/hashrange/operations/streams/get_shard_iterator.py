"""GetShardIterator: an iterator for a position in a shard, valid for 15 minutes."""

from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.engine.log import records, streams
from hashrange.engine.log.sequencer import parse_sequence_number
from hashrange.engine.log.shards import Shard
from hashrange.model import requests
from hashrange.model.errors import TrimmedDataAccessException, ValidationException
from hashrange.model.streams import Stream
from hashrange.operations.common.parse import decode
from hashrange.operations.streams import lookup
from hashrange.operations.streams.shard_iterator import ShardIterator

BY_SEQUENCE_NUMBER = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")


def parse(body: bytes) -> requests.GetShardIterator:
    request = decode(body, requests.GetShardIterator)
    lookup.check_arn(request.stream_arn)
    kind = request.shard_iterator_type
    if kind in BY_SEQUENCE_NUMBER and request.sequence_number is None:
        raise ValidationException(
            f"SequenceNumber must be specified when ShardIteratorType is {kind}"
        )
    if kind not in BY_SEQUENCE_NUMBER and request.sequence_number is not None:
        raise invalid_parameter("SequenceNumber should not be passed for this iterator type")
    if kind == "AT_TIMESTAMP" and request.timestamp is None:
        raise ValidationException(
            "Timestamp must be specified when ShardIteratorType is AT_TIMESTAMP"
        )
    return request


def decide(request: requests.GetShardIterator, moment: Moment) -> Decide:
    now = int(moment.now * 1000)
    stream = yield from lookup.find(request.stream_arn)
    latest = yield from streams.latest_commit()
    shard = lookup.shard_of(stream, request.shard_id, latest)
    position = yield from _position(request, stream, shard, now)
    iterator = ShardIterator(stream.arn, shard.id, position, now)
    return answer({"ShardIterator": iterator.text()})


def _position(
    request: requests.GetShardIterator, stream: Stream, shard: Shard, now: int
) -> Fetch[bytes]:
    if request.shard_iterator_type == "LATEST":
        return (yield from streams.latest_position(stream, shard))
    if request.shard_iterator_type == "AT_TIMESTAMP":
        assert request.timestamp is not None
        milliseconds = int(request.timestamp * 1000)
        if milliseconds > now:
            raise ValidationException("Timestamp must not be in the future")
        return shard.key_at(max(milliseconds, 0))
    if request.sequence_number is not None:
        return _at_sequence_number(request, request.sequence_number, shard, now)
    return shard.first_key


def _at_sequence_number(
    request: requests.GetShardIterator, text: str, shard: Shard, now: int
) -> bytes:
    parsed = parse_sequence_number(text)
    if parsed is None or not shard.start <= parsed[0] < shard.end:
        raise ValidationException(
            f"Invalid SequenceNumber: {text} is not in the range of shard {shard.id}"
        )
    milliseconds, number = parsed
    if milliseconds < records.oldest_wanted(now):
        raise TrimmedDataAccessException(lookup.TRIMMED)
    at = shard.key_at(milliseconds, number)
    return at + b"\x00" if request.shard_iterator_type == "AFTER_SEQUENCE_NUMBER" else at
