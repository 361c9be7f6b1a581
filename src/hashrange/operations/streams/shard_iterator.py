"""Shard iterators. They are opaque to clients, and hold the whole state of a reader.

stream ARN | 1 | base64 of JSON: shard id, position, time of issue
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from hashrange.model.errors import ExpiredIteratorException, ValidationException
from hashrange.model.streams import ITERATOR_SECONDS
from hashrange.operations.streams.lookup import EXPIRED

POSITION_BYTES_MAX = 32


class ShardIterator(msgspec.Struct, frozen=True):
    """A position in a shard. `issued_at` is in epoch milliseconds."""

    stream_arn: str
    shard_id: str
    position: bytes
    issued_at: int

    def text(self) -> str:
        content = urlsafe_b64encode(
            msgspec.json.encode((self.shard_id, self.position, self.issued_at))
        )
        return f"{self.stream_arn}|1|{content.decode()}"


def parse(text: str, now: int) -> ShardIterator:
    """Parse the text of a shard iterator. `now` is in epoch milliseconds.

    Raises ValidationException if the text is malformed, ExpiredIteratorException if the iterator is
    too old.
    """
    arn, _, content = text.partition("|1|")
    try:
        shard_id, position, issued_at = msgspec.json.decode(
            urlsafe_b64decode(content), type=tuple[str, bytes, int]
        )
    except (ValueError, msgspec.MsgspecError):
        raise ValidationException("Invalid ShardIterator") from None
    if len(position) > POSITION_BYTES_MAX:
        raise ValidationException("Invalid ShardIterator")
    if now - issued_at > ITERATOR_SECONDS * 1000:
        raise ExpiredIteratorException(EXPIRED)
    return ShardIterator(arn, shard_id, position, issued_at)
