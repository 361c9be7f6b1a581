"""ListContributorInsights: the tables and global indexes whose insights are not disabled.

A table comes before its indexes. NextToken is base64 of JSON: the names of the last table and index
of the page. On the service, any empty page may have a NextToken. Here, an empty page has none.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from operator import attrgetter

import msgspec

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import LIST_INSIGHTS_MAX
from hashrange.model.tables import Index, Table
from hashrange.operations.common.parse import decode
from hashrange.operations.contributor_insights import subject

Names = tuple[str, str]
"""The name of a table and the name of its index. The latter is empty for the table itself."""

_INVALID_TOKEN = "Invalid NextToken"  # assumed: not seen on the service


def parse(body: bytes) -> requests.ListContributorInsights:
    return decode(body, requests.ListContributorInsights)


def decide(request: requests.ListContributorInsights, moment: Moment) -> Decide:
    if request.table_name is None:
        tables: Sequence[Table] = yield from fetch.all_tables()
    else:
        table = yield from fetch.described_table(request.table_name)
        tables = [table]
    after = _names_in(request.next_token)
    insights = {
        names: subject.shown(table, owner, status)
        for table in sorted(tables, key=attrgetter("name"))
        for owner in table.with_global_indexes()
        for names in [_names_of(table, owner)]
        if (after is None or names > after)
        and (status := subject.status(owner, moment.now)) != "DISABLED"
    }
    limit = max(request.max_results or 0, 0) or LIST_INSIGHTS_MAX
    listed = list(insights)[:limit]
    summaries = [insights[names] for names in listed]
    if len(insights) > limit:
        return answer({"ContributorInsightsSummaries": summaries, "NextToken": _token(listed[-1])})
    return answer({"ContributorInsightsSummaries": summaries})


def _names_of(table: Table, owner: Table | Index) -> Names:
    return (table.name, owner.name if isinstance(owner, Index) else "")


def _token(names: Names) -> str:
    return urlsafe_b64encode(msgspec.json.encode(names)).decode()


def _names_in(token: str | None) -> Names | None:
    if token is None:
        return None
    try:
        names: Names = msgspec.json.decode(urlsafe_b64decode(token), type=Names)
    except (ValueError, msgspec.MsgspecError):
        raise ValidationException(_INVALID_TOKEN) from None
    return names
