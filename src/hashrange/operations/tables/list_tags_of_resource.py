"""ListTagsOfResource: the tags of a table.

All tags fit into one response, so a NextToken is ignored.
"""

from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.operations.common.parse import decode
from hashrange.operations.tables import resource_arns, tags


def parse(body: bytes) -> requests.ListTagsOfResource:
    request = decode(body, requests.ListTagsOfResource)
    resource_arns.parse(request.resource_arn)
    return request


def decide(request: requests.ListTagsOfResource, moment: Moment) -> Decide:
    table = yield from tags.tagged_table(request.resource_arn, moment)
    return answer({"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]})
