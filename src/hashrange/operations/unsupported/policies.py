"""Resource-based policies: no table and no stream has one."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.log import streams
from hashrange.model.errors import PolicyNotFoundException, ResourceNotFoundException
from hashrange.operations.tables import resource_arns
from hashrange.operations.unsupported.refusals import Request, not_supported


def get(request: Request, moment: Moment) -> Decide:
    arn = request["ResourceArn"]
    yield from _find_resource(arn)
    raise PolicyNotFoundException(
        f"Resource-based policy not found for the provided ResourceArn: {arn}"
    )


def put(request: Request, moment: Moment) -> Decide:
    yield from _find_resource(request["ResourceArn"])
    raise not_supported("PutResourcePolicy")


def delete(request: Request, moment: Moment) -> Decide:
    """Deleting a policy that does not exist succeeds."""
    yield from _find_resource(request["ResourceArn"])
    return answer({})


def _find_resource(arn: str) -> Fetch[None]:
    """Raises ResourceNotFoundException if there is no table or stream with this ARN."""
    name, label = resource_arns.parse(arn)
    table = yield from fetch.described_table(name)
    if label is not None and (yield from streams.find(f"{table.arn}/stream/{label}")) is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: Stream: {label} not found for Table: {name}"
        )
