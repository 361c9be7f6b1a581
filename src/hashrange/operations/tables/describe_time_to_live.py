"""DescribeTimeToLive: whether items of a table expire, and by which attribute.

A change takes effect at once. For the time of `Settings.table_delay`, the status shows it as in
progress, as on the service.
"""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.operations.common.parse import decode


def parse(body: bytes) -> requests.DescribeTimeToLive:
    return decode(body, requests.DescribeTimeToLive)


def decide(request: requests.DescribeTimeToLive, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request.table_name)
    if moment.now < table.active_at:
        raise ValidationException(
            "Cannot describe time to live while table is in CREATING state: "
            "Current table state is CREATING"
        )
    changed_at, delay = table.ttl_changed_at, moment.settings.table_delay
    is_changing = changed_at is not None and moment.now < changed_at + delay
    if table.ttl is not None:
        status, attribute = "ENABLING" if is_changing else "ENABLED", table.ttl.attribute
    elif is_changing and table.ttl_disabled is not None:
        status, attribute = "DISABLING", table.ttl_disabled
    else:
        return answer({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})
    description = {"TimeToLiveStatus": status, "AttributeName": attribute}
    return answer({"TimeToLiveDescription": description})
