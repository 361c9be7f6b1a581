"""Creating a table, and deleting one."""

from typing import Any

from botocore.exceptions import ClientError, ParamValidationError
from starlette.responses import Response

from hashrange.tools.console.visits import (
    Mistake,
    Page,
    Route,
    Visit,
    table_path,
    writes,
)

KEY_TYPES = {"S": "String", "N": "Number", "B": "Binary"}
KINDS = {"global": "global", "local": "local"}
PROJECTIONS = {"ALL": "all attributes", "KEYS_ONLY": "keys only"}
STREAMS = {
    "": "no stream",
    "NEW_AND_OLD_IMAGES": "new and old images",
    "NEW_IMAGE": "new image",
    "OLD_IMAGE": "old image",
    "KEYS_ONLY": "keys only",
}
INDEX_FIELDS = ("iname", "ikind", "ihash", "ihashtype", "irange", "irangetype", "iproject")
EMPTY_ROW = ("", "global", "", "S", "", "S", "ALL")

Type = tuple[str, str]
"""(name of an attribute, type of its values)"""


def new(visit: Visit) -> Response:
    """Show the form for a new table."""
    return _form(visit, [EMPTY_ROW], None)


def index(visit: Visit) -> Response:
    """The fields for one more index, as a row of the form for a new table."""
    return visit.page(
        "index_row.html", row=EMPTY_ROW, types=KEY_TYPES, projections=PROJECTIONS, kinds=KINDS
    )


def _form(visit: Visit, rows: list[tuple[str, ...]], mistake: str | None) -> Response:
    return visit.page(
        "new_table.html",
        400 if mistake else 200,
        rows=rows,
        types=KEY_TYPES,
        projections=PROJECTIONS,
        kinds=KINDS,
        streams=STREAMS,
        mistake=mistake,
    )


def create(visit: Visit) -> Response:
    """Create the table, and show its items."""
    rows = list(zip(*(visit.parameters.getlist(name) for name in INDEX_FIELDS), strict=False))
    try:
        request = _request(visit, rows)
        visit.console.call("create_table", **request)
    except Mistake as mistake:
        return _form(visit, rows, str(mistake))
    except ParamValidationError as error:
        return _form(visit, rows, " ".join(str(error).splitlines()[1:]))
    except ClientError as error:
        return _form(visit, rows, error.response["Error"].get("Message", str(error)))
    return visit.go(table_path(request["TableName"]))


def _request(visit: Visit, rows: list[tuple[str, ...]]) -> dict[str, Any]:
    """The parameters of CreateTable that the form describes. `rows` has the fields of each
    index."""
    form = visit.parameters

    def text(name: str) -> str:
        return form.get(name, "").strip()

    if not text("table"):
        raise Mistake("The table needs a name")
    keys = _Keys()
    partition, sort = ((text(name), form.get(f"{name}type", "S")) for name in ("hash", "range"))
    request: dict[str, Any] = {
        "TableName": text("table"),
        "KeySchema": keys.schema("The table", partition, sort),
        "BillingMode": "PAY_PER_REQUEST",
    }
    for name, kind, pk, pktype, sk, sktype, projection in rows:
        if not name.strip():
            continue
        local = kind == "local"
        if local and not sk.strip():
            raise Mistake(f"The local index {name} needs a sort key")
        hash = partition if local else (pk.strip(), pktype)
        index = {
            "IndexName": name.strip(),
            "KeySchema": keys.schema(f"The index {name}", hash, (sk.strip(), sktype)),
            "Projection": {"ProjectionType": projection},
        }
        member = "LocalSecondaryIndexes" if local else "GlobalSecondaryIndexes"
        request.setdefault(member, []).append(index)
    request["AttributeDefinitions"] = keys.definitions()
    if form.get("stream"):
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": form["stream"]}
    return request


class _Keys:
    """Collects the attributes of all keys. Raises `Mistake` if an attribute would have two
    types."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}

    def schema(self, of: str, hash: Type, range: Type) -> list[dict[str, str]]:
        if not hash[0]:
            raise Mistake(f"{of} needs a partition key")
        elements = []
        for (name, kind), role in ((hash, "HASH"), (range, "RANGE")):
            if not name:
                continue
            if self._types.setdefault(name, kind) != kind:
                raise Mistake(f"{name}: cannot have two types, {self._types[name]} and {kind}")
            elements.append({"AttributeName": name, "KeyType": role})
        return elements

    def definitions(self) -> list[dict[str, str]]:
        return [
            {"AttributeName": name, "AttributeType": kind} for name, kind in self._types.items()
        ]


def delete(visit: Visit) -> Response:
    """Ask whether to delete the table."""
    return _ask(visit, None)


def _ask(visit: Visit, mistake: str | None) -> Response:
    shape = visit.console.table(visit.path["table"])
    status = 400 if mistake else 200
    return visit.page("delete_table.html", status, shape=shape, mistake=mistake)


def delete_it(visit: Visit) -> Response:
    """Delete the table, after the user has typed its name."""
    name = visit.path["table"]
    if visit.parameters.get("name", "").strip() != name:
        return _ask(visit, f"Type {name} to delete the table.")
    try:
        visit.console.call("delete_table", TableName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            raise
        return _ask(visit, error.response["Error"].get("Message", str(error)))
    return visit.go("/", deleted=name)


NEW = "/new-table"
DELETE = "/table/{table}/delete"
PAGE = Page("", NEW, (Route(NEW, new), Route(NEW + "/index", index), writes(NEW, create)))
DELETION = Page("", DELETE, (Route(DELETE, delete), writes(DELETE, delete_it)))
