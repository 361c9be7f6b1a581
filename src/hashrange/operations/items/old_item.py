"""The response of PutItem and DeleteItem, with the old item if the request asks for it."""

from msgspec import Raw

from hashrange.engine.decision import Respond, Response
from hashrange.engine.writes import Old
from hashrange.model.requests import DeleteItem, PutItem
from hashrange.model.tables import Table
from hashrange.operations.common import outputs

RETURN_VALUES = ("NONE", "ALL_OLD")


def response(
    request: PutItem | DeleteItem, returned: str, table: Table, old: Old
) -> Response | Respond:
    answer: Response = {}
    if returned == "ALL_OLD" and old.row:
        answer["Attributes"] = Raw(old.row.json)
    return outputs.of_write(answer, table, request)
