"""Delete some records that are past their day; forget a closed stream when it is."""

import msgspec

from hashrange.engine.decision import Decide, Decision, StreamChange, Trim, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.log import streams
from hashrange.model.streams import RETENTION_SECONDS


class Request(msgspec.Struct, rename="pascal"):
    stream_arn: str


def parse(body: bytes) -> Request:
    return msgspec.json.decode(body, type=Request)


def decide(request: Request, moment: Moment) -> Decide:
    now = int(moment.now * 1000)
    stream = yield from streams.find(request.stream_arn)
    if stream is None:
        return answer({"Done": True})
    if stream.disabled_at is not None and now - stream.disabled_at > RETENTION_SECONDS * 1000:
        return Decision([StreamChange(stream, None)], {"Done": True})
    for slot in range(stream.slots):
        keys = yield from streams.trimmable(stream, slot, now)
        if keys:
            return Decision([Trim(stream, keys)], {"Done": False})
    return answer({"Done": True})
