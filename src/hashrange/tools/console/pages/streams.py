"""The stream of a table: its newest records, shown as they arrive."""

from typing import Any

from starlette.responses import Response

from hashrange.tools.console.visits import Page, Route, Visit

STARTS = {"": "LATEST", "oldest": "TRIM_HORIZON"}


def show(visit: Visit) -> Response:
    shape = visit.console.table(visit.path["table"])
    return visit.page("streams.html", shape=shape, **_tail(visit, shape.description))


def records(visit: Visit) -> Response:
    """The records, which the browser requests repeatedly: status 204 if there are no new ones."""
    shape = visit.console.table(visit.path["table"])
    context = _tail(visit, shape.description)
    tail = context["tail"]
    if tail is not None and visit.parameters.get("seen") == str(tail.seen):
        return Response(status_code=204)
    return visit.page("records.html", shape=shape, **context)


def _tail(visit: Visit, description: Any) -> dict[str, Any]:
    arn, start = description.get("LatestStreamArn"), visit.parameters.get("from", "")
    enabled = description.get("StreamSpecification", {}).get("StreamEnabled", False)
    tail = None
    if arn and enabled:
        tail = visit.console.stream_tails.of(arn, STARTS.get(start, "LATEST"))
    return {"tail": tail, "start": start, "paused": bool(visit.parameters.get("paused"))}


PATH = "/table/{table}/stream"
PAGE = Page("Stream", PATH, (Route(PATH, show), Route(PATH + "/records", records)))
