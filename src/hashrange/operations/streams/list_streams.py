"""ListStreams: the streams of all tables or of one, at most 100 a page."""

from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.log import streams
from hashrange.model import requests
from hashrange.model.limits import LIST_STREAMS_MAX
from hashrange.operations.common.parse import decode
from hashrange.operations.streams import lookup


def parse(body: bytes) -> requests.ListStreams:
    given = decode(body, requests.ListStreams)
    lookup.check_limit(given.limit, LIST_STREAMS_MAX)
    if given.exclusive_start_stream_arn is not None:
        lookup.check_arn(given.exclusive_start_stream_arn)
    return given


def decide(given: requests.ListStreams, moment: Moment) -> Decide:
    limit = given.limit or LIST_STREAMS_MAX
    found = yield from streams.listed(given.table_name, given.exclusive_start_stream_arn, limit + 1)
    response: Response = {
        "Streams": [
            {
                "StreamArn": stream.arn,
                "TableName": stream.table_name,
                "StreamLabel": stream.label,
            }
            for stream in found[:limit]
        ]
    }
    if len(found) > limit:
        response["LastEvaluatedStreamArn"] = found[limit - 1].arn
    return answer(response)
