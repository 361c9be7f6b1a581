"""The response of PutItem and DeleteItem: the old item, if the request asks for it."""

from collections.abc import Callable

from msgspec import Raw

from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Response
from hashrange.engine.writes import ItemWrite, Old
from hashrange.model.requests import DeleteItem, PutItem
from hashrange.operations.common import outputs

RETURN_VALUES = ("NONE", "ALL_OLD")


def responder(
    given: PutItem | DeleteItem, returned: str, write: ItemWrite, old: Old
) -> Callable[[Receipt], Response]:
    """Returns a function that makes the response from the receipt of the write."""

    def respond(receipt: Receipt) -> Response:
        response: Response = {}
        if returned == "ALL_OLD" and old.row:
            response["Attributes"] = Raw(old.row.json)
        outputs.add_write(response, receipt, write.table, given)
        return response

    return respond
