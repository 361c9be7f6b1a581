"""The common end of PutItem and DeleteItem: one write, and the old item if it was asked for."""

from msgspec import Raw

from hashrange.engine import writes
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Decision, Response
from hashrange.engine.fetch import Moment
from hashrange.engine.writes import ItemWrite
from hashrange.model.requests import DeleteItem, PutItem
from hashrange.operations.common import outputs

RETURN_VALUES = ("NONE", "ALL_OLD")


def decide(given: PutItem | DeleteItem, returned: str, write: ItemWrite, moment: Moment) -> Decide:
    [old] = yield from writes.read([write])
    change = writes.decide(write, old, moment)

    def respond(receipt: Receipt) -> Response:
        response: Response = {}
        if returned == "ALL_OLD" and old.row:
            response["Attributes"] = Raw(old.row.json)
        outputs.add_write(response, receipt, write.table, given)
        return response

    return Decision([change], respond)
