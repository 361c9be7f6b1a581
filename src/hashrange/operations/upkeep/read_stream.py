"""Readers of a stream: where they begin, and their checkpoints, which the server stores."""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine.decision import Decide, Decision, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.log import checkpoints, streams
from hashrange.engine.log.shards import shards


class Request(msgspec.Struct, rename="pascal"):
    """A request about a reader. The reader begins with the oldest record or, with `latest`, after
    the existing records.

    `handled` maps shard ids to the sequence numbers of the last handled records. The checkpoints of
    the shards in `gone` are deleted.
    """

    stream_arn: str
    reader: str
    latest: bool = False
    handled: dict[str, str] = {}
    gone: list[str] = []


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    """The checkpoints of a reader, and whether it has begun."""
    stream = yield from streams.find(request.stream_arn)
    handled = {} if stream is None else (yield from checkpoints.of_reader(stream, request.reader))
    begun = handled.pop(checkpoints.BEGUN, None) is not None
    return answer({"Begun": begun, "Handled": handled})


def decide_begin(request: Request, moment: Moment) -> Decide:
    """Lets a reader begin with the oldest record or, with `latest`, after the existing records."""
    stream = yield from streams.find(request.stream_arn)
    if stream is None or (yield from checkpoints.of_reader(stream, request.reader)):
        return answer({})
    handled: dict[str, str | None] = {checkpoints.BEGUN: ""}
    if request.latest:
        latest = yield from streams.latest_commit()
        handled |= yield from checkpoints.ends(
            stream, shards(stream, latest, int(moment.now * 1000))
        )
    return Decision([checkpoints.kept(stream, request.reader, handled)], {})


def decide_handled(request: Request, moment: Moment) -> Decide:
    """Stores the checkpoint of a reader. It never moves backwards, even if a slow process sends an
    older position."""
    stream = yield from streams.find(request.stream_arn)
    if stream is None:
        return answer({})
    before = yield from checkpoints.of_reader(stream, request.reader)
    handled: dict[str, str | None] = {
        shard: number
        for shard, number in request.handled.items()
        if int(number) > int(before.get(shard, "0"))
    }
    handled |= {shard: None for shard in request.gone if shard in before}
    return Decision([checkpoints.kept(stream, request.reader, handled)] if handled else [], {})
