"""ListStreams: the streams of one table or of all tables, at most 100 per page."""

from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.log import streams
from hashrange.model import requests
from hashrange.model.limits import LIST_STREAMS_MAX
from hashrange.operations.common.parse import decode
from hashrange.operations.streams import lookup


def parse(body: bytes) -> requests.ListStreams:
    request = decode(body, requests.ListStreams)
    lookup.check_limit(request.limit, LIST_STREAMS_MAX)
    if request.exclusive_start_stream_arn is not None:
        lookup.check_arn(request.exclusive_start_stream_arn)
    return request


def decide(request: requests.ListStreams, moment: Moment) -> Decide:
    limit = request.limit or LIST_STREAMS_MAX
    listed = yield from streams.listed(
        request.table_name, request.exclusive_start_stream_arn, limit + 1
    )
    response: Response = {
        "Streams": [
            {
                "StreamArn": stream.arn,
                "TableName": stream.table_name,
                "StreamLabel": stream.label,
            }
            for stream in listed[:limit]
        ]
    }
    if len(listed) > limit:
        response["LastEvaluatedStreamArn"] = listed[limit - 1].arn
    return answer(response)
