"""DescribeTable: the definition of a table, its status and its size."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.operations.common.parse import decode
from hashrange.operations.tables.table_description import described


def parse(body: bytes) -> requests.DescribeTable:
    return decode(body, requests.DescribeTable)


def decide(request: requests.DescribeTable, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request.table_name)
    return answer({"Table": (yield from described(table, moment))})
