"""ListTables: the names of tables in order, at most 100 per page."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.limits import LIST_TABLES_MAX
from hashrange.operations.common.parse import decode


def parse(body: bytes) -> requests.ListTables:
    return decode(body, requests.ListTables)


def decide(request: requests.ListTables, moment: Moment) -> Decide:
    limit = request.limit or LIST_TABLES_MAX
    listed = yield from fetch.table_names(request.exclusive_start_table_name or "", limit + 1)
    names = listed[:limit]
    if len(listed) > limit:
        return answer({"TableNames": names, "LastEvaluatedTableName": names[-1]})
    return answer({"TableNames": names})
