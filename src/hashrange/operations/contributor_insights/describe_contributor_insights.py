"""DescribeContributorInsights: whether a table or global index has reports, and their names."""

from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.tables import Index
from hashrange.operations.common.parse import decode
from hashrange.operations.contributor_insights import subject


def parse(body: bytes) -> requests.DescribeContributorInsights:
    return decode(body, requests.DescribeContributorInsights)


def decide(request: requests.DescribeContributorInsights, moment: Moment) -> Decide:
    table, owner = yield from subject.find(request.table_name, request.index_name)
    status = subject.status(owner, moment.now)
    response = subject.shown(table, owner, status)
    insights = owner.insights
    if insights is not None:
        response["LastUpdateDateTime"] = round(insights.changed_at, 3)
        if status == "ENABLED":
            index_name = owner.name if isinstance(owner, Index) else None
            rules = insights.rules(table.name, index_name, bool(owner.range))
            response["ContributorInsightsRuleList"] = [rule.name for rule in rules]
    return answer(response)
