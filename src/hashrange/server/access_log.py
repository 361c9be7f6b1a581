"""The access log: one line for each answered call. It never contains keys or values of items."""

import logging
from urllib.parse import quote

import msgspec

from hashrange.metering.metered import Metered
from hashrange.model.errors import ApiError
from hashrange.server.clients import Answered
from hashrange.server.logs import Fields

access_log = logging.getLogger("hashrange.access")

_REQUEST_ID = b"x-amzn-RequestId: "
_TABLES_MAX = 10


class _Named(msgspec.Struct):
    table: str | None = msgspec.field(default=None, name="TableName")


class _Tables(msgspec.Struct):
    """The members of a request that name tables, or streams or other resources of a table."""

    table: str | None = msgspec.field(default=None, name="TableName")
    arn: str | None = msgspec.field(default=None, name="ResourceArn")
    stream: str | None = msgspec.field(default=None, name="StreamArn")
    batch: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="RequestItems")
    members: list[dict[str, _Named]] | None = msgspec.field(default=None, name="TransactItems")


_decode = msgspec.json.Decoder(_Tables).decode


def log_access(answered: Answered) -> None:
    """Log an answered request. This function can be an `Observer` of the server."""
    call, outcome = answered.call, answered.outcome
    if call is None:
        line = Fields(
            operation="",
            status=int(answered.response[9:12]),
            client=answered.client,
            request_id=_request_id(answered.response),
            response_bytes=len(answered.response),
        )
        if answered.error:
            line["error"] = answered.error
            line["access_key"] = _safe(answered.access_key)
        access_log.info(line)
        return
    line = Fields(
        operation=call.operation,
        table=_safe(",".join(_tables(call.body))),
        status=int(answered.response[9:12]),
        client=answered.client,
        access_key=_safe(call.caller.access_key),
        request_id=_request_id(answered.response),
        request_bytes=len(call.body),
        response_bytes=len(answered.response),
        ms=round(answered.seconds * 1000, 3),
    )
    if isinstance(outcome, ApiError):
        line["error"] = outcome.code
    if isinstance(outcome, Metered):
        line["read_units"] = outcome.read_units
        line["write_units"] = outcome.write_units
    access_log.info(line)


def _safe(text: str) -> str:
    """A client's text for the log, with blanks and line breaks encoded, because they separate
    fields and lines."""
    return quote(text, safe=":/,")


def _tables(body: bytes) -> list[str]:
    """The names of the tables in a request, at most ten. Empty for PartiQL and for invalid JSON."""
    try:
        request = _decode(body)
    except (msgspec.DecodeError, RecursionError):
        return []
    if request.batch is not None:
        named = list(request.batch)
    elif request.members is not None:
        named = [each.table or "" for member in request.members for each in member.values()]
    else:
        named = [request.table or request.arn or request.stream or ""]
    return [name for name in dict.fromkeys(named) if name][:_TABLES_MAX]


def _request_id(response: bytes) -> str:
    start = response.find(_REQUEST_ID) + len(_REQUEST_ID)
    return response[start : response.find(b"\r", start)].decode("latin-1")
