"""DescribeTimeToLive: whether items of a table expire, and by which attribute."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.operations.common.parse import decode


def parse(body: bytes) -> requests.DescribeTimeToLive:
    return decode(body, requests.DescribeTimeToLive)


def decide(given: requests.DescribeTimeToLive, moment: Moment) -> Decide:
    table = yield from fetch.described_table(given.table_name)
    if moment.now < table.active_at:
        raise ValidationException(
            "Cannot describe time to live while table is in CREATING state: "
            "Current table state is CREATING"
        )
    description = {"TimeToLiveStatus": "DISABLED"}
    if table.ttl:
        description = {"TimeToLiveStatus": "ENABLED", "AttributeName": table.ttl.attribute}
    return answer({"TimeToLiveDescription": description})
