"""The tables of the database, and the details of one."""

from typing import Any

from botocore.exceptions import ClientError
from starlette.responses import Response

from hashrange.tools.console.shapes import TableShape
from hashrange.tools.console.values import dumps
from hashrange.tools.console.visits import Page, Route, Visit

TABLES_MAX = 50
"""The number of tables on a page. Each table takes two requests."""

UNTOLD = ("AccessDeniedException", "UnknownOperationException")
UNKNOWN = "unknown"


def show(visit: Visit) -> Response:
    after = visit.parameters.get("after")
    asked: dict[str, Any] = {"ExclusiveStartTableName": after} if after else {}
    answer = visit.console.call("list_tables", Limit=TABLES_MAX, **asked)
    described = visit.console.each(lambda name: _described(visit, name), answer["TableNames"])
    tables = [each for each in described if each]
    return visit.page("tables.html", tables=tables, next=answer.get("LastEvaluatedTableName"))


def _described(visit: Visit, name: str) -> tuple[TableShape, str] | None:
    """The table and its TTL attribute. None if it has been deleted since it was listed."""
    try:
        return visit.console.table(name), _ttl(visit, name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return None
        raise


def _ttl(visit: Visit, name: str) -> str:
    """The attribute of time to live, with the status unless it is ENABLED."""
    answer = _if_told(visit, "describe_time_to_live", TableName=name)
    if answer is None:
        return UNKNOWN
    ttl = answer["TimeToLiveDescription"]
    status = ttl["TimeToLiveStatus"]
    if status == "DISABLED":
        return ""
    attribute: str = ttl["AttributeName"]
    return attribute if status == "ENABLED" else f"{attribute} ({status.lower()})"


def _if_told(visit: Visit, method: str, **request: Any) -> dict[str, Any] | None:
    """The answer to a request; None if the service lacks the operation, or the user may not call
    it."""
    try:
        return visit.console.call(method, **request)
    except ClientError as error:
        if error.response["Error"]["Code"] in UNTOLD:
            return None
        raise


def details(visit: Visit) -> Response:
    shape = visit.console.table(visit.path["table"])
    arn = shape.description["TableArn"]
    tagged = _if_told(visit, "list_tags_of_resource", ResourceArn=arn) or {}
    return visit.page(
        "details.html",
        shape=shape,
        ttl=_ttl(visit, shape.name),
        tags=tagged.get("Tags", []),
        described=_json(shape.description),
    )


def _json(description: Any) -> str:
    return dumps({name: _text(value) for name, value in description.items()}, indent=2)


def _text(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _text(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_text(each) for each in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


PAGE = Page("Tables", "/", (Route("/", show),))
DETAILS = Page("Details", "/table/{table}/details", (Route("/table/{table}/details", details),))
