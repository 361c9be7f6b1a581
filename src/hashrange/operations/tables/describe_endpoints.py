"""DescribeEndpoints: the address of the service, for clients that use endpoint discovery."""

from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.operations.common.parse import decode

CACHE_MINUTES = 1440


def parse(body: bytes) -> requests.DescribeEndpoints:
    return decode(body, requests.DescribeEndpoints)


def decide(request: requests.DescribeEndpoints, moment: Moment) -> Decide:
    yield from ()
    address = f"dynamodb.{moment.caller.region}.amazonaws.com"
    return answer({"Endpoints": [{"Address": address, "CachePeriodInMinutes": CACHE_MINUTES}]})
