"""DescribeLimits: the default quotas of an account and of a table."""

from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import limits, requests
from hashrange.operations.common.parse import decode


def parse(body: bytes) -> requests.DescribeLimits:
    return decode(body, requests.DescribeLimits)


def decide(request: requests.DescribeLimits, moment: Moment) -> Decide:
    yield from ()
    return answer(
        {
            "AccountMaxReadCapacityUnits": limits.ACCOUNT_READ_UNITS_MAX,
            "AccountMaxWriteCapacityUnits": limits.ACCOUNT_WRITE_UNITS_MAX,
            "TableMaxReadCapacityUnits": limits.TABLE_READ_UNITS_MAX,
            "TableMaxWriteCapacityUnits": limits.TABLE_WRITE_UNITS_MAX,
        }
    )
